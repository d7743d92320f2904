/**
 * Counts the memory of long answers, beside that of request bodies: what upstreams send, and what was stored. An answer that finds no
 * memory waits for some, and its upstream with it, and is refused where none comes.
 *
 * The memory that is left is the only bound of answers: an upstream bills an answer when it sends it, so the gateway refuses none that it can
 * hold. Answers of at most 64 KiB are not counted, so that small calls are served while long answers wait.
 */
import type { AnswerRoom, AnswerWaiting } from "../../call/call.ts";
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
  /** The bytes that it waits for, those that will do while no other answer is held, and those that it has already. */
  readonly bytes: number;
  readonly least: number;
  readonly held: number;
  /** By `performance.now()`. */
  readonly until: number;
  /** Told how many were taken. */
  resolve(taken: number): void;
  reject(error: unknown): void;
}

interface Wait {
  /** How many bytes were taken; 0 where it was left. */
  readonly taken: Promise<number>;
  leave(why?: Error): void;
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
      const taken = this.take(bytes) ? bytes : this.#takeAlone(waiting);
      if (taken === undefined) least = bytes;
      else this.#end(waiting, () => waiting.resolve(taken));
    }
  }

  /** Takes the least for an answer beside which no other is held. Returns how many bytes that is; undefined where there is no memory. */
  #takeAlone({ held, least }: Waiting): number | undefined {
    return held === this.bytes && this.take(least) ? least : undefined;
  }

  /**
   * Waits for bytes beside those that an answer has already. `taken` resolves when they are counted, and rejects with a Refusal where there
   * is no memory for them by `until`. `leave` ends the wait: with a Refusal, or as if there were nothing to wait for.
   */
  wait(asked: Pick<Waiting, "bytes" | "least" | "held" | "until">): Wait {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const waiting: Waiting = { ...asked, resolve, reject };
    this.#waiting.add(waiting);
    this.#looks ??= setInterval(() => this.#lookAgain(), lookMs);
    const leave = (why?: Error) => this.#end(waiting, () => (why ? reject(why) : resolve(0)));
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

  hold(bytes: number, least = bytes): Promise<void> | undefined {
    if (this.tryHold(bytes)) return undefined;
    const isAlone = this.#answers.bytes === this.#bytes;
    return isAlone && least < bytes && this.tryHold(least) ? undefined : this.#wait(bytes, least);
  }

  async #wait(bytes: number, least: number): Promise<void> {
    const begun = performance.now();
    const leftMs = this.#leftMs ?? this.#answers.waitMs;
    const held = this.#bytes;
    const { signal, until = Number.POSITIVE_INFINITY } = this.#waiting ?? {};
    const { taken, leave } = this.#answers.wait({
      ...{ bytes: bytes - held, least: least - held, held },
      until: Math.min(begun + leftMs, until),
    });
    const abort = () => leave(cancelled());
    this.#leave = leave;
    this.#waiting?.note?.(true);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    try {
      const more = await taken;
      if (this.#isReleased) this.#answers.give(more);
      else this.#bytes += more;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#waiting?.note?.(false);
      this.#leave = undefined;
      this.#leftMs = leftMs - (performance.now() - begun);
    }
  }

  leave(why: Error): void {
    this.#leave?.(why);
  }

  release(): void {
    this.#isReleased = true;
    this.#leave?.();
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (bytes > 0) this.#answers.give(bytes);
  }
}
