/** Deadlines of what processes have under way: those of a process that has ended pass at once, and no others. */
import { beforeEach, expect, test } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import { knownEnd } from "../../src/storage/answers/node-deadlines.ts";
import type { Storage } from "../../src/storage/storage.ts";
import { dialect, newTestDatabase, type TestDatabase } from "../support/storage/test-database.ts";

const now = Date.UTC(2026, 0, 2);
const later = now + 60_000;
let database: TestDatabase;
let storage: Storage;

beforeEach(async () => {
  database = await newTestDatabase();
  storage = await database.open();
  await storage.accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
  return async () => {
    await storage.close();
    await database.remove();
  };
});

const claimOf = (node: string, requestId: string, expiresAt = later) => ({
  ...{ accountId: "acc_1", keyHash: `key of ${requestId}`, requestHash: "r", requestId, node, now, expiresAt },
});

const responseOf = (
  node: string,
  id: string,
  more: { readonly alive_until?: number; readonly is_over?: number } = {},
) => ({
  ...{ id, account_id: "acc_1", node, created_at: now, expires_at: later, alive_until: later, response: "{}" },
  ...more,
});

test("claims of processes that have ended may be made anew, but for those that were answered", async () => {
  const { replays } = storage;
  for (const claim of [claimOf("a", "req_1"), claimOf("a", "req_2"), claimOf("b", "req_3"), claimOf("c", "req_4")])
    expect(await replays.claim(claim)).toEqual({ kind: "claimed" });
  expect(await replays.claim(claimOf("d", "req_5", now - 1))).toEqual({ kind: "claimed" });
  expect((await replays.running(now)).sort()).toEqual(["a", "b", "c"]);
  await replays.endOf(["a", "c", "d", "nobody"], now);
  expect(await replays.running(now)).toEqual(["b"]);
  expect(await replays.claim(claimOf("e", "req_1"))).toEqual({ kind: "claimed" });
  expect(await replays.claim(claimOf("e", "req_3"))).toEqual({ kind: "running" });
});

test("a process may live whose lock is kept, and one of which nothing is known where deadlines mean little", async () => {
  const errors: unknown[] = [];
  const shown = { node: newId("nod"), clock: Date.now, onError: (error: unknown) => void errors.push(error) };
  const end = storage.showProcess({ ...shown, post: async () => {} });
  expect(await storage.mayLive(shown.node)).toBe(true);
  end();
  if (dialect === "postgres") {
    await database.exec(`INSERT INTO nodes (node, version, started_at, steady_since, alive_until)
      VALUES ('n', '', 0, now_ms(), now_ms() + 90000)`);
    // It may have had no time yet to move its deadline on.
    expect(await storage.mayLive(shown.node)).toBe(true);
    // The clock was set forward by more than a minute, and the node had no time yet to move its deadline on.
    await database.exec("UPDATE nodes SET steady_since = now_ms() - 200000, alive_until = now_ms() + 25000");
    expect(await storage.mayLive(shown.node)).toBe(true);
    await database.exec("UPDATE nodes SET steady_since = now_ms() - 31000, alive_until = now_ms() + 90000");
  }
  expect(await storage.mayLive(shown.node)).toBe(false);
  expect(errors).toEqual([]);
});

test("responses of processes that have ended have failed, but for those that are over", async () => {
  const { backgroundResponses } = storage;
  const rows = [
    ...[responseOf("a", "resp_1"), responseOf("a", "resp_2", { is_over: 1 }), responseOf("b", "resp_3")],
    ...[responseOf("c", "resp_4", { is_over: 1 }), responseOf("d", "resp_5", { alive_until: now })],
  ];
  for (const row of rows) await backgroundResponses.insert(row, 10);
  expect((await backgroundResponses.running(now)).sort()).toEqual(["a", "b"]);
  await backgroundResponses.endOf(["a", "c", "d"], now + 1);
  expect(await backgroundResponses.running(now + 1)).toEqual(["b"]);
  const deadlines = rows.map(async ({ id }) => (await backgroundResponses.find("acc_1", id, now))?.alive_until);
  expect(await Promise.all(deadlines)).toEqual([knownEnd, later, later, later, now]);
});
