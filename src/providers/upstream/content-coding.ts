/**
 * Decompresses an answer: gzip, deflate, br, zstd, nested where the header says so.
 *
 * Decompression runs outside the event loop, and each chunk is handed on as soon as it is there, so the events of a
 * stream are not delayed. The source waits until the reader has taken what came. A broken or unrequested coding, and
 * one that grows beyond measure, is the upstream's failure; what came before is handed on. An answer without a coding
 * passes unchanged.
 *
 * Proxies decompress answers and leave the header as it was, and label one coding as another: the first bytes decide. Names that
 * are no codings (`utf-8`, `none`) say nothing.
 */
import { PassThrough, type Transform } from "node:stream";
import { upstreamFailed } from "../../call/refusals.ts";
import { codingsIn, createDecompressor, knownCodings, mostGrowth } from "../../runtime/content-codings.ts";
import { sniffForm } from "../frames/answer-form.ts";
import { type Body, type Reader, UpstreamReply } from "./reply.ts";

/** The value of `accept-encoding`. */
export const readableCodings = knownCodings.join(", ");

/** registered are the codings that may be meant, also those that nobody asked for. */
const registered: ReadonlySet<string> = new Set([
  ...[...knownCodings, "x-gzip", "compress", "x-compress", "exi", "pack200-gzip", "aes128gcm", "dcb", "dcz"],
]);

/** The largest chunk of output, in bytes. */
const chunkSize = 16_384;
/** Output up to this many bytes is accepted of any input. */
const freeBytes = 4 * 1024 * 1024;

/** decoded returns the decompressed reply. Throws a Refusal for unknown codings. */
export function decoded(reply: UpstreamReply): UpstreamReply {
  const header = reply.headers["content-encoding"];
  if (header === undefined) return reply;
  const named = [header].flat().join().split(",");
  const codings = codingsIn(named.filter((name) => registered.has(name.trim().toLowerCase())).join());
  if (!codings) {
    reply.leave();
    throw upstreamFailed("its answer has a coding that nobody asked for");
  }
  // The last coding is undone first.
  return codings.reduceRight<UpstreamReply>(
    (coded, coding) => new UpstreamReply(coded.status, coded.headers, new DecodedBody(coded.source, coding)),
    reply,
  );
}

const gzipMagic = Buffer.from([0x1f, 0x8b, 0x08]);
const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** textBytes is how many bytes are looked at to tell a coding without a mark of its own from text. */
const textBytes = 16;

/** decoderOf returns the decoder of an answer that begins like this. */
function decoderOf(coding: string, first: Buffer): Transform {
  if (isPlain(coding, first)) return new PassThrough({ readableHighWaterMark: chunkSize });
  const meant = begins(first, gzipMagic) ? "gzip" : begins(first, zstdMagic) ? "zstd" : coding;
  return createDecompressor(meant, first, chunkSize) as Transform;
}

function begins(bytes: Buffer, mark: Buffer): boolean {
  return bytes.subarray(0, mark.length).equals(mark);
}

/** isPlain reports whether an answer is JSON or events in spite of its header. `gzip` and `zstd` never begin like these. */
function isPlain(coding: string, first: Buffer): boolean {
  const form = sniffForm(first);
  if (form !== "json" && form !== "events") return false;
  if (coding === "gzip" || coding === "zstd") return true;
  return first.length >= textBytes && first.subarray(0, textBytes).every((byte) => byte >= 0x20 || isSpace(byte));
}

function isSpace(byte: number): boolean {
  return byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** DecodedBody sits between a compressed body and its reader. */
class DecodedBody implements Body, Reader {
  readonly #source: Body;
  readonly #coding: string;
  #reader: Reader | undefined;
  #decoder: Transform | undefined;
  #bytesIn = 0;
  #bytesOut = 0;
  /** Pending while the reader has not taken what it was given. */
  #taking: Promise<void> | undefined;
  /** The failure of the coding, or of the reader, which takes no more. */
  #failure: { readonly error: unknown } | undefined;
  /** isOver is whether the decoder has ended, or has nothing more to give. */
  #isOver = false;
  /** Called when the decoder has ended or failed. */
  #onOver = () => {};

  constructor(source: Body, coding: string) {
    this.#source = source;
    this.#coding = coding;
  }

  read(reader: Reader): void {
    this.#reader = reader;
    this.#source.read(this);
  }

  leave(): void {
    this.#source.leave();
  }

  lifeless(since: number): void {
    this.#source.lifeless(since);
  }

  async take(batch: readonly Buffer[]): Promise<void> {
    for (const piece of batch) {
      this.#bytesIn += piece.length;
      if (piece.length > 0 && !this.#isOver) await this.#write(piece);
      await this.#taken();
    }
  }

  resolve(): void {
    if (!this.#isOver) this.#decoder?.end();
    void this.#untilOver()
      .then(() => this.#taken())
      .then(
        () => this.#end(),
        (error: unknown) => this.reject(error),
      );
  }

  reject(failure: unknown): void {
    const reader = this.#reader;
    this.#reader = undefined;
    this.#decoder?.destroy();
    reader?.reject(failure);
  }

  #end(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.resolve();
  }

  /** Resolves when all output of this chunk is there, taken or not, or no more will come. */
  #write(piece: Buffer): Promise<void> {
    this.#decoder ??= this.#begin(piece);
    const decoder = this.#decoder;
    return new Promise((resolve) => {
      this.#onOver = resolve;
      decoder.write(piece, () => resolve());
    });
  }

  #begin(first: Buffer): Transform {
    const decoder = decoderOf(this.#coding, first);
    const over = () => {
      this.#isOver = true;
      this.#onOver();
    };
    decoder.on("data", this.#onData);
    decoder.once("end", over);
    decoder.on("error", (error) => {
      this.#failure ??= { error: upstreamFailed("its answer cannot be decompressed", error) };
      over();
    });
    decoder.once("close", over);
    return decoder;
  }

  readonly #onData = (piece: Buffer): void => {
    if (this.#failure) return;
    try {
      this.#bytesOut += piece.length;
      if (this.#bytesOut > Math.max(freeBytes, mostGrowth * this.#bytesIn))
        throw upstreamFailed("its answer is far larger than what was sent of it");
      const taking = this.#reader?.take([piece]);
      if (taking) this.#waitFor(taking);
    } catch (error) {
      this.#fail(error);
    }
  };

  #waitFor(taking: Promise<void>): void {
    const decoder = this.#decoder as Transform;
    decoder.pause();
    this.#taking = taking.then(
      () => {
        this.#taking = undefined;
        decoder.resume();
      },
      (error: unknown) => {
        this.#taking = undefined;
        this.#fail(error);
      },
    );
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#decoder?.destroy();
  }

  #untilOver(): Promise<void> {
    if (this.#isOver || !this.#decoder) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onOver = resolve;
    });
  }

  /** Waits until the reader has taken the output. Throws the failure. */
  async #taken(): Promise<void> {
    while (!this.#failure && (this.#taking || (this.#decoder?.readableLength ?? 0) > 0))
      await (this.#taking ?? new Promise((resolve) => setImmediate(resolve)));
    if (this.#failure) throw this.#failure.error;
  }
}
