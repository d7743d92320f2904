/** `model-gateway compact`: the file becomes as small as what is in it, and nothing else changes. */
import { statSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRetention } from "../../src/composition/retention.ts";
import { firstIdAt } from "../../src/runtime/ids.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { modelGateway, temporaryFolder } from "../support/command.ts";

const hourMs = 3_600_000;
const begin = Date.UTC(2026, 0, 1);
const calls = 60_000;
/** An hour of calls is kept of ten days. */
const now = begin + 10 * 24 * hourMs;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let path: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  path = join(folder.path, "gateway.db");
});

afterEach(() => folder.remove());

/** Calls of two keys over ten days, with their hours, as the ledger leaves them. */
async function fill(): Promise<void> {
  await (await openStorage(path)).close();
  const sqlite = new Sqlite(path);
  sqlite.function("id_at", (i) => idAt(Number(i)));
  const every = Math.floor((10 * 24 * hourMs) / calls);
  sqlite.exec(`BEGIN;
    INSERT INTO accounts (id, name, created_at, balance, recharged) VALUES ('acc_1', 'one', 1, 9000000, 9000000 + 7 * ${calls});
    INSERT INTO ledger_entries (id, account_id, kind, amount, created_at) VALUES ('led_1', 'acc_1', 1, 9000000 + 7 * ${calls}, 1);
    INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, created_at, spent)
      VALUES ('key_0', 'acc_1', 'k', 'a', 'm', 1, 7 * ${calls / 2}), ('key_1', 'acc_1', 'k', 'b', 'm', 1, 7 * ${calls / 2});
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${calls})
    INSERT INTO requests (id, account_id, key_id, operation, model, upstream, outcome, input, output, cost, created_at, duration_ms)
      SELECT id_at(i), 'acc_1', 'key_' || (i % 2), 'chat', 'm', 'u', 1, 21, 17, 7, ${begin} + i * ${every}, 9 FROM n;
    INSERT INTO usage_hours (account_id, hour, key_id, model, requests, input, output, cost)
      SELECT account_id, created_at - created_at % ${hourMs}, key_id, model, count(*), sum(input), sum(output), sum(cost)
      FROM requests GROUP BY 1, 2, 3, 4;
    COMMIT`);
  sqlite.close();

  function idAt(i: number): string {
    return `${firstIdAt("req", begin + i * every)}c${i.toString(32).padStart(15, "0")}`;
  }
}

async function forget(storage: Storage): Promise<void> {
  const { retention: store } = storage;
  const fail = (error: unknown) => {
    throw error;
  };
  const job = createRetention({
    store,
    settings: () => ({ retention: { requestsMs: hourMs, auditMs: undefined } }),
    clock: () => now,
    onError: fail,
  });
  await job.run();
  await job.close();
}

const compact = () => modelGateway(["compact"], { DATA_DIR: folder.path });

test("forgotten calls leave an entry for each key and month, and the file shrinks to what is left", async () => {
  await fill();
  const full = statSync(path).size;
  expect(full).toBeGreaterThan(10_000_000);
  const storage = await openStorage(path);
  expect(await storage.reconcile({ now })).toMatchObject({ requests: calls, provedBefore: 0, findings: [] });
  // All but the calls of the last hour, which may have others that end late.
  const again = { requests: calls / 240, provedBefore: calls - calls / 240, findings: [] };
  expect(await storage.reconcile({ now })).toMatchObject(again);
  await forget(storage);
  const kept = await storage.requests.page({ accountId: "acc_1" }, undefined, 10_000);
  expect(kept.length).toBe(calls / 240);
  const charges = await storage.entries.page("acc_1", { kinds: [4], limit: 3000 });
  const folded = charges.filter(({ calls }) => calls !== null);
  expect(folded.map(({ amount, calls }) => [amount, calls])).toEqual([
    [-7 * (folded[0]?.calls ?? 0), (calls - kept.length) / 2],
    [-7 * (folded[1]?.calls ?? 0), (calls - kept.length) / 2],
  ]);
  const refused = await compact();
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("Stop it first") });
  await storage.close();
  const done = await compact();
  expect(done).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Compacted .*: \d+ kB, it was \d+\.\d MB/) });
  expect(statSync(path).size).toBeLessThan(1_000_000);
  const proof = await modelGateway(["reconcile", "--full", "--json"], { DATA_DIR: folder.path });
  expect([proof.code, JSON.parse(proof.stdout)]).toEqual([
    0,
    expect.objectContaining({ holds: true, calls: kept.length, entries: kept.length + 3, findings: [] }),
  ]);
});

test("a file that is no database is left as it is", async () => {
  expect(await compact()).toMatchObject({ code: 2, stderr: expect.stringContaining("there is no database") });
});
