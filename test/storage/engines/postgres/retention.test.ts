/**
 * Old calls are forgotten by several nodes at once, while calls are charged, the sums are proved and nodes are killed: every charge is in one
 * place, and every sum stays. A node whose clock is wrong forgets nothing that is kept.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { firstIdAt } from "../../../../src/runtime/ids.ts";
import { chatStatus, modelGateway, startServer, temporaryFolder } from "../../../support/command.ts";
import { eventually } from "../../../support/eventually.ts";
import { fillFolder, type MovingData } from "../../../support/storage/moving-data.ts";
import { type PostgresServer, postgresPrograms, query, startPostgres } from "../../../support/storage/postgres.ts";

const calls = 40_000;

describe.skipIf(!postgresPrograms)("nodes that forget calls", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let postgres: PostgresServer;
  let data: MovingData;
  let filled: string;
  let url: string;
  let made = 0;

  beforeAll(async () => {
    folder = await temporaryFolder();
    postgres = await startPostgres();
    filled = await postgres.createDatabase();
    data = await fillFolder(folder.path, calls);
    const moved = await modelGateway(["migrate-to", "--accept-findings", filled], { DATA_DIR: folder.path });
    expect(moved.code).toBe(0);
  });

  afterAll(async () => {
    await postgres.stop();
    await folder.remove();
  });

  beforeEach(async () => {
    url = new URL(`/copy_${++made}`, filled).href;
    const admin = new URL("/postgres", filled).href;
    await query(admin, `CREATE DATABASE copy_${made} TEMPLATE ${new URL(filled).pathname.slice(1)}`);
  });

  /** Starts a node that keeps calls for so many days, whose clock is ahead by some milliseconds. */
  async function node(days: number, aheadMs = 0) {
    const file = join(folder.path, `node-${++made}.yaml`);
    writeFileSync(file, `embedded_models: true\nretention: { requests_days: ${days}, audit_days: ${days} }\n`);
    const shift = `const now = Date.now; Date.now = () => now() + ${aheadMs};`;
    const import_ = aheadMs === 0 ? {} : { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shift)}` };
    return startServer(["--config", file], {
      ...{ DATABASE_URL: url, DATA_DIR: join(folder.path, `node-${made}`) },
      ...import_,
    });
  }

  const oldCalls = async () =>
    Number((await query(url, `SELECT count(*) AS n FROM requests WHERE key_id LIKE 'key_m_'`))[0]?.n);

  /** Returns what must not change, whatever is forgotten. */
  const sums = () =>
    query(
      url,
      `SELECT (SELECT sum(calls) FROM (SELECT count(*) AS calls FROM requests WHERE key_id LIKE 'key_m_'
          UNION ALL SELECT coalesce(sum(calls), 0) FROM ledger_entries WHERE key_id LIKE 'key_m_') c) AS calls,
        (SELECT sum(amount) FROM (SELECT -sum(cost) AS amount FROM requests WHERE key_id LIKE 'key_m_'
          UNION ALL SELECT sum(amount) FROM ledger_entries WHERE key_id LIKE 'key_m_') a) AS amount,
        (SELECT sum(requests) FROM usage_hours WHERE key_id LIKE 'key_m_') AS hours,
        (SELECT balance FROM accounts WHERE id = 'acc_1') AS balance`,
    );

  async function findings(): Promise<string[]> {
    const { stdout } = await modelGateway(["reconcile", "--full", "--json"], { DATABASE_URL: url });
    const { findings: found } = JSON.parse(stdout) as { findings: { kind: string; what: string }[] };
    // The data have one from the beginning.
    return found.filter(({ kind }) => kind !== "set_aside").map(({ what }) => what);
  }

  test("lose and count none twice, of two at once under load, one of which is killed, while the sums are proved", async () => {
    const before = await sums();
    const nodes = await Promise.all([node(1), node(1)]);
    let isOver = false;
    const statuses: number[] = [];
    const load = nodes.map(async ({ rootUrl }) => {
      while (!isOver) statuses.push(await chatStatus(rootUrl, data.apiKey).catch(() => 0));
    });
    const proofs: string[][] = [];
    const proving = (async () => {
      while (!isOver) proofs.push(await findings());
    })();
    await eventually(async () => expect(await oldCalls()).toBeLessThan(calls * 0.7));
    await nodes[1]?.server.stop("SIGKILL");
    const third = await node(1);
    await eventually(async () => expect(await oldCalls()).toBe(0));
    isOver = true;
    await Promise.all([proving, ...load]);
    for (const { server } of [nodes[0], third]) expect((await server.stop()).code).toBe(0);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(20);
    expect(new Set(statuses.filter((status) => status !== 0))).toEqual(new Set([200]));
    expect(proofs.flat()).toEqual([]);
    expect(await findings()).toEqual([]);
    expect(await sums()).toEqual(before);
    const entries = await query(url, "SELECT key_id, calls FROM ledger_entries WHERE key_id LIKE 'key_m_' ORDER BY 1");
    expect(entries).toEqual(["key_m0", "key_m1"].map((key_id) => ({ key_id, calls: calls / 2 })));
  }, 120_000);

  test("forget none that are kept, and stamp calls with the right day, where the clock of one is years ahead", async () => {
    // What is forgotten last shows that all is over.
    await query(url, `INSERT INTO acts SELECT (jsonb_populate_record(a, '{"id":"act_0"}')).* FROM acts a LIMIT 1`);
    const young = `SELECT count(*)::int AS n FROM acts WHERE id > '${firstIdAt("act", Date.now() - 365 * 86_400_000)}'`;
    const acts = await query(url, young);
    expect(acts).not.toEqual([{ n: 0 }]);
    const ahead = await node(3650, 20 * 365 * 86_400_000);
    const begun = Date.now();
    expect(await chatStatus(ahead.rootUrl, data.apiKey)).toBe(200);
    await eventually(async () => expect(await query(url, "SELECT 1 FROM acts WHERE id = 'act_0'")).toEqual([]));
    const { stderr } = await ahead.server.stop();
    expect(stderr).toContain("this machine's clock differs from the database's, which counts");
    expect(await oldCalls()).toBe(calls);
    expect(await query(url, young)).toEqual(acts);
    const [last] = await query(url, "SELECT max(created_at) AS at FROM requests");
    expect(Math.abs((last?.at as number) - begun)).toBeLessThan(60_000);
    expect(await findings()).toEqual([]);
  });
});
