/** A data folder with something in every table, as a gateway has left it that was killed: for moves of all data. */
import { copyFileSync, cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { firstIdAt } from "../../../src/runtime/ids.ts";
import type { Capture } from "../../../src/storage/columns.ts";
import { storedBudgets } from "../../../src/storage/money/budgets.ts";
import { openStorage, type Storage } from "../../../src/storage/storage.ts";
import { startFurnished } from "../dashboard/furnished.ts";
import { callRows, runStores } from "./stores-script.ts";

const hourMs = 3_600_000;
/** gone is a process that is gone by then. */
const gone = "nod_gone";

export interface MovingData {
  /** A key with credit, made by the gateway. */
  readonly apiKey: string;
  /** session is what the pages of the signed-in operator send. */
  readonly session: Readonly<Record<string, string>>;
}

/** Fills a folder, with so many calls besides. The call `req_running` holds credit: its process is gone. */
export async function fillFolder(folder: string, manyCalls = 0): Promise<MovingData> {
  const path = join(folder, "gateway.db");
  const gateway = await startFurnished();
  const prompts = { model: "embedded-chat", max_tokens: 5, prompt: ["Hello", "Good day", "Hi"] };
  await fetch(`${gateway.baseUrl}/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(prompts),
  });
  // All calls are over: what is copied is what a loss of power would leave, leases and journal included.
  for (const end of ["", "-wal", "-shm"])
    if (existsSync(gateway.database.path + end)) copyFileSync(gateway.database.path + end, path + end);
  // Without the accelerator of that name there is no journal.
  if (existsSync(`${gateway.database.path}.notes`))
    cpSync(`${gateway.database.path}.notes`, `${path}.notes`, { recursive: true });
  const session = { cookie: `gateway_session=${gateway.token}`, "x-gateway-session": "1" };
  await gateway.close();
  const storage = await openStorage(path);
  await runStores(storage, () => addCalls(storage));
  const link = { kind: 1, token_hash: "hash of a link", account_id: null, user_id: null, email: null, used_at: null };
  await storage.configurations.add({
    ...{ version: 1, document: '{"retries":{"attempts":2}}', created_at: 1, actor_kind: "command_line", actor_id: "" },
    ...{ note: null, changed: '["retries"]' },
  });
  await storage.links.insert({ id: "lnk_9", ...link, created_at: Date.now(), expires_at: Date.now() + 24 * hourMs });
  await storage.close();
  // Its lock is this process's, which lives.
  rmSync(join(`${path}.notes`, `${gone}.lock`), { force: true });
  if (manyCalls > 0) addManyCalls(path, manyCalls);
  const again = await openStorage(path);
  await again.reconcile();
  await again.close();
  addMarks(path);
  return { apiKey: gateway.apiKey, session };
}

/** Calls that the books charge, and one that holds credit, of a process that is gone then. */
async function addCalls(storage: Storage): Promise<void> {
  const books = storage.openBooks(true)({
    ...{ node: gone, clock: Date.now, recall: () => ({ records: [], leases: [] }) },
    onError: (error) => {
      throw error;
    },
  });
  const captures = callRows().map((row) => ({ call: row as Capture, most: row.cost }));
  const hold = {
    ...{ requestId: "req_running", accountId: "acc_a", keyId: "key_1", operation: "chat", model: "m0" },
    ...{ max: 100, min: 100, now: Date.now(), lease: undefined },
  };
  // What is charged from here on is summed for a budget, too.
  const budgets = storedBudgets([{ id: "bud_1", amount: 1e12, period: "month", rolling: false }]);
  await storage.accounts.update("acc_a", { budgets, time_zone: "Asia/Tokyo" });
  await books.decide(() => ({ records: [], leases: [], captures, releases: [], holds: [hold] }));
}

/** Calls of two keys over ten days, with their hours, as the ledger leaves them. */
function addManyCalls(path: string, count: number): void {
  const begin = Date.UTC(2026, 4, 1);
  const every = Math.floor((10 * 24 * hourMs) / count);
  const sqlite = new Sqlite(path);
  sqlite.function("id_at", (i) => {
    const n = Number(i);
    return `${firstIdAt("req", begin + n * every)}c${n.toString(32).padStart(15, "0")}`;
  });
  sqlite.exec(`BEGIN;
    INSERT INTO accounts (id, name, created_at, balance, recharged) VALUES ('acc_1', 'Überall 漢字', 1, 9000000, 9000000 + 7 * ${count});
    INSERT INTO ledger_entries (id, account_id, kind, amount, created_at) VALUES ('led_1_', 'acc_1', 1, 9000000 + 7 * ${count}, 1);
    INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, created_at, spent)
      VALUES ('key_m0', 'acc_1', 'k', 'a', 'm', 1, 7 * ${count / 2}), ('key_m1', 'acc_1', 'k', 'b', 'm', 1, 7 * ${count / 2});
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${count})
    INSERT INTO requests (id, account_id, key_id, operation, model, upstream, outcome, input, output, cost, created_at, duration_ms)
      SELECT id_at(i), 'acc_1', 'key_m' || (i % 2), 'chat', 'm', 'u', 1, 21, 17, 7, ${begin} + i * ${every}, 9 FROM n;
    INSERT INTO usage_hours (account_id, hour, key_id, model, requests, input, output, cost)
      SELECT account_id, created_at - created_at % ${hourMs}, key_id, model, count(*), sum(input), sum(output), sum(cost)
      FROM requests WHERE account_id = 'acc_1' GROUP BY 1, 2, 3, 4;
    COMMIT`);
  sqlite.close();
}

/** Adds what neither stores nor a young gateway write. */
function addMarks(path: string): void {
  const sqlite = new Sqlite(path);
  sqlite.exec(`INSERT INTO kept_from (kind, at, id) VALUES ('requests', 1000, 'req_0');
    INSERT INTO set_aside (node, seq, created_at, body) VALUES ('nod_x', 7, 5, '[]')`);
  sqlite.close();
}
