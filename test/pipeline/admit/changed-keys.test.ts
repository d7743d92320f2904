/**
 * A change of one key or account has a node read that alone again, of however many that it knows; and a revoked key is refused everywhere
 * within a second, with or without notifications.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { defaultTiers } from "../../../src/call/tiers.ts";
import type { Ledger } from "../../../src/ledger/contract.ts";
import { createKnownKeys, type KnownKeys } from "../../../src/pipeline/admit/known-keys.ts";
import { openStorage, type Storage } from "../../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../../src/storage/storage-on-postgres.ts";
import { temporaryFolder } from "../../support/command.ts";
import { eventually } from "../../support/eventually.ts";
import { timed } from "../../support/run/running-time.ts";
import { type PostgresServer, postgresPrograms, query, startPostgres } from "../../support/storage/postgres.ts";

/** Enough that those which a change is about are few of them. */
const count = 2_000;
const accounts = 100;
/** What tiers there are. */
const settings = { tiers: defaultTiers };
const now = Date.UTC(2026, 0, 2);
const hashOf = (n: number) => `hash ${n}`;
const accountOf = (n: number) => `acc_${n % accounts}`;

/** The rows of all accounts and keys, as statements that both engines take. */
function statements(keys = count): string[] {
  const rows = (of: number, row: (n: number) => string) => Array.from({ length: of }, (_, n) => row(n)).join(", ");
  return [
    `INSERT INTO accounts (id, name, created_at, balance, held, recharged, postpaid) VALUES
      ${rows(accounts, (n) => `('acc_${n}', 'a${n}', 1, 1000, 0, 1000, 0)`)}`,
    `INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, created_at) VALUES
      ${rows(keys, (n) => `('key_${n}', '${accountOf(n)}', 'k', '${hashOf(n)}', 'm', 1)`)}`,
  ];
}

/** Node is what a gateway knows of keys, and how often it has asked its database for any. */
interface Node {
  readonly storage: Storage;
  readonly known: KnownKeys;
  asked(): number;
}

function nodeOver(storage: Storage): Node {
  let asked = 0;
  const ledger = { flushCallsOf: () => false, credit: { learn: () => {}, remaining: () => undefined } };
  const known = createKnownKeys({
    keys: {
      findBySecretHash(...of) {
        asked++;
        return storage.keys.findBySecretHash(...of);
      },
    },
    settings: () => settings,
    ledger: ledger as unknown as Ledger,
    changes: storage,
  });
  return { storage, known, asked: () => asked };
}

/** Has every key call once. Returns how many were found, and how many were read for it. */
async function callAll({ known, asked }: Node, keys = count): Promise<{ found: number; read: number }> {
  const before = asked();
  let found = 0;
  for (let from = 0; from < keys; from += 500) {
    const some = Array.from({ length: 500 }, (_, i) => known.find(hashOf(from + i), now));
    for (const one of await Promise.all(some)) if (one) found++;
  }
  return { found, read: asked() - before };
}

const all = { found: count, read: 0 };

/** Waits until a node has seen all changes. */
async function quiet({ storage }: Node): Promise<void> {
  await delay(700);
  storage.version();
}

async function proveEachAlone(one: Node, other: Node): Promise<void> {
  const both = [one, other] as const;
  for (const node of both) {
    await quiet(node);
    expect(await callAll(node)).toEqual({ found: count, read: count });
    expect(await callAll(node)).toEqual(all);
  }
  const [, { runningMs }] = await timed(async () => {
    expect(await one.storage.keys.revoke("key_7", now)).toBe(true);
    expect(await one.known.find(hashOf(7), now)).toBeUndefined();
    await eventually(async () => expect(await other.known.find(hashOf(7), now)).toBeUndefined());
  });
  expect(runningMs).toBeLessThan(1000);
  await quiet(one);
  expect(await callAll(one)).toMatchObject({ found: count - 1 });
  // The key itself was read when it was refused; all others are known still.
  expect(await callAll(other)).toEqual({ found: count - 1, read: 0 });
  expect(other.asked()).toBe(count + 1);

  // A change of an account is one of its keys.
  await one.storage.accounts.update("acc_9", { suspended_at: 5 });
  await quiet(other);
  // And the secret that is refused: which keys there are may be another matter.
  expect(await callAll(other)).toEqual({ found: count - 1, read: count / accounts + 1 });
  const known = await other.known.find(hashOf(109), now);
  expect(known?.key.account_suspended_at).toBe(5);
}

describe("of 2,000 keys that a node knows, the one that was revoked is read again, and no other:", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    folder = await temporaryFolder();
  });

  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  afterAll(() => folder.remove());

  function opened(storage: Storage): Node {
    closing.push(() => storage.close());
    return nodeOver(storage);
  }

  test("on SQLite, by two processes", async () => {
    const path = join(folder.path, "gateway.db");
    const one = opened(await openStorage(path));
    const sqlite = new Sqlite(path);
    for (const sql of statements()) sqlite.exec(sql);
    const other = opened(await openStorage(path));
    await proveEachAlone(one, other);
    // What is written of other things has nobody read a key again.
    sqlite.exec("UPDATE accounts SET held = 1 WHERE id = 'acc_1'; UPDATE api_keys SET last_used_at = 5");
    sqlite.close();
    expect(await callAll(other)).toEqual({ found: count - 1, read: 0 });
  });

  test("on SQLite, while another process keeps the file locked after a change: other keys wait for nothing", async () => {
    const path = join(folder.path, "locked.db");
    const one = opened(await openStorage(path));
    const sqlite = new Sqlite(path);
    for (const sql of statements()) sqlite.exec(sql);
    await quiet(one);
    await callAll(one);
    sqlite.exec("UPDATE api_keys SET name = 'other' WHERE id = 'key_3'");
    sqlite.exec("BEGIN IMMEDIATE");
    await quiet(one);
    for (const n of [1, 2, 4]) expect(one.known.find(hashOf(n), now)).toMatchObject({ key: { id: `key_${n}` } });
    sqlite.exec("ROLLBACK");
    sqlite.close();
  });

  test("and where more has changed than is named, all are", async () => {
    const path = join(folder.path, "many.db");
    const one = opened(await openStorage(path));
    const sqlite = new Sqlite(path);
    for (const sql of statements(1500)) sqlite.exec(sql);
    await quiet(one);
    await callAll(one, 1500);
    sqlite.exec("UPDATE api_keys SET name = 'other'");
    expect(sqlite.prepare("SELECT count(*) FROM changed_names").pluck().get()).toBeLessThanOrEqual(1000);
    sqlite.close();
    await quiet(one);
    expect(await callAll(one, 1500)).toEqual({ found: 1500, read: 1500 });
  });

  describe.skipIf(!postgresPrograms)("on Postgres,", () => {
    let postgres: PostgresServer;

    beforeAll(async () => {
      postgres = await startPostgres();
    });

    afterAll(() => postgres.stop());

    async function nodesOn(url: string): Promise<[Node, Node]> {
      const open = async () =>
        opened(
          await openStorageOnPostgres({
            ...{ url, dataDir: (await folderOf()).path, poolSize: 4, version: "test", isSynced: false },
            onError: () => {},
          }),
        );
      return [await open(), await open()];
    }

    async function folderOf() {
      const made = await temporaryFolder();
      closing.push(made.remove);
      return made;
    }

    test("by two nodes, with notifications cut", async () => {
      const url = await postgres.createDatabase();
      const nodes = await nodesOn(url);
      const [row] = await query(url, "SELECT pg_get_functiondef('note_change()'::regprocedure) AS text");
      const silent = String(row?.text).replace(/PERFORM pg_notify\([^;]*;/, "");
      expect(silent).not.toBe(row?.text);
      await query(url, silent);
      for (const sql of statements()) await query(url, sql);
      await proveEachAlone(...nodes);
    });

    test("a change of more than a hundred names none, and all are read again", async () => {
      const url = await postgres.createDatabase();
      const [one] = await nodesOn(url);
      for (const sql of statements(1000)) await query(url, sql);
      await quiet(one);
      await callAll(one, 1000);
      await query(url, "UPDATE api_keys SET name = 'other'");
      const [row] = await query(url, "SELECT count(*) AS count, max(number) AS number FROM changed_names");
      expect(row?.count).toBeLessThan(400);
      await quiet(one);
      expect(await callAll(one, 1000)).toEqual({ found: 1000, read: 1000 });
    });
  });
});
