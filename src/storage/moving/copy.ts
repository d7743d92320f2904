/**
 * Copies the rows of a table in the order of its key, some at a time. The rows and how far the table is are one transaction of the end that
 * they come to: so a copy that was ended anywhere, however that was, goes on behind the last row that is there.
 */
import { sql } from "kysely";
import type { MoveEnd, Values } from "../engines/move-end.ts";
import type { Database } from "../engines/scope.ts";
import type { TableShape } from "../engines/tables/shape.ts";
import { isUnbounded, rowsAtOnce } from "./tables.ts";

export interface Ends {
  readonly from: MoveEnd;
  readonly to: MoveEnd;
}

/** Copied is how far a table is. */
export interface Copied {
  readonly rows: number;
  /** ms is how long it took, in all runs, in milliseconds. */
  readonly ms: number;
}

interface Progress extends Copied {
  readonly after: readonly unknown[] | undefined;
  readonly isWhole: boolean;
}

/** copyTable copies what is missing. `onCopied` hears of each part; a signal ends it between two of them. */
export async function copyTable(
  { from, to }: Ends,
  table: TableShape,
  onCopied: (copied: Copied) => void,
  signal?: AbortSignal,
): Promise<Copied> {
  // Behind all that a command has written which was killed a moment ago.
  let at = await to.write((db) => progressOf(db, table));
  const most = rowsAtOnce(table);
  const readBehind = (after: Progress["after"]) => {
    const reading = readAfter(from.db, table, after, most);
    // Another part may fail first.
    reading.catch(() => {});
    return reading;
  };
  let reading = at.isWhole ? undefined : readBehind(at.after);
  while (reading) {
    signal?.throwIfAborted();
    const begun = performance.now();
    const rows = await reading;
    const last = rows.at(-1);
    const after = last ? table.key.map((column) => last[column]) : at.after;
    const isWhole = rows.length < most;
    reading = isWhole ? undefined : readBehind(after);
    const next = { after, isWhole, rows: at.rows + rows.length };
    at = await to.write(async (db) => {
      if (last) await to.insert(db, table, rows);
      const reached = { ...next, ms: at.ms + Math.round(performance.now() - begun) };
      await saveProgress(db, table, reached);
      return reached;
    });
    onCopied(at);
  }
  return at;
}

async function readAfter(
  db: Database,
  { name, key, columns }: TableShape,
  after: readonly unknown[] | undefined,
  most: number,
): Promise<readonly Values[]> {
  const names = sql.join(
    Object.keys(columns).map((column) =>
      isUnbounded(name, column) ? sql`CAST(${sql.ref(column)} AS text) AS ${sql.ref(column)}` : sql.ref(column),
    ),
  );
  const keys = sql.join(key.map((column) => sql.ref(column)));
  const behind = after === undefined ? sql`` : sql`WHERE (${keys}) > (${sql.join(after)})`;
  const query = sql<Values>`SELECT ${names} FROM ${sql.table(name)} ${behind} ORDER BY ${keys} LIMIT ${sql.lit(most)}`;
  return (await query.execute(db)).rows;
}

async function progressOf(db: Database, { name }: TableShape): Promise<Progress> {
  const row = await db.selectFrom("moved_tables").selectAll().where("name", "=", name).executeTakeFirst();
  if (!row) return { after: undefined, isWhole: false, rows: 0, ms: 0 };
  const after = row.after === null ? undefined : (JSON.parse(row.after) as unknown[]);
  return { after, isWhole: row.is_whole === 1, rows: row.rows, ms: row.ms };
}

async function saveProgress(db: Database, { name }: TableShape, { after, isWhole, rows, ms }: Progress): Promise<void> {
  const values = { after: after === undefined ? null : JSON.stringify(after), is_whole: Number(isWhole), rows, ms };
  await db
    .insertInto("moved_tables")
    .values({ name, ...values })
    .onConflict((conflict) => conflict.column("name").doUpdateSet(values))
    .execute();
}
