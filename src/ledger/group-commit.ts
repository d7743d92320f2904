/**
 * What asks the database itself, many at a time: all that comes in one turn of the event loop is one transaction. And when
 * a turn ends, what was added to the journal is noted.
 *
 * Where another process writes, steps are tried again with those of later turns, and the event loop goes on meanwhile. One
 * that has waited for as long as anybody does fails by a LockedError.
 */
import { catchError, Deferred } from "../runtime/maybe-promise.ts";
import { LockedError } from "../runtime/write-trouble.ts";
import { mostWaitMs, pauseAfter } from "../storage/engines/sqlite/when-free.ts";
import { retried } from "./retry.ts";

export interface Step<R, T> {
  /**
   * Runs in the transaction, and perhaps again in another. `leased` is what is left of each lease that steps of this
   * transaction grew, by its id.
   */
  readonly work: (leased: Map<string, number>) => R;
  /** Runs when that is committed, before anything else does. */
  readonly after: (result: R) => T;
  /** Whose leases are given back before: what is left is to be known exactly. Empty for nobody's. */
  readonly accountId: string;
}

export interface TurnsOptions {
  readonly transact: <T>(work: () => T) => T;
  /** Runs what writes, and returns false where another process is writing. */
  readonly withoutWaiting: (work: () => void) => boolean;
  /** Writes what is noted, and gives back the leases of these accounts. */
  readonly write: (accountIds: ReadonlySet<string>) => void;
  /** Notes what was added. */
  readonly save: () => void;
  /** Told of what is tried again. */
  readonly onError: (error: unknown) => void;
}

export interface Turns {
  /** Runs a step in the transaction of this turn. Resolves when that is committed. */
  step<R, T>(step: Step<R, T>): Promise<T>;
  /** Has what was added to the journal noted. It is there when that is done, for all who have added in this turn. */
  saved(): Deferred<void>;
  /** Waits for the turn that is under way, and for steps that wait for another process. */
  settled(): Promise<void>;
}

interface Waiting {
  readonly step: Step<unknown, unknown>;
  readonly done: (result: unknown) => void;
  readonly failed: (error: unknown) => void;
  /** For how long it has waited for another process, in milliseconds. */
  waited: number;
}

export function createTurns({ transact, withoutWaiting, write, save, onError }: TurnsOptions): Turns {
  let steps: Waiting[] = [];
  let turn: Deferred<void> | undefined;
  /** Fires when steps that found another process writing are tried again. */
  let again: NodeJS.Timeout | undefined;
  let pauseMs = 0;
  let free = new Deferred<void>();

  function saved(): Deferred<void> {
    if (!turn) {
      turn = new Deferred<void>();
      setImmediate(end, turn);
    }
    return turn;
  }

  function end(ending: Deferred<void>): void {
    if (steps.length > 0 && !again) run();
    turn = undefined;
    try {
      save();
    } catch (error) {
      onError(error);
      retried(save, onError).then(
        () => ending.resolve(),
        (lasting: unknown) => ending.reject(lasting),
      );
      return;
    }
    ending.resolve();
  }

  function run(): void {
    const batch = steps;
    steps = [];
    let results: unknown[] = [];
    let hasBegun = false;
    try {
      const isDone = withoutWaiting(() => {
        write(new Set(batch.map(({ step }) => step.accountId)));
        results = transact(() => {
          hasBegun = true;
          const leased = new Map<string, number>();
          return batch.map(({ step }) => step.work(leased));
        });
      });
      if (!isDone) {
        pause(batch);
        return;
      }
    } catch (error) {
      // One that fails must not take the others with it: each is tried alone.
      for (const waiting of batch) hasBegun ? alone(waiting) : waiting.failed(error);
      return;
    }
    pauseMs = 0;
    for (const [i, waiting] of batch.entries()) finish(waiting, () => results[i]);
  }

  function alone(waiting: Waiting): void {
    let result: unknown;
    try {
      const isDone = withoutWaiting(() => {
        result = transact(() => waiting.step.work(new Map()));
      });
      if (!isDone) {
        pause([waiting]);
        return;
      }
    } catch (error) {
      waiting.failed(error);
      return;
    }
    finish(waiting, () => result);
  }

  /** Has steps tried again, before later ones. */
  function pause(batch: readonly Waiting[]): void {
    pauseMs = pauseAfter(pauseMs);
    const [late, patient] = [batch.filter(isLate), batch.filter((waiting) => !isLate(waiting))];
    for (const waiting of patient) waiting.waited += pauseMs;
    steps = [...patient, ...steps];
    for (const { failed } of late) failed(new LockedError());
    again ??= setTimeout(tryAgain, pauseMs);
  }

  function tryAgain(): void {
    again = undefined;
    if (steps.length > 0) run();
    if (again) return;
    pauseMs = 0;
    free.resolve();
    free = new Deferred<void>();
  }

  return {
    step<R, T>(step: Step<R, T>) {
      void saved();
      return new Promise<T>((resolve, reject) => {
        const done = resolve as Waiting["done"];
        steps.push({ step: step as Step<unknown, unknown>, done, failed: reject, waited: 0 });
      });
    },
    saved,
    async settled() {
      while (turn || again) await (turn ? catchError(saved, () => {}) : free);
    },
  };
}

const isLate = ({ waited }: Waiting) => waited >= mostWaitMs;

function finish({ step, done, failed }: Waiting, resultOf: () => unknown): void {
  try {
    done(step.after(resultOf()));
  } catch (error) {
    failed(error);
  }
}
