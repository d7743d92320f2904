/**
 * Group commit: all steps that are enlisted in one turn of the event loop run in one transaction, and all entries that are added
 * to the journal in one turn become one record.
 *
 * While another process holds the lock, steps are repeated with those of later turns, and the event loop goes on meanwhile. A
 * step that has waited for `maxWaitMs` fails with a LockedError.
 */
import { catchError, Deferred } from "../../runtime/maybe-promise.ts";
import { LockedError } from "../../runtime/write-trouble.ts";
import { maxWaitMs, pauseAfter } from "../../storage/engines/lock-retry.ts";
import { retry } from "../retry.ts";

export interface Step<R, T> {
  /**
   * Runs in the transaction, and perhaps again in another. `leased` is what is left of each lease that steps of this
   * transaction grew, by its id.
   */
  readonly work: (leased: Map<string, number>) => R;
  /** Runs when the transaction is committed, before anything else does. */
  readonly after: (result: R) => T;
  /** The account whose leases are released first, so that what is left is known exactly. Empty for none. */
  readonly accountId: string;
}

export interface GroupCommitOptions {
  readonly transact: <T>(work: () => T) => T;
  /** Runs a write, and returns false where another process is writing. */
  readonly withoutWaiting: (work: () => void) => boolean;
  /** Posts the journal, and releases the leases of these accounts. */
  readonly flush: (accountIds: ReadonlySet<string>) => void;
  /** Appends to the journal what was added in this turn. */
  readonly append: () => void;
  /** Receives errors of what is tried again. */
  readonly onError: (error: unknown) => void;
}

export interface GroupCommit {
  /** Runs a step in the transaction of this turn. Resolves when that is committed. */
  enlist<R, T>(step: Step<R, T>): Promise<T>;
  /** Appends to the journal at the end of this turn. Resolves when all that was added until then is durable. */
  appended(): Deferred<void>;
  /** Waits for the turn that is under way, and for steps that wait for another process. */
  settled(): Promise<void>;
}

export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { append, onError } = options;
  const steps = new EnlistedSteps(options);
  let turn: Deferred<void> | undefined;

  function appended(): Deferred<void> {
    if (!turn) {
      turn = new Deferred<void>();
      setImmediate(endTurn, turn);
    }
    return turn;
  }

  function endTurn(ending: Deferred<void>): void {
    steps.run();
    turn = undefined;
    try {
      append();
    } catch (error) {
      onError(error);
      retry(append, onError).then(
        () => ending.resolve(),
        (lasting: unknown) => ending.reject(lasting),
      );
      return;
    }
    ending.resolve();
  }

  return {
    enlist(step) {
      void appended();
      return steps.add(step);
    },
    appended,
    async settled() {
      for (let waiting = steps.paused(); turn || waiting; waiting = steps.paused()) {
        await (turn ? catchError(appended, () => {}) : waiting);
      }
    },
  };
}

interface WaitingStep {
  readonly step: Step<unknown, unknown>;
  readonly done: (result: unknown) => void;
  readonly failed: (error: unknown) => void;
  /** How long it has waited for another process, in milliseconds. */
  waited: number;
}

/** EnlistedSteps are the steps that no transaction has committed yet. */
class EnlistedSteps {
  readonly #options: GroupCommitOptions;
  #steps: WaitingStep[] = [];
  /** Fires when steps that found the lock taken are tried again. */
  #again: NodeJS.Timeout | undefined;
  #pauseMs = 0;
  #free = new Deferred<void>();

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  add<R, T>(step: Step<R, T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const done = resolve as WaitingStep["done"];
      this.#steps.push({ step: step as Step<unknown, unknown>, done, failed: reject, waited: 0 });
    });
  }

  /** Runs all steps in one transaction, unless they are paused. */
  run(): void {
    if (this.#steps.length > 0 && !this.#again) this.#runAll();
  }

  /** Resolves once no step waits for the lock; undefined where none does now. */
  paused(): Deferred<void> | undefined {
    return this.#again && this.#free;
  }

  #runAll(): void {
    const { transact, withoutWaiting, flush } = this.#options;
    const batch = this.#steps;
    this.#steps = [];
    let results: unknown[] = [];
    let hasBegun = false;
    try {
      const isDone = withoutWaiting(() => {
        flush(new Set(batch.map(({ step }) => step.accountId)));
        results = transact(() => {
          hasBegun = true;
          const leased = new Map<string, number>();
          return batch.map(({ step }) => step.work(leased));
        });
      });
      if (!isDone) {
        this.#pause(batch);
        return;
      }
    } catch (error) {
      // A step that fails must not fail the others: each is tried alone.
      for (const waiting of batch) hasBegun ? this.#runAlone(waiting) : waiting.failed(error);
      return;
    }
    this.#pauseMs = 0;
    for (const [i, waiting] of batch.entries()) finish(waiting, () => results[i]);
  }

  #runAlone(waiting: WaitingStep): void {
    const { transact, withoutWaiting } = this.#options;
    let result: unknown;
    try {
      const isDone = withoutWaiting(() => {
        result = transact(() => waiting.step.work(new Map()));
      });
      if (!isDone) {
        this.#pause([waiting]);
        return;
      }
    } catch (error) {
      waiting.failed(error);
      return;
    }
    finish(waiting, () => result);
  }

  /** Has steps tried again, before later ones; those that have waited for too long fail. */
  #pause(batch: readonly WaitingStep[]): void {
    this.#pauseMs = pauseAfter(this.#pauseMs);
    const [late, patient] = [batch.filter(isLate), batch.filter((waiting) => !isLate(waiting))];
    for (const waiting of patient) waiting.waited += this.#pauseMs;
    this.#steps = [...patient, ...this.#steps];
    for (const { failed } of late) failed(new LockedError());
    this.#again ??= setTimeout(() => this.#tryAgain(), this.#pauseMs);
  }

  #tryAgain(): void {
    this.#again = undefined;
    if (this.#steps.length > 0) this.#runAll();
    if (this.#again) return;
    this.#pauseMs = 0;
    this.#free.resolve();
    this.#free = new Deferred<void>();
  }
}

const isLate = ({ waited }: WaitingStep) => waited >= maxWaitMs;

function finish({ step, done, failed }: WaitingStep, resultOf: () => unknown): void {
  try {
    done(step.after(resultOf()));
  } catch (error) {
    failed(error);
  }
}
