/**
 * Keeps everybody from writing a database: triggers on all tables, which refuse every statement but those of the move itself. A gateway
 * that began meanwhile, one of an older version and a hand in psql are refused as well; to a gateway it is as if the database had become
 * a replica.
 */
import { type Kysely, sql } from "kysely";
import { StorageError } from "../../../../runtime/write-trouble.ts";
import { type MoveMark, refusal } from "../../moves.ts";
import { tablesOf } from "../../tables/all.ts";
import { run } from "../../tables/create.ts";

type Db = Kysely<unknown>;

/** setting is what a transaction of the move has set, to the move's id. */
export const setting = "model_gateway.move";

/** ofMoves are the tables that describe the move itself: the fence lets them be written. */
const ofMoves: ReadonlySet<string> = new Set(["moves", "moved_tables"]);

const fenced = tablesOf("postgres").flatMap(({ name }) => (ofMoves.has(name) ? [] : [name]));

/** lockTimeoutMs is how long those who write at this moment may take. */
export const lockTimeoutMs = 5000;

/**
 * raiseFence refuses everybody else from the commit of its transaction on. Throws a StorageError where nodes live, which would be refused.
 */
export async function raiseFence(db: Db, name: string, mark: MoveMark): Promise<void> {
  await refuseNodes(db, name);
  await run(db, `LOCK TABLE ${fenced.join(", ")} IN SHARE ROW EXCLUSIVE MODE`);
  // One may have come until the lock was there: whoever comes behind it is refused.
  await refuseNodes(db, name);
  await run(db, functionOf(mark, name));
  for (const table of fenced) {
    await run(
      db,
      `CREATE OR REPLACE TRIGGER refuse_moved BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${table}
       FOR EACH STATEMENT EXECUTE FUNCTION refuse_moved()`,
    );
  }
}

export async function dropFence(db: Db): Promise<void> {
  for (const table of fenced) await run(db, `DROP TRIGGER IF EXISTS refuse_moved ON ${table}`);
  await run(db, "DROP FUNCTION IF EXISTS refuse_moved()");
}

/** functionOf raises error 25006, which a server raises that may not be written. */
function functionOf(mark: MoveMark, name: string): string {
  return `CREATE OR REPLACE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF current_setting('${setting}', true) IS DISTINCT FROM ${quoted(mark.id)} THEN
    RAISE EXCEPTION USING ERRCODE = '25006', MESSAGE = ${quoted(refusal(mark, name) ?? "")};
  END IF;
  RETURN NULL;
END $body$`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''").replaceAll("$body$", "$ body $")}'`;
}

/** refuseNodes throws a StorageError where nodes live. */
export async function refuseNodes(db: Db, name: string): Promise<void> {
  const { rows } = await sql<{
    nodes: number;
  }>`SELECT count(*) AS nodes FROM nodes WHERE alive_until > now_ms()`.execute(db);
  const nodes = rows[0]?.nodes ?? 0;
  if (nodes === 0) return;
  throw new StorageError(
    `${nodes === 1 ? "a gateway works" : `${nodes} gateways work`} on the database ${name}. Stop all of them first; one that was killed ` +
      "counts for a minute and a half",
  );
}
