/** Reads the body of an upstream's answer whole, or as much of an error as is worth reading. */
import { upstreamFailed } from "../../call/refusals.ts";
import { Deferred } from "../../runtime/maybe-promise.ts";
import type { Reader, UpstreamReply } from "./reply.ts";

/** Fails by a Refusal where it is larger than `maxBytes`. */
export function readWhole(reply: UpstreamReply, maxBytes: number): Deferred<Buffer> {
  const whole = new Deferred<Buffer>();
  reply.read(new WholeBody(whole, maxBytes));
  return whole;
}

const maxErrorBytes = 64 * 1024;

/** Reads the body of an error. One that is larger says nothing: some repeat the whole request, and the status still stands. */
export function readError(reply: UpstreamReply): Deferred<Buffer> {
  const whole = new Deferred<Buffer>();
  reply.read(new WholeBody(whole, maxErrorBytes, true));
  return whole;
}

class WholeBody implements Reader {
  readonly #whole: Deferred<Buffer>;
  readonly #maxBytes: number;
  readonly #mayBeMore: boolean;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  /** `mayBeMore`: a larger body is none, instead of a failure. */
  constructor(whole: Deferred<Buffer>, maxBytes: number, mayBeMore = false) {
    this.#whole = whole;
    this.#maxBytes = maxBytes;
    this.#mayBeMore = mayBeMore;
  }

  take(batch: readonly Buffer[]): undefined {
    for (const chunk of batch) {
      this.#bytes += chunk.length;
      this.#chunks.push(chunk);
    }
    if (this.#isTooLarge()) throw upstreamFailed("its answer is too large");
  }

  /** There may be no memory for all of it in one piece, which nobody else would tell. */
  resolve(): void {
    const chunks = this.#chunks;
    let bytes: Buffer;
    try {
      bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, this.#bytes);
    } catch (error) {
      this.#whole.reject(error);
      return;
    }
    this.#whole.resolve(bytes);
  }

  reject(failure: unknown): void {
    if (this.#mayBeMore && this.#isTooLarge()) this.#whole.resolve(Buffer.alloc(0));
    else this.#whole.reject(failure);
  }

  #isTooLarge(): boolean {
    return this.#bytes > this.#maxBytes;
  }
}
