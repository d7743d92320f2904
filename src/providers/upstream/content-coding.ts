/**
 * Reads an answer that its upstream has compressed: gzip, deflate, br, zstd, one upon another where it says so.
 *
 * It is decompressed as it comes, outside the event loop, and each piece is handed on as soon as it is there, so that the events of a
 * stream are not held back. The source waits until what came has been taken. A coding that is broken, that nobody asked for, or that
 * grows beyond measure is the upstream's failure; what came before it is handed on. An answer that is not compressed passes as it is.
 */
import type { Transform } from "node:stream";
import { upstreamFailed } from "../../call/refusals.ts";
import { codingsIn, createDecompressor, knownCodings, mostGrowth } from "../../runtime/content-codings.ts";
import { type Body, type Reader, UpstreamReply } from "./reply.ts";

/** What `accept-encoding` tells upstreams. */
export const readableCodings = knownCodings.join(", ");

/** The most that a piece has, in bytes. */
const chunkSize = 16_384;
/** So many bytes may come of however few. */
const freeBytes = 4 * 1024 * 1024;

/** Returns the answer as it was before its upstream compressed it. Throws a Refusal for codings that are not known. */
export function decoded(reply: UpstreamReply): UpstreamReply {
  const told = reply.headers["content-encoding"];
  if (told === undefined) return reply;
  const codings = codingsIn([told].flat().join());
  if (!codings) {
    reply.leave();
    throw upstreamFailed("its answer has a coding that nobody asked for");
  }
  // What was done last is undone first.
  return codings.reduceRight<UpstreamReply>(
    (coded, coding) => new UpstreamReply(coded.status, coded.headers, new DecodedBody(coded.source, coding)),
    reply,
  );
}

/** Between a compressed body and its reader, who is told as of a plain one. */
class DecodedBody implements Body, Reader {
  readonly #source: Body;
  readonly #coding: string;
  #reader: Reader | undefined;
  #decoder: Transform | undefined;
  #bytesIn = 0;
  #bytesOut = 0;
  /** What the reader has not yet taken. */
  #taking: Promise<void> | undefined;
  /** What it failed by: the coding, or the reader, who takes no more. */
  #failure: { readonly error: unknown } | undefined;
  /** Whether the coding has come to its end, or to nothing more. */
  #isOver = false;
  /** Goes on when the decoder has ended or failed. */
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

  /** Resolves when all that this piece becomes has come out, taken or not, or nothing more will. */
  #write(piece: Buffer): Promise<void> {
    this.#decoder ??= this.#begin(piece);
    const decoder = this.#decoder;
    return new Promise((resolve) => {
      this.#onOver = resolve;
      decoder.write(piece, () => resolve());
    });
  }

  #begin(first: Buffer): Transform {
    const decoder = createDecompressor(this.#coding, first, chunkSize) as Transform;
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

  /** Waits until the reader has taken what came out. Throws what it failed by. */
  async #taken(): Promise<void> {
    while (!this.#failure && (this.#taking || (this.#decoder?.readableLength ?? 0) > 0))
      await (this.#taking ?? new Promise((resolve) => setImmediate(resolve)));
    if (this.#failure) throw this.#failure.error;
  }
}
