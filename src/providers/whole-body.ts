/** Reads the body of an upstream's answer whole. */
import { upstreamFailed } from "../errors.ts";
import { Later } from "../soon.ts";
import type { Reader, UpstreamReply } from "./upstream-reply.ts";

/** Fails by a Refusal where it is larger than `maxBytes`. */
export function readWhole(reply: UpstreamReply, maxBytes: number): Later<Buffer> {
  const whole = new Later<Buffer>();
  reply.read(new WholeBody(whole, maxBytes));
  return whole;
}

class WholeBody implements Reader {
  readonly #whole: Later<Buffer>;
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(whole: Later<Buffer>, maxBytes: number) {
    this.#whole = whole;
    this.#maxBytes = maxBytes;
  }

  take(batch: readonly Buffer[]): undefined {
    for (const chunk of batch) {
      this.#bytes += chunk.length;
      this.#chunks.push(chunk);
    }
    if (this.#bytes > this.#maxBytes) throw upstreamFailed("its answer is too large");
  }

  /** There may be no memory for all of it in one piece, which nobody else would tell. */
  resolve(): void {
    const chunks = this.#chunks;
    let bytes: Buffer;
    try {
      bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, this.#bytes);
    } catch (error) {
      this.#whole.fail(error);
      return;
    }
    this.#whole.come(bytes);
  }

  reject(failure: unknown): void {
    this.#whole.fail(failure);
  }
}
