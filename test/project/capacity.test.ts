/**
 * What docs/capacity.md says of the room that things take on disk is measured here, in a database of its own for each; what it
 * says of CPU is what the bench has saved.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import type { Capture } from "../../src/storage/money/contract.ts";
import { openStorage, type Storage, type Stores } from "../../src/storage/storage.ts";
import { now } from "../support/gateway.ts";
import { directMoney } from "../support/money/direct.ts";
import { root, tableWith } from "../support/pages.ts";

/** How many of each are written: enough that pages of the database are full. */
const count = 5_000;
const hour = 3_600_000;

interface Owner {
  readonly accountId: string;
  readonly keyId: string;
}

/** Writes `count` of one thing, in one transaction. */
type Write = (storage: Storage, owner: Owner) => Promise<void>;

/** Writes the only calls of their months, which are deleted when all are there. */
const deleted = captured((i) => Date.UTC(2026, i));

/** Writes the things that the page's rows begin with. */
const writers: Readonly<Record<string, Write>> = {
  "a call, with the sums that it is part of": captured((i) => now + i * 30),
  "a call, where each is of another hour": captured((i) => now + i * hour),
  "a key's charges of a month after `retention`, with an hour of usage": deleted,
  "an API key": stored(({ keys }, { accountId }, i) =>
    issueKey(keys, { accountId, name: `service ${i}`, admin: false, now: now + i, maxKeys: count * 2 }),
  ),
  "a recharge, grant or refund": stored(({ entries }, { accountId }, i) =>
    entries.record({ id: newId("led", now + i), accountId, kind: 3, amount: 1, note: "invoice 17", now: now + i }),
  ),
  "an audit event": stored(({ auditEvents }, { accountId, keyId }, i) =>
    auditEvents.insert({
      ...{ id: newId("act", now + i), created_at: now + i, action: "KeyService.UpdateKey" },
      ...{ actor_kind: "user", actor_id: newId("usr", now), account_id: accountId, subject: keyId },
      ...{ details: '{"id":"key_1m8ay2axc7a2as4y76rstycnn","disabled":true}', refused: "", address: "203.0.113.7" },
    }),
  ),
};

function captured(at: (i: number) => number): Write {
  return async (storage, owner) =>
    directMoney(storage).captureAll(Array.from({ length: count }, (_, i) => endedCall(owner, at(i))));
}

function stored(write: (stores: Stores, owner: Owner, i: number) => Promise<unknown>): Write {
  return (storage, owner) =>
    storage.transact(async (stores) => {
      for (let i = 0; i < count; i++) await write(stores, owner, i);
    });
}

function endedCall({ accountId, keyId }: Owner, at: number): Capture {
  const of = { account_id: accountId, key_id: keyId, operation: "chat", model: "gpt-5.1", upstream: "openai" };
  const used = { input: 1210, cache_read: 800, cache_write: 0, output: 370, reasoning: 120, characters: 0 };
  const times = { created_at: at, duration_ms: 4900, first_byte_ms: 730 };
  return { id: newId("req", at), ...of, ...used, ...times, outcome: 1, estimated: 0, cost: 5979 };
}

async function bytesOf(write: Write): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "capacity-test-"));
  const file = join(folder, "gateway.db");
  const storage = await openStorage(file);
  const accountId = newId("acc");
  await storage.accounts.insert({ id: accountId, name: "one", created_at: now, postpaid: 1 });
  const { key } = await issueKey(storage.keys, { accountId, name: "one", admin: false, now });
  const sizeOf = () => {
    const sqlite = new Sqlite(file);
    sqlite.pragma("wal_checkpoint(TRUNCATE)");
    const [pages, free, size] = ["page_count", "freelist_count", "page_size"].map((name) =>
      sqlite.pragma(name, { simple: true }),
    );
    sqlite.close();
    return (Number(pages) - Number(free)) * Number(size);
  };
  const before = sizeOf();
  await write(storage, { accountId, keyId: key.id });
  if (write === deleted)
    while ((await storage.retention.forgetRequests(Date.UTC(2026, count), newId("req", Date.UTC(2026, count)))) > 0);
  const bytes = (sizeOf() - before) / count;
  await storage.close();
  await rm(folder, { recursive: true });
  return bytes;
}

test.each(tableWith("docs/capacity.md", "load", "CPU, µs", "of"))(
  "%s takes %s µs of %s",
  (load = "", said = "", of = "") => {
    const column = of.startsWith("a chunk") ? "CPU µs/chunk" : "CPU µs/request";
    const measured = benched(load, column);
    expect(measured / Number(said), `${measured} µs`).toBeGreaterThan(2 / 3);
    expect(measured / Number(said), `${measured} µs`).toBeLessThan(4 / 3);
  },
);

/** Returns what the bench has saved of the gateway on a load. */
function benched(load: string, column: string): number {
  const lines = readFileSync(join(root, "bench/results.md"), "utf8").split("\n");
  const cells = (line = "") => line.split("|").map((cell) => cell.trim());
  const at = cells(lines.find((line) => line.startsWith("| load | target"))).indexOf(column);
  const row = lines.map(cells).find(([, name = "", target]) => name.startsWith(`${load}:`) && target === "gateway");
  return Number(row?.[at]?.replaceAll(",", ""));
}

const rows = tableWith("docs/capacity.md", "what", "bytes each", "a million");

test("every row is measured", () => {
  expect(rows.map(([what]) => what)).toEqual(Object.keys(writers));
});

test.each(rows.map(([what = "", bytes = "", million = ""]) => [what, bytes, million] as const))(
  "%s takes %s bytes",
  async (what, told, million) => {
    const bytes = await bytesOf(writers[what] as (typeof writers)[string]);
    const said = Number(told.replaceAll(",", ""));
    expect(bytes / said, `${bytes.toFixed(0)} bytes`).toBeGreaterThan(0.85);
    expect(bytes / said, `${bytes.toFixed(0)} bytes`).toBeLessThan(1.15);
    expect(million).toBe(`${said} MB`);
  },
);
