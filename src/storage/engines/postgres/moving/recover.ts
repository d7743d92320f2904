/** Recovers a database whose nodes are all gone: what they held is released, their calls are recorded as lost, and what is due is merged. */
import { type Kysely, sql } from "kysely";
import { newId } from "../../../../runtime/ids.ts";
import { StorageError } from "../../../../runtime/write-trouble.ts";
import type { BooksFunction } from "../books/functions/function.ts";
import { expire, merge } from "../books/functions/upkeep.ts";

type Db = Kysely<unknown>;

/**
 * recoverAll recovers the database `name`. `write` runs work in a transaction that may write. Throws a StorageError where something is left.
 */
export async function recoverAll(write: <T>(work: (db: Db) => Promise<T>) => Promise<T>, name: string): Promise<void> {
  while ((await write(expireSome)) > 0);
  while ((await write((db) => call<number>(db, merge, ""))) > 0);
  const { rows } = await write((db) =>
    sql<{ left: number }>`SELECT (SELECT count(*) FROM holds) + (SELECT count(*) FROM due_sums) AS left`.execute(db),
  );
  if (rows[0]?.left === 0) return;
  throw new StorageError(
    `the database ${name} has holds, or sums that are due, of accounts that are not there. \`model-gateway reconcile\` shows them`,
  );
}

/**
 * Nobody lives who could move a deadline on, or who would come first after an outage of all. The node that expires them is there for the
 * transaction alone.
 */
async function expireSome(db: Db): Promise<number> {
  const node = newId("nod");
  await sql`INSERT INTO nodes (node, version, started_at, steady_since, alive_until)
    VALUES (${node}, 'migrate-to', 0, 0, now_ms() + 60000)`.execute(db);
  await sql`UPDATE holds SET expires_at = 0 WHERE expires_at > 0`.execute(db);
  const expired = await call<number>(db, expire, node);
  await sql`DELETE FROM nodes WHERE node = ${node}`.execute(db);
  return expired;
}

async function call<T>(db: Db, of: BooksFunction, ...values: readonly unknown[]): Promise<T> {
  const { rows } = await sql<{ told: T }>`SELECT ${sql.raw(of.name)}(${sql.join(values)}) AS told`.execute(db);
  return rows[0]?.told as T;
}
