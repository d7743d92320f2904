/**
 * Counts the memory of long answers, beside that of request bodies: what upstreams send, and what was stored. An answer that finds no
 * memory waits for some, and its upstream with it, and is refused where none comes.
 *
 * What callers send has bounds of its own. An answer has been paid for when it comes, so it goes by the memory that there is alone.
 * One of at most 64 KiB is not counted: small calls are served whatever others need.
 */
import type { AnswerRoom, AnswerWaiting } from "../../call/call.ts";
import { answerWithoutRoom, cancelled, type Refusal } from "../../call/refusals.ts";
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

interface Wait {
  readonly taken: Promise<boolean>;
  leave(why?: Refusal): void;
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

  /** How long an answer waits in all, in milliseconds. */
  get waitMs(): number {
    return this.#options.memory?.waitMs ?? defaultWaitMs;
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
   * Waits for bytes beside those that an answer has already. `taken` resolves to true when they are counted, and rejects with a Refusal
   * where there is no memory for them by `until`. `leave` ends the wait: with a Refusal, or as if there were nothing to wait for.
   */
  wait(bytes: number, held: number, until: number): Wait {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const waiting: Waiting = { bytes, held, until, resolve: () => resolve(true), reject };
    this.#waiting.add(waiting);
    this.#looks ??= setInterval(() => this.#lookAgain(), lookMs);
    const leave = (why?: Refusal) => this.#end(waiting, () => (why ? reject(why) : resolve(false)));
    return { taken: promise, leave };
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
  readonly #waiting: AnswerWaiting | undefined;
  /** How long the answer may still wait, once it had to, in milliseconds. */
  #leftMs: number | undefined;
  #leave: Wait["leave"] | undefined;

  constructor(answers: HeldAnswers, waiting?: AnswerWaiting) {
    this.#answers = answers;
    this.#waiting = waiting;
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
    const begun = performance.now();
    const leftMs = this.#leftMs ?? this.#answers.waitMs;
    const more = bytes - this.#bytes;
    const { signal, until = Number.POSITIVE_INFINITY } = this.#waiting ?? {};
    const { taken, leave } = this.#answers.wait(more, this.#bytes, Math.min(begun + leftMs, until));
    const abort = () => leave(cancelled());
    this.#leave = leave;
    this.#waiting?.note(true);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    try {
      const isTaken = await taken;
      if (!isTaken) return;
      if (this.#isReleased) this.#answers.give(more);
      else this.#bytes += more;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#waiting?.note(false);
      this.#leave = undefined;
      this.#leftMs = leftMs - (performance.now() - begun);
    }
  }

  release(): void {
    this.#isReleased = true;
    this.#leave?.();
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (bytes > 0) this.#answers.give(bytes);
  }
}
