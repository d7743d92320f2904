/**
 * A scope is where stores work: the database as it is, or one transaction of it. Stores are written once over a scope, in queries that
 * every engine takes.
 *
 * A transaction may be begun anew where it met another one. So what runs in it has no effects but those on the database, and asks only
 * stores of its own scope: on one connection another would wait for the transaction, and the transaction for it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type Compilable, type Kysely, type RawBuilder, sql } from "kysely";
import type { Tables } from "../schema.ts";

export type Database = Kysely<Tables>;

export interface Scope {
  /** db posts what the ledger has written until now before a query reads or writes. */
  readonly db: Database;
  /** unflushed posts nothing first: it is for reads that need not see what the ledger has not posted yet. */
  readonly unflushed: Database;
  readonly pending: PendingSums;
  /** Runs work in a transaction that nobody sees half of; within one, as a part of it. */
  transact<T>(work: (scope: Scope) => Promise<T>): Promise<T>;
  /**
   * Within a transaction: keeps others from changing the rows of a query until it ends, so that what is read afterwards still holds
   * when it is written by. Accounts are locked before their keys, as the books do for calls: in the other order both would wait for each
   * other.
   */
  lock(query: Lockable): Promise<void>;
}

/** Lockable is a query whose rows may be locked. */
export interface Lockable {
  forUpdate(): { execute(): Promise<unknown> };
}

/** PendingSums is what calls have added to the sums of keys that is not in the keys' rows yet. */
export interface PendingSums {
  /** Returns what is pending of a key's spend, as a part of a query. */
  spentOf(keyId: string): RawBuilder<number>;
  /** Returns what is pending of what a key no longer holds, as a part of a query. */
  freedOf(keyId: string): RawBuilder<number>;
  /** Within a transaction: adds what is pending of a key to its row, which then has its whole sums until the transaction ends. */
  merge(db: Database, keyId: string): Promise<void>;
}

/** changed runs a statement, and returns how many rows it changed. */
export async function changed(db: Database, query: Compilable<unknown>): Promise<number> {
  const { numAffectedRows = 0n } = await db.executeQuery(query);
  return Number(numAffectedRows);
}

/**
 * stated returns the members that have a value, as conditions of a query: `where((is) => is.and(stated({ model })))` selects all rows where
 * `model` is undefined.
 */
export function stated<F extends object>(filter: F): { [M in keyof F]?: Exclude<F[M], undefined> } {
  const members = Object.entries(filter).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as { [M in keyof F]?: Exclude<F[M], undefined> };
}

/**
 * containing returns the condition that a column of lower case has a text in it, in any case of the text. `column` is SQL of the source.
 */
export function containing(column: string, text: string): RawBuilder<boolean> {
  const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
  return sql<boolean>`${sql.raw(column)} LIKE ${pattern} ESCAPE '\\'`;
}

/**
 * compiledOnce returns what runs a query that is compiled once, with other values in the places of those that it was built with: for
 * queries that callers wait for again and again.
 */
export function compiledOnce<R>(build: () => Compilable<R>, db: Database): (...values: unknown[]) => Promise<R[]> {
  let compiled: ReturnType<Compilable<R>["compile"]> | undefined;
  return async (...parameters) => {
    compiled ??= build().compile();
    return (await db.executeQuery({ ...compiled, parameters })).rows as R[];
  };
}

export interface ScopeParts extends Pick<Scope, "db" | "unflushed" | "pending" | "lock"> {
  readonly within: WithinTransaction;
}

/** createScope returns the scope of a whole database. */
export function createScope({ db, unflushed, pending, lock, within }: ScopeParts): Scope {
  return {
    db,
    unflushed,
    pending,
    lock: async () => {
      throw new Error("there is no transaction to lock rows for");
    },
    transact: (work) =>
      db.transaction().execute((transaction) => {
        const scope: Scope = {
          db: transaction,
          unflushed: transaction,
          pending,
          lock,
          transact: (part) => part(scope),
        };
        return within.run(() => work(scope));
      }),
  };
}

/** WithinTransaction knows what is called, directly or later, by the work of a transaction that has not ended. */
export interface WithinTransaction {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Throws where the caller is within a transaction: it has to ask the stores of that. */
  refuse(): void;
}

export function createWithinTransaction(): WithinTransaction {
  const transactions = new AsyncLocalStorage<{ isOver: boolean }>();
  return {
    async run(work) {
      const transaction = { isOver: false };
      try {
        return await transactions.run(transaction, work);
      } finally {
        transaction.isOver = true;
      }
    },
    refuse() {
      if (transactions.getStore()?.isOver === false)
        throw new Error("within a transaction, use the stores that it was given: the others would wait for its end");
    },
  };
}
