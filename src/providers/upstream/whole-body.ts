/** Reads the whole body of an upstream's reply, or of an error if it is not too long. */
import { upstreamFailed } from "../../call/refusals.ts";
import { Deferred } from "../../runtime/maybe-promise.ts";
import type { Reader, UpstreamReply } from "./reply.ts";

/** Reads a whole body. Rejects with a Refusal if it is larger than `maxBytes`. */
export function readWhole(reply: UpstreamReply, maxBytes: number): Deferred<Buffer> {
  const whole = new Deferred<Buffer>();
  reply.read(new WholeBody(whole, maxBytes));
  return whole;
}

const maxErrorBytes = 64 * 1024;

/** Reads the body of an error. Resolves to an empty body if it is too large: some repeat the whole request; the status still counts. */
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

  /** `mayBeMore`: a body that is too large counts as empty, and does not fail. */
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

  /** Concatenates the body. Allocating it may fail, which is passed on as a failure. */
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
