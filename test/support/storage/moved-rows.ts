/** Reads all rows of all tables that move, of either engine, in the same form. */
import Sqlite from "better-sqlite3";
import { movedTables } from "../../../src/storage/moving/tables.ts";
import { query } from "./postgres.ts";

export type Rows = Readonly<Record<string, readonly string[]>>;

export function rowsInFile(path: string): Rows {
  const sqlite = new Sqlite(path, { readonly: true });
  try {
    const entries = statements().map(([name, sql]) => [name, sqlite.prepare(sql).all().map(textOf)] as const);
    return Object.fromEntries(entries);
  } finally {
    sqlite.close();
  }
}

export async function rowsAt(url: string): Promise<Rows> {
  const entries: [string, string[]][] = [];
  for (const [name, sql] of statements()) entries.push([name, (await query(url, sql)).map(textOf)]);
  return Object.fromEntries(entries);
}

function statements(): [name: string, sql: string][] {
  return movedTables.map(({ name, columns, key }) => [
    name,
    `SELECT ${Object.keys(columns).join(", ")} FROM ${name} ORDER BY ${key.join(", ")}`,
  ]);
}

function textOf(row: unknown): string {
  return JSON.stringify(row, (_, value: unknown) =>
    value instanceof Uint8Array ? `0x${Buffer.from(value).toString("hex")}` : value,
  );
}
