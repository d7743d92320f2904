/**
 * The contract of a database engine: what stores and the ledger need of the database, without its name. `engines/sqlite` implements it.
 *
 * There are two connections. Stores work in a `scope` on that of the management, and wait for it like for any database. The ledger has
 * that of the books, whose statements run at once: a transaction there cannot take in what others write meanwhile. What is written by
 * one is seen by the other once it is committed.
 */
import type { Segments } from "../journal/segments.ts";
import type { NamedChanges } from "./changed-names.ts";
import type { Scope } from "./scope.ts";
import type { WritableWatch } from "./writable.ts";

/**
 * Engine gives both connections. Its own statements and transactions are those of the books; before they read or write, and before
 * anything in the scope does, every WriteBehind is flushed.
 */
export interface Engine extends Connection {
  /** scope is where stores work. */
  readonly scope: Scope;
  /** Runs work that only reads, on one state of the database, however long it takes. No writer waits for it. */
  read<T>(work: () => T): T;
  /** The connection of the books without the flush, for the ledger itself. */
  readonly books: Connection;
  /** The journal's files beside the database. */
  readonly segments: Segments;
  /** Runs a write of the books. Returns false, with nothing written, where another process or the management is writing. */
  withoutWaiting(work: () => void): boolean;
  readonly writable: WritableWatch;
  /** Registers what is flushed before anybody else reads or writes. Returns what removes it again. */
  beforeAccess(one: WriteBehind): () => void;
  /**
   * Returns another number whenever anything was written: by any other process, or by this one except its ledger. It may
   * miss a write of another process for a millisecond, unless `isExact` is set.
   */
  version(isExact?: boolean): number;
  /** changes are what of that changed keys, limits and accounts. */
  readonly changes: NamedChanges;
}

/** WriteBehind holds writes in memory and posts them later, many in one transaction. */
export interface WriteBehind {
  /** Reports whether anything is not posted yet. */
  hasUnposted(): boolean;
  flush(): void;
}

export interface Connection {
  /** Prepares a statement, once. */
  prepare<P extends readonly unknown[], R = never>(sql: string): Statement<P, R>;
  /** Runs work in a transaction that begins as a writer. Within another transaction it is a part that can be undone alone. */
  transact<T>(work: () => T): T;
  /**
   * Within a transaction: calls `work` once the outermost one is committed, and never where its part is undone. `work` may not
   * throw.
   */
  whenCommitted(work: () => void): void;
}

export interface Statement<P extends readonly unknown[], R> {
  /** Returns how many rows were changed. */
  run(...params: P): number;
  get(...params: P): R | undefined;
  all(...params: P): R[];
}
