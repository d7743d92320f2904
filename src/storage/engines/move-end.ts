/**
 * The contract of one end of a move of all data: a database that nobody else works on, read and written without stores and books.
 * `moving/` moves from one to the other; `sqlite/moving/` and `postgres/moving/` implement it.
 */
import type { Finding } from "../proof/finding.ts";
import type { MoveMark } from "./moves.ts";
import type { Database } from "./scope.ts";
import type { Dialect, TableShape } from "./tables/shape.ts";

/** Values is a row, by the names of its columns. */
export type Values = Readonly<Record<string, unknown>>;

/** digestOf is what SQLite's connection of an end calls the function that digests bytes: the first 48 bits of their SHA-256, as a number. */
export const digestOf = "digest_of";

export interface MoveEnd {
  readonly dialect: Dialect;
  /** name is what messages and the other end call it: an absolute path, or `host:port/database`. */
  readonly name: string;
  /** For reading. */
  readonly db: Database;
  /** Runs work that writes, in one transaction, though everybody else is kept from writing. */
  write<T>(work: (db: Database) => Promise<T>): Promise<T>;
  /** Within that: adds rows to a table. */
  insert(db: Database, table: TableShape, rows: readonly Values[]): Promise<void>;
  /** Marks the database, and keeps everybody else from writing. Throws a StorageError, with nothing changed, where somebody works on it. */
  shut(mark: MoveMark): Promise<void>;
  /** Lets everybody work on it again. Undefined forgets the move. */
  open(mark: MoveMark | undefined): Promise<void>;
  /**
   * Releases what processes held that are gone, and adds up what is due: then all of it is in the tables that every engine has. Throws a
   * StorageError where something cannot be recovered.
   */
  recover(): Promise<void>;
  /** Returns what a proof finds beside the tables. */
  beside(): Promise<readonly Finding[]>;
  /** Has the engine look at what its tables have by now, so that it plans queries by that. */
  analyze(): Promise<void>;
  /**
   * Removes all rows, as of an unfinished move. Throws a StorageError where somebody works on it. Undefined where its file is moved aside
   * instead.
   */
  readonly empty: (() => Promise<void>) | undefined;
  /** Turns an error of reading or writing into one line for an operator, as far as it is known. */
  explain(error: unknown): unknown;
  close(): Promise<void>;
}
