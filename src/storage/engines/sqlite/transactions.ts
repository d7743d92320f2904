/** Transactions of a connection, one within another, and what runs once they are committed. */

/** Runner runs work in a transaction, or in a savepoint of the one that is open. */
export interface Runner {
  immediate(work: () => unknown): unknown;
  deferred(work: () => unknown): unknown;
}

export interface Transactions {
  /** Runs work in a transaction that begins as a writer. Within another transaction it is a part that can be undone alone. */
  write<T>(work: () => T): T;
  /** Runs work that only reads, on one state of the database. */
  read<T>(work: () => T): T;
  /**
   * Within a transaction: calls `work` once the outermost one is committed, and never where its part is undone. `work` may not
   * throw.
   */
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
