/** Transactions of a connection, one within another, and what is to be done once they are committed. */

/** How the engine runs work in a transaction, or in a part of one that is undone alone. */
export interface Runner {
  immediate(work: () => unknown): unknown;
  deferred(work: () => unknown): unknown;
}

export interface Transactions {
  /** Runs work in one transaction that begins as a writer; within another it is a part of it, and undone alone. */
  write<T>(work: () => T): T;
  /** Runs work that only reads, on one state of the database. */
  read<T>(work: () => T): T;
  /** Within a transaction: calls this once the outermost is committed, never where its part is undone. It may not throw. */
  whenCommitted(work: () => void): void;
}

export function createTransactions(runner: Runner, isWithin: () => boolean): Transactions {
  const afterCommit: (() => void)[] = [];

  function run<T>(how: keyof Runner, work: () => T): T {
    const before = afterCommit.length;
    let result: T;
    try {
      result = runner[how](work) as T;
    } catch (error) {
      // What was undone is not committed with the rest.
      afterCommit.length = before;
      throw error;
    }
    if (afterCommit.length > 0 && !isWithin()) for (const next of afterCommit.splice(0)) next();
    return result;
  }

  return {
    write: (work) => run("immediate", work),
    read: (work) => run("deferred", work),
    whenCommitted(work) {
      if (!isWithin()) throw new Error("there is no transaction to wait for");
      afterCommit.push(work);
    },
  };
}
