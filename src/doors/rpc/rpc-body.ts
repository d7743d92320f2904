/**
 * Prepares the body of an RPC for connect-node: counts its bytes, decompresses it, and reads long messages itself.
 *
 * Connect compresses the whole body of a unary call. All other bodies are messages in envelopes, each with a flag for
 * compression. A body that is too large or has no room fails with the ConnectError for its caller.
 */
import { compressedFlag } from "@connectrpc/connect/protocol";
import { asRefusal, Refusal, requestTooLarge } from "../../call/refusals.ts";
import { runInSlices, runNow } from "../../runtime/cooperative.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { WireFault } from "../../wire/fault.ts";
import { longJson } from "../../wire/json.ts";
import { join } from "../../wire/long/join.ts";
import type { Wire } from "../../wire/wire.ts";
import type { BodyShare } from "../body/body-budget.ts";
import { doneSince, type Inflate } from "../body/inflate.ts";
import { asConnectError, checkNumbers, longRequest, type RpcCall } from "./rpc-call.ts";

/** The codings of messages: those that connect-node announces. */
const messageCodings: ReadonlySet<string> = new Set(["gzip", "br"]);

/** Packing is how the messages of a body are encoded. */
export interface Packing {
  /** The coding of compressed messages; undefined where they are not compressed, or by an unknown coding. */
  readonly coding: string | undefined;
  readonly isEnveloped: boolean;
  readonly isBinary: boolean;
}

/**
 * takePacking returns how a body is encoded, and removes a known coding from its headers, because the body will be decompressed. An unknown
 * one stays, for connect-node to refuse.
 */
export function takePacking(headers: Headers): Packing {
  const type = headers.get("content-type") ?? "";
  const isGrpc = /^application\/grpc/i.test(type);
  const isEnveloped = isGrpc || /^application\/connect\+/i.test(type);
  const isBinary = !/[/+]json\b/i.test(type);
  const name = isGrpc ? "grpc-encoding" : isEnveloped ? "connect-content-encoding" : "content-encoding";
  const coding = headers.get(name);
  // The prepared body may have another length.
  headers.delete("content-length");
  if (coding === null || !messageCodings.has(coding)) return { coding: undefined, isEnveloped, isBinary };
  headers.delete(name);
  return { coding, isEnveloped, isBinary };
}

export interface BodyReading {
  readonly inflate: Inflate;
  readonly maxBytes: number;
  readonly call: RpcCall;
  /** Returns the share that counts the bytes. It exists when the body is read. */
  readonly shareOf: () => BodyShare;
  /** Called with the refusal of a body. */
  readonly onRefused: (refusal: Refusal) => void;
  /** Called with a long request that has been read. connect-node reads an empty message in its place. */
  readonly onRead: (request: Wire) => void;
}

/** rpcBody yields the bytes for connect-node. Throws a ConnectError. */
export async function* rpcBody(
  body: AsyncIterable<Uint8Array>,
  packing: Packing,
  reading: BodyReading,
): AsyncGenerator<Uint8Array> {
  try {
    yield* prepared(counted(body, reading), packing, reading);
  } catch (error) {
    const refusal = error instanceof WireFault ? asRefusal(error) : error;
    if (!(refusal instanceof Refusal)) throw error;
    reading.onRefused(refusal);
    throw asConnectError(refusal, reading.call);
  }
}

/** An envelope begins with a byte of flags and the length of its message, in four bytes. */
export const prefixBytes = 5;

async function* counted(body: AsyncIterable<Uint8Array>, { maxBytes, shareOf }: BodyReading) {
  let total = 0;
  for await (const bytes of body) {
    total += bytes.length;
    if (total > maxBytes + prefixBytes) throw requestTooLarge(maxBytes);
    shareOf().add(bytes.length);
    yield bytes;
  }
}

/** Decompresses the messages, and reads the long ones. */
async function* prepared(
  body: AsyncIterable<Uint8Array>,
  { coding, isEnveloped, isBinary }: Packing,
  reading: BodyReading,
): AsyncGenerator<Uint8Array> {
  const bytes = await joined(await Array.fromAsync(body));
  const read = reader(isBinary, reading);
  const inflated = inflater(coding, read, reading);
  if (!isEnveloped) {
    if (inflated) return yield* inflated(bytes, () => []);
    return yield await read(bytes);
  }
  for (let at = 0; at < bytes.length; ) {
    const start = at + prefixBytes;
    const end = start + (bytes.length < start ? 0 : bytes.readUInt32BE(at + 1));
    const flags = bytes[at] as number;
    const isCompressed = (flags & compressedFlag) !== 0;
    // connect-node refuses half a message.
    const isWhole = end <= bytes.length;
    if (isCompressed && isWhole && inflated) {
      yield* inflated(bytes.subarray(start, end), (length) => [prefixOf(flags & ~compressedFlag, length)]);
    } else if (isWhole && (end - start >= longJson || !(isBinary || isCompressed))) {
      const message = await read(bytes.subarray(start, end));
      yield prefixOf(flags, message.length);
      yield message;
    } else yield bytes.subarray(at, end);
    at = end;
  }
}

/** Read returns the bytes that connect-node is to read. */
type Read = (message: Buffer) => MaybePromise<Buffer>;

/** reader reads long messages, and leaves an empty message in their place. Of short ones in JSON it checks the numbers. */
function reader(isBinary: boolean, { call, shareOf, onRead }: BodyReading): Read {
  const empty = Buffer.from(isBinary ? "" : "{}");
  return (message) => {
    if (message.length < longJson) {
      if (!isBinary) checkNumbers(call.method, message);
      return message;
    }
    return runInSlices(longRequest(call.method, message, isBinary, shareOf())).then((request) => {
      onRead(request);
      return empty;
    });
  };
}

/** inflater returns what decompresses the messages of a body. `before` makes the prefix of a message, by its length. */
function inflater(coding: string | undefined, read: Read, reading: BodyReading) {
  const { inflate, maxBytes, shareOf, call } = reading;
  let room = maxBytes;
  if (coding === undefined) return undefined;
  return async function* (packed: Uint8Array, before: (length: number) => Uint8Array[]) {
    const share = shareOf();
    const inflated = await inflate(packed, { coding, maxBytes: room, share, signal: call.signal });
    const message = await joined(inflated.pieces);
    room -= message.length;
    share.remove(packed.length);
    let readAt = performance.now();
    try {
      const plain = await read(message);
      readAt = performance.now();
      yield* before(plain.length);
      yield plain;
    } finally {
      doneSince(inflated, readAt);
    }
  };
}

function joined(pieces: readonly Uint8Array[]): MaybePromise<Buffer> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return length < longJson ? runNow(join(pieces)) : runInSlices(join(pieces));
}

function prefixOf(flags: number, length: number): Buffer {
  const prefix = Buffer.alloc(prefixBytes);
  prefix[0] = flags;
  prefix.writeUInt32BE(length, 1);
  return prefix;
}
