/**
 * Data sets of any size, written in bulk without the stores: accounts with payments, keys, and calls as they would be
 * stored. Created once and kept in the cache.
 */
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import Sqlite from "better-sqlite3";
import { firstIdAt } from "../../src/runtime/ids.ts";
import { hashKeySecret } from "../../src/runtime/secrets.ts";
import { openStorage } from "../../src/storage/storage.ts";

export interface DataInit {
  readonly cache: string;
  /** folder is the gateway's folder, which gets the data. */
  readonly folder: string;
  readonly accounts: number;
  readonly keys: number;
  /** calls is the number of ended calls. */
  readonly calls?: number;
}

/** made is the version of the data sets: the schema may have changed since one was created. */
const made = "v3";
const mostAsked = 10_000;
const credit = 1_000_000_000_000_000;
/** begun is when the data begins, in milliseconds since 1970. */
const begun = Date.UTC(2026, 0, 1);

/**
 * openWithKeys gives a gateway's folder its data. Returns the secrets of at most 10,000 keys spread over all of them.
 */
export async function openWithKeys(init: DataInit): Promise<string[]> {
  const { cache, folder, keys } = init;
  const kept = resolve(cache, `data-${made}-${init.accounts}-${keys}-${init.calls ?? 0}.db`);
  if (!existsSync(kept)) await make(kept, init);
  mkdirSync(join(folder, "data"), { recursive: true });
  const file = join(folder, "data/gateway.db");
  // A run adds little to many calls, and a copy of them would be large.
  if (init.calls) symlinkSync(kept, file);
  else copyFileSync(kept, file);
  const asked = Math.min(keys, mostAsked);
  return Array.from({ length: asked }, (_, i) => secretOf(Math.floor((i * keys) / asked)));
}

/** keysOfClients returns a key for each client, spread over these; with fewer keys, several clients share one. */
export function keysOfClients(secrets: readonly string[], clients: number): string[] {
  return Array.from({ length: clients }, (_, i) => secrets[Math.floor((i * secrets.length) / clients)] as string);
}

async function make(kept: string, { cache, accounts, keys, calls = 0 }: DataInit): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const file = `${kept}.new`;
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
  await (await openStorage(file)).close();
  const sqlite = new Sqlite(file);
  for (const pragma of ["journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000"]) sqlite.pragma(pragma);
  sqlite.function("secret_hash", (i) => hashKeySecret(secretOf(Number(i))));
  sqlite.function("id_at", (prefix, i, salt) => idAt(String(prefix), Number(i), String(salt)));
  sqlite.exec(accountsSql(accounts, keys));
  if (calls > 0) fillCalls(sqlite, accounts, keys, calls);
  sqlite.pragma("journal_mode = DELETE");
  // A sample of many rows is enough.
  sqlite.exec("PRAGMA analysis_limit = 10000; ANALYZE");
  sqlite.close();
  renameSync(file, kept);
}

/** series builds a number series, which SQLite has in its shell only. */
const series = (count: number, from = 0) =>
  `WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${from + count})`;

const accountId = "id_at('acc', n.i % :accounts, 'a')";
const keyId = "id_at('key', n.i % :keys, 'k')";

function accountsSql(accounts: number, keys: number): string {
  const filled = (sql: string) => sql.replaceAll(":accounts", String(accounts)).replaceAll(":keys", String(keys));
  return filled(`BEGIN;
    INSERT INTO accounts (id, name, created_at, balance, recharged)
      ${series(accounts)} SELECT ${accountId}, 'bench ' || i, ${begun}, ${credit}, ${credit} FROM n;
    INSERT INTO ledger_entries (id, account_id, kind, amount, created_at)
      ${series(accounts)} SELECT id_at('led', i, 'r'), ${accountId}, 1, ${credit}, ${begun} FROM n;
    INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, created_at)
      ${series(keys)} SELECT ${keyId}, ${accountId}, 'bench', secret_hash(i), 'sk-…', ${begun} FROM n;
    COMMIT;`);
}

const callsAtOnce = 500_000;
/** msPerCall amounts to some thirty calls a second. */
const msPerCall = 30;

function fillCalls(sqlite: Sqlite.Database, accounts: number, keys: number, calls: number): void {
  const filled = (sql: string) => sql.replaceAll(":accounts", String(accounts)).replaceAll(":keys", String(keys));
  const at = `${begun} + n.i * ${msPerCall}`;
  for (let from = 0; from < calls; from += callsAtOnce) {
    const rows = series(Math.min(callsAtOnce, calls - from), from);
    sqlite.exec(
      filled(`BEGIN;
      INSERT INTO requests (id, account_id, key_id, operation, model, upstream, outcome, input, output, cost, created_at,
          duration_ms, first_byte_ms)
        ${rows} SELECT id_at('req', i, 'c'), ${accountId}, ${keyId}, 'chat', 'chat', 'whole', 1, 210, 170, 979, ${at},
          900, 300 FROM n;
      COMMIT;`),
    );
  }
}

function idAt(prefix: string, i: number, salt: string): string {
  return `${firstIdAt(prefix, begun + i * msPerCall)}${salt}${i.toString(32).padStart(15, "0")}`;
}

function secretOf(i: number): string {
  return `sk-${createHash("sha256").update(`bench ${i}`).digest("base64url")}`;
}
