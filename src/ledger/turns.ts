/**
 * What asks the database itself, many at a time: all that comes in one turn of the event loop is one transaction. And when
 * a turn ends, what was added to the journal is noted.
 */
import { Later, orElse } from "../soon.ts";
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
  /** Has what was added to the journal noted. It is there when that is done, for all who have added in this turn. */
  saved(): Later<void>;
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
  let turn: Later<void> | undefined;

  function saved(): Later<void> {
    if (!turn) {
      turn = new Later<void>();
      setImmediate(end, turn);
    }
    return turn;
  }

  function end(ending: Later<void>): void {
    if (steps.length > 0) run();
    turn = undefined;
    try {
      save();
    } catch (error) {
      onError(error);
      retried(save, onError).then(
        () => ending.come(),
        (lasting: unknown) => ending.fail(lasting),
      );
      return;
    }
    ending.come();
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
      while (turn) await orElse(saved, () => {});
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
