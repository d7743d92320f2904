/**
 * Migrations that are written once for all engines: a number, a name, and what it does in each engine's SQL.
 *
 * While a fleet is brought to another version, nodes of both versions work on one database. So a migration only adds: tables,
 * columns that are nullable or have a constant default, indexes, views with more columns. What nothing needs any more is removed
 * by a later version, when no node reads it. One that cannot be so is `alone`: it is refused while a node of another version lives.
 */
import type { Kysely } from "kysely";
import { StorageError } from "../../../runtime/write-trouble.ts";
import type { Dialect } from "../tables/shape.ts";

export interface SharedMigration {
  readonly name: string;
  /** Set where nodes of the version before could not go on. */
  readonly isAlone?: true;
  readonly up: (db: Kysely<unknown>, dialect: Dialect) => Promise<void>;
}

/**
 * refuseUnknown throws a StorageError where a database has migrations that this version does not know: it would read the tables wrongly.
 * `another` is what the operator may use in the database's place.
 */
export function refuseUnknown(unknown: readonly string[], database: string, another: string): void {
  if (unknown.length === 0) return;
  throw new StorageError(
    `the database ${database} was written by a newer model-gateway (it has ${unknown.join(", ")}); ` +
      `use that version, or another ${another}`,
  );
}
