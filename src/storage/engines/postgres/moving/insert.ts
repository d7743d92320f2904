/** Adds many rows in one statement, whose only value is all of them as JSON. */
import { type Kysely, sql } from "kysely";
import { isUnkeptText, StorageError } from "../../../../runtime/write-trouble.ts";
import type { Values } from "../../move-end.ts";
import type { Kind, TableShape } from "../../tables/shape.ts";

const types: Readonly<Record<Kind, string>> = {
  text: "text",
  integer: "integer",
  bigint: "bigint",
  bytes: "bytea",
  serial: "bigint",
};

/** insertRows throws a StorageError for a row with a character that Postgres does not keep. */
export async function insertRows(db: Kysely<unknown>, table: TableShape, rows: readonly Values[]): Promise<void> {
  const columns = Object.entries(table.columns);
  const names = columns.map(([column]) => column).join(", ");
  const typed = columns.map(([column, { kind }]) => `${column} ${types[kind]}`).join(", ");
  const insert = sql`INSERT INTO ${sql.table(table.name)} (${sql.raw(names)})
    SELECT ${sql.raw(names)} FROM json_to_recordset(${asJson(table, rows)}::json) AS r(${sql.raw(typed)})`;
  try {
    await insert.execute(db);
  } catch (error) {
    throw isUnkeptText(error) ? unkept(table, rows, error) : error;
  }
}

/** asJson writes rows as a list of objects, bytes in the form that Postgres reads. */
function asJson({ columns }: TableShape, rows: readonly Values[]): string {
  const ofBytes = Object.entries(columns).flatMap(([column, { kind }]) => (kind === "bytes" ? [column] : []));
  if (ofBytes.length === 0) return JSON.stringify(rows);
  const text = (value: unknown) => (value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : value);
  return JSON.stringify(
    rows.map((row) => ({ ...row, ...Object.fromEntries(ofBytes.map((column) => [column, text(row[column])])) })),
  );
}

function unkept({ name, key }: TableShape, rows: readonly Values[], cause: unknown): StorageError {
  const row = rows.find((values) => Object.values(values).some((value) => String(value).includes("\0"))) ?? {};
  const [column = ""] = Object.entries(row).find(([, value]) => String(value).includes("\0")) ?? [];
  const which = key.map((part) => String(row[part])).join(" ");
  return new StorageError(
    `${column} of ${which} in ${name} has the character NUL, which Postgres does not keep. Give it another value, and repeat the command`,
    { cause },
  );
}
