/**
 * Counts the memory of long answers, beside that of request bodies: what upstreams send, and what was stored. An answer that finds no
 * memory waits for some, and its upstream with it, and is refused where none comes.
 *
 * What callers send has bounds of its own. An answer has been paid for when it comes, so it goes by the memory that there is alone.
 * One of at most 64 KiB is not counted: small calls are served whatever others need.
 */
import type { AnswerRoom } from "../../call/call.ts";
import { answerWithoutRoom, cancelled } from "../../call/refusals.ts";
import type { MemoryRoom } from "../../runtime/memory/memory-room.ts";

/** The longest body or answer that is small. In bytes. */
export const maxSmall = 65_536;
/** How long an answer waits for memory in all where the memory does not say, in milliseconds. */
const defaultWaitMs = 30_000;
/** How long it is between two looks for memory where nothing is given back, in milliseconds: others than calls may have had it. */
const lookMs = 250;

export interface HeldAnswersOptions {
  /** The memory of the process; unset where nothing is known of it. */
  readonly memory?: MemoryRoom | undefined;
  /** Returns the bytes of request bodies. */
  readonly bodyBytes: () => number;
}

interface Waiting {
  /** The bytes that it waits for, and those that it has already. */
  readonly bytes: number;
  readonly held: number;
  /** By `performance.now()`. */
  readonly until: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** HeldAnswers sums the bytes of the answers that are held. */
export class HeldAnswers {
  readonly #options: HeldAnswersOptions;
  readonly #waiting = new Set<Waiting>();
  #looks: NodeJS.Timeout | undefined;
  bytes = 0;

  constructor(options: HeldAnswersOptions) {
    this.#options = options;
  }

  /** The moment until which an answer waits that begins to, by `performance.now()`. */
  latest(): number {
    return performance.now() + (this.#options.memory?.waitMs ?? defaultWaitMs);
  }

  /** Counts bytes, and reports whether there was memory for them. */
  take(bytes: number): boolean {
    const { memory, bodyBytes } = this.#options;
    if (memory?.hasRoom(this.bytes + bodyBytes(), bytes) === false) return false;
    this.bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.bytes -= bytes;
    this.look();
  }

  /** Looks for memory for those that wait: some may have been given back. */
  look(): void {
    if (this.#waiting.size === 0) return;
    let least = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const { bytes } = waiting;
      if (bytes >= least) continue;
      if (this.take(bytes)) this.#end(waiting, waiting.resolve);
      else least = bytes;
    }
  }

  /**
   * Waits for bytes beside those that an answer has already. Resolves when they are counted. Rejects with a Refusal where there is no
   * memory for them in time, or they are left.
   */
  wait(bytes: number, held: number, until: number): { readonly taken: Promise<void>; readonly leave: () => void } {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { bytes, held, until, resolve, reject };
    this.#waiting.add(waiting);
    this.#looks ??= setInterval(() => this.#lookAgain(), lookMs);
    return { taken: promise, leave: () => this.#end(waiting, () => reject(cancelled())) };
  }

  #lookAgain(): void {
    this.look();
    const now = performance.now();
    for (const waiting of this.#waiting) if (waiting.until <= now) this.#refuse(waiting);
    this.#refuseStuck();
  }

  /** Refuses the last of those that wait for each other: where all that is held is held by several of them, none would ever go on. */
  #refuseStuck(): void {
    const holding = [...this.#waiting].filter(({ held }) => held > 0);
    const held = holding.reduce((sum, one) => sum + one.held, 0);
    const last = holding.at(-1);
    if (last && holding.length > 1 && held === this.bytes) this.#refuse(last);
  }

  #refuse(waiting: Waiting): void {
    this.#end(waiting, () => waiting.reject(answerWithoutRoom()));
  }

  #end(waiting: Waiting, settle: () => void): void {
    if (!this.#waiting.delete(waiting)) return;
    if (this.#waiting.size === 0) {
      clearInterval(this.#looks);
      this.#looks = undefined;
    }
    settle();
  }
}

/** HeldAnswer is the memory of one answer. */
export class HeldAnswer implements AnswerRoom {
  readonly #answers: HeldAnswers;
  #bytes = 0;
  #isReleased = false;
  /** Until when the answer waits, once it had to. */
  #until: number | undefined;
  #leave: (() => void) | undefined;

  constructor(answers: HeldAnswers) {
    this.#answers = answers;
  }

  tryHold(bytes: number): boolean {
    const counted = bytes <= maxSmall || this.#isReleased ? 0 : bytes;
    const more = counted - this.#bytes;
    if (more === 0) return true;
    if (more < 0) this.#answers.give(-more);
    else if (!this.#answers.take(more)) return false;
    this.#bytes = counted;
    return true;
  }

  hold(bytes: number): Promise<void> | undefined {
    return this.tryHold(bytes) ? undefined : this.#wait(bytes);
  }

  async #wait(bytes: number): Promise<void> {
    this.#until ??= this.#answers.latest();
    const more = bytes - this.#bytes;
    const { taken, leave } = this.#answers.wait(more, this.#bytes, this.#until);
    this.#leave = leave;
    await taken;
    this.#leave = undefined;
    if (this.#isReleased) this.#answers.give(more);
    else this.#bytes += more;
  }

  release(): void {
    this.#isReleased = true;
    this.#leave?.();
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (bytes > 0) this.#answers.give(bytes);
  }
}
