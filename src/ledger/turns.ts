/**
 * What asks the database itself, many at a time: all that comes in one turn of the event loop is one transaction. And when
 * a turn ends, what was added to the journal is noted.
 */
import { retried } from "./retried.ts";

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
  /** Has what was added to the journal noted. Resolves when it is. */
  saved(): Promise<void>;
  /** Waits for the turn that is under way. */
  settled(): Promise<void>;
}

interface Waiting {
  readonly step: Step<unknown, unknown>;
  readonly done: (result: unknown) => void;
  readonly failed: (error: unknown) => void;
}

export function createTurns({ transact, write, save, onError }: TurnsOptions): Turns {
  let steps: Waiting[] = [];
  let turn: Promise<void> | undefined;

  function saved(): Promise<void> {
    if (!turn) {
      turn = new Promise<void>((resolve, reject) => {
        setImmediate(end, resolve, reject);
      });
      // Not everybody waits for it.
      turn.catch(() => {});
    }
    return turn;
  }

  function end(resolve: () => void, reject: (error: unknown) => void): void {
    if (steps.length > 0) run();
    turn = undefined;
    try {
      save();
      resolve();
    } catch (error) {
      onError(error);
      retried(save, onError).then(resolve, reject);
    }
  }

  function run(): void {
    const batch = steps;
    steps = [];
    let results: unknown[];
    let hasBegun = false;
    try {
      write(new Set(batch.map(({ step }) => step.accountId)));
      results = transact(() => {
        hasBegun = true;
        const leased = new Map<string, number>();
        return batch.map(({ step }) => step.work(leased));
      });
    } catch (error) {
      // One that fails must not take the others with it: each is tried alone. A database that is busy is waited for
      // once.
      for (const waiting of batch) hasBegun ? alone(waiting) : waiting.failed(error);
      return;
    }
    for (const [i, waiting] of batch.entries()) finish(waiting, () => results[i]);
  }

  function alone(waiting: Waiting): void {
    finish(waiting, () => transact(() => waiting.step.work(new Map())));
  }

  return {
    step<R, T>(step: Step<R, T>) {
      void saved();
      return new Promise<T>((resolve, reject) => {
        steps.push({ step: step as Step<unknown, unknown>, done: resolve as Waiting["done"], failed: reject });
      });
    },
    saved,
    async settled() {
      while (turn) await turn.catch(() => {});
    },
  };
}

function finish({ step, done, failed }: Waiting, resultOf: () => unknown): void {
  try {
    done(step.after(resultOf()));
  } catch (error) {
    failed(error);
  }
}
