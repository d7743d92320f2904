/**
 * Migrations that are written once for all engines: a number, a name, and what it does in each engine's SQL.
 *
 * While a fleet is brought to another version, nodes of both versions work on one database. So a migration only adds: tables,
 * columns that are nullable or have a constant default, indexes, views with more columns. What nothing needs any more is removed
 * by a later version, when no node reads it. One that cannot be so is `alone`: it is refused while a node of another version lives.
 */
import type { Kysely } from "kysely";
import type { Dialect } from "../tables/shape.ts";

export interface SharedMigration {
  readonly name: string;
  /** Set where nodes of the version before could not go on. */
  readonly isAlone?: true;
  readonly up: (db: Kysely<unknown>, dialect: Dialect) => Promise<void>;
}
