/** Old calls are forgotten on SQLite while two workers answer calls: every charge is in one place, every sum stays, each new call is there once. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { chatStatus, modelGateway, startServer, temporaryFolder } from "../../../support/command.ts";
import { eventually } from "../../../support/eventually.ts";
import { fillFolder } from "../../../support/storage/moving-data.ts";

const calls = 10_000;

test("workers that forget calls lose and count none twice under load", async () => {
  const folder = await temporaryFolder();
  const data = await fillFolder(folder.path, calls);
  const database = new Sqlite(join(folder.path, "gateway.db"), { readonly: true });
  const one = (sql: string) => database.prepare(sql).pluck().get() as number;
  const oldCalls = () => one(`SELECT count(*) FROM requests WHERE key_id LIKE 'key_m_'`);
  const sums = () => [
    one(`SELECT (SELECT count(*) FROM requests WHERE key_id LIKE 'key_m_')
      + (SELECT coalesce(sum(calls), 0) FROM ledger_entries WHERE key_id LIKE 'key_m_')`),
    one(`SELECT (SELECT coalesce(-sum(cost), 0) FROM requests WHERE key_id LIKE 'key_m_')
      + (SELECT coalesce(sum(amount), 0) FROM ledger_entries WHERE key_id LIKE 'key_m_')`),
    one(`SELECT sum(requests) FROM usage_hours WHERE key_id LIKE 'key_m_'`),
    one(`SELECT balance FROM accounts WHERE id = 'acc_1'`),
  ];
  const before = sums();
  // The journal may have a call of before, which a gateway books as it starts.
  const began = Date.now();
  const file = join(folder.path, "gateway.yaml");
  writeFileSync(file, "embedded_models: true\nretention: { requests_days: 1, audit_days: 1 }\n");
  const env = { DATA_DIR: folder.path };
  const { server, rootUrl } = await startServer(["--workers", "2", "--config", file], env);
  const statuses: number[] = [];
  let isOver = false;
  const load = [1, 2, 3, 4].map(async () => {
    while (!isOver) statuses.push(await chatStatus(rootUrl, data.apiKey).catch(() => 0));
  });
  try {
    await eventually(() => expect(oldCalls()).toBe(0));
    const told = statuses.length;
    await eventually(() => expect(statuses.length).toBeGreaterThan(told + 10));
  } finally {
    isOver = true;
    await Promise.all(load);
    expect((await server.stop()).code).toBe(0);
  }
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(sums()).toEqual(before);
  expect(one(`SELECT count(*) FROM requests WHERE created_at >= ${began}`)).toBe(statuses.length);
  database.close();
  const { stdout } = await modelGateway(["reconcile", "--full", "--json"], env);
  const { findings } = JSON.parse(stdout) as { findings: { kind: string; what: string }[] };
  // The data have one from the beginning.
  expect(findings.filter(({ kind }) => kind !== "set_aside")).toEqual([]);
  await folder.remove();
});
