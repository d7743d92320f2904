/**
 * The body of an RPC as connect-node reads it: counted as it comes, and plain. What is compressed becomes what it was before, and
 * the headers say so.
 *
 * Connect compresses the body of a unary call. All else has messages in envelopes, of which each says whether it is compressed.
 * A body that is too large, or finds no room, ends in the error that its caller is told.
 */
import { compressedFlag } from "@connectrpc/connect/protocol";
import { internal, Refusal, requestTooLarge } from "../errors.ts";
import type { BodyShare } from "./body-budget.ts";
import { type Inflate, isKnownCoding } from "./inflate.ts";
import { asConnectError, type RpcCall } from "./rpc-call.ts";

/** How the messages of a body are compressed. */
export interface Packing {
  readonly coding: string;
  readonly isEnveloped: boolean;
}

/**
 * Returns how a body is compressed, and takes that out of its headers. Undefined where it is not, or in a way that is not known,
 * which is for whoever reads the headers to refuse.
 */
export function takePacking(headers: Headers): Packing | undefined {
  const type = headers.get("content-type") ?? "";
  const isGrpc = /^application\/grpc/i.test(type);
  const isEnveloped = isGrpc || /^application\/connect\+/i.test(type);
  const name = isGrpc ? "grpc-encoding" : isEnveloped ? "connect-content-encoding" : "content-encoding";
  const coding = headers.get(name);
  if (coding === null || !isKnownCoding(coding)) return undefined;
  headers.delete(name);
  // It is the length of what was compressed.
  headers.delete("content-length");
  return { coding, isEnveloped };
}

export interface BodyReading {
  readonly inflate: Inflate;
  readonly maxBytes: number;
  readonly call: RpcCall;
  /** Returns where the bytes are counted: it is there once the body is read. */
  readonly shareOf: () => BodyShare | undefined;
  readonly onRefused: (refusal: Refusal) => void;
}

/** Yields the bytes to be read. Throws a ConnectError. */
export async function* rpcBody(
  body: AsyncIterable<Uint8Array>,
  packing: Packing | undefined,
  reading: BodyReading,
): AsyncGenerator<Uint8Array> {
  try {
    const came = counted(body, reading);
    yield* packing ? plain(came, packing, reading) : came;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    reading.onRefused(error);
    throw asConnectError(error, reading.call);
  }
}

/** Before each message in an envelope stand a byte of flags and its length in four. */
const prefixBytes = 5;

/** The open services have no share: their messages are short. */
async function* counted(body: AsyncIterable<Uint8Array>, { maxBytes, shareOf }: BodyReading) {
  let total = 0;
  for await (const bytes of body) {
    total += bytes.length;
    if (total > maxBytes + prefixBytes) throw requestTooLarge(maxBytes);
    shareOf()?.add(bytes.length);
    yield bytes;
  }
}

async function* plain(
  body: AsyncIterable<Uint8Array>,
  { coding, isEnveloped }: Packing,
  { inflate, maxBytes, shareOf, call: { signal } }: BodyReading,
): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.concat(await Array.fromAsync(body));
  const share = shareOf();
  if (!share) throw internal(new Error("a body is read before its caller was admitted"));
  let room = maxBytes;
  const inflated = async function* (packed: Uint8Array, flags?: number) {
    const { pieces, done } = await inflate(packed, { coding, maxBytes: room, share, signal });
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    room -= length;
    share.remove(packed.length);
    if (flags !== undefined) yield prefixOf(flags, length);
    yield* pieces;
    // What is read is worked on before anybody else has a turn.
    setImmediate(() => setImmediate(done));
  };
  if (!isEnveloped) return yield* inflated(bytes);
  for (let at = 0; at < bytes.length; ) {
    const start = at + prefixBytes;
    const end = start + (bytes.length < start ? 0 : bytes.readUInt32BE(at + 1));
    const flags = bytes[at] as number;
    const isCompressed = (flags & compressedFlag) !== 0;
    // Half a message is for the reader to refuse.
    if (isCompressed && end <= bytes.length) {
      yield* inflated(bytes.subarray(start, end), flags & ~compressedFlag);
    } else yield bytes.subarray(at, end);
    at = end;
  }
}

function prefixOf(flags: number, length: number): Buffer {
  const prefix = Buffer.alloc(prefixBytes);
  prefix[0] = flags;
  prefix.writeUInt32BE(length, 1);
  return prefix;
}
