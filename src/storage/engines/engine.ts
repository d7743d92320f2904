/**
 * The contract of a database engine: what stores need of the database, without its name. `engines/sqlite` implements it.
 *
 * Statements run at once, on one connection. A transaction that waited would take in whatever else is written meanwhile, and
 * undo it with itself: so none is made through Kysely, which only builds queries here.
 */
import type { Compilable, Kysely } from "kysely";
import type { Segments } from "../journal/segments.ts";
import type { Tables } from "../schema.ts";
import type { LockRetry } from "./lock-retry.ts";
import type { WritableWatch } from "./writable.ts";

export type Database = Kysely<Tables>;

/** Engine is the connection that stores work with. Before it reads or writes, it has every WriteBehind flush. */
export interface Engine extends Connection, BusyTimeout {
  /** The same connection by Kysely, which waits between statements: for work that nothing else is done beside, as the proof. */
  readonly db: Database;
  /** Runs work that only reads, on one state of the database, however long it takes. No writer waits for it. */
  read<T>(work: () => T): T;
  /** Runs a query, and returns its rows. */
  all<R>(query: Compilable<R>): R[];
  /** Runs a query, and returns how many rows it changed. */
  run(query: Compilable<unknown>): number;
  /**
   * The same connection without the flush: for the ledger itself, and for reads that do without what the ledger has not
   * posted yet.
   */
  readonly books: Connection;
  /**
   * Reports whether an error was caused by the values that were to be written, so that a repetition would fail again. A
   * locked database or a full disk is no such error.
   */
  isFault(error: unknown): boolean;
  /** The journal's files beside the database. */
  readonly segments: Segments;
  /** Repeats writes while another process writes, without blocking the event loop. */
  readonly lockRetry: LockRetry;
  /** Writes nothing, in a transaction that begins as a writer. Throws where no write is possible. */
  probe(): void;
  readonly writable: WritableWatch;
  /** Registers what is flushed before anybody else reads or writes. Returns what removes it again. */
  beforeAccess(one: WriteBehind): () => void;
  /**
   * Returns another number whenever anything was written: by any other process, or by this one except its ledger. It may
   * miss a write of another process for a millisecond, unless `isExact` is set.
   */
  version(isExact?: boolean): number;
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

/** BusyTimeout is how long a write blocks, and with it the event loop, while another process holds the lock. */
export interface BusyTimeout {
  /** Runs a write without blocking. Returns false, with nothing written, where another process holds the lock. */
  withoutWaiting(work: () => void): boolean;
  /**
   * Limits blocking to a few milliseconds, so that a process that serves goes on. Returns what restores the limit of seconds,
   * which suits a process that serves nobody.
   */
  waitBriefly(): () => void;
}
