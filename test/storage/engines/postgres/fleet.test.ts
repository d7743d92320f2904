/** Several nodes on one server, whose connections break: nothing is lost, nothing counts twice, nothing is overdrawn. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openSpool } from "../../../../src/storage/engines/postgres/books/spool.ts";
import { isConnectionError } from "../../../../src/storage/engines/postgres/errors.ts";
import { createSegments } from "../../../../src/storage/journal/segments.ts";
import type { Books, BooksOptions, JournalRecord } from "../../../../src/storage/money/books.ts";
import { timed } from "../../../support/run/running-time.ts";
import {
  begun,
  callOf,
  capture,
  ended,
  hold,
  holdOf,
  leaseOfAccount,
  now,
} from "../../../support/storage/books-stage.ts";
import {
  endWaitingCommits,
  keepCommits,
  type PostgresServer,
  postgresPrograms,
  serverAt,
  startPostgres,
} from "../../../support/storage/postgres.ts";
import { openPostgresStage, type PostgresStage } from "../../../support/storage/postgres-stage.ts";

describe.skipIf(!postgresPrograms)("nodes of a fleet on Postgres", () => {
  let postgres: PostgresServer;
  let folder: string;
  let t: PostgresStage;
  let url: string;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  beforeEach(async () => {
    url = await postgres.createDatabase();
    folder = mkdtempSync(join(tmpdir(), "gateway-spool-"));
    // A node that finds no connection for a while keeps its records here: each counts as told.
    const segments = createSegments(folder, false);
    t = await openPostgresStage(serverAt(url), (node, database) => openSpool(segments, node, database));
  });

  afterEach(async () => {
    expect(await t.faults()).toEqual([]);
    await t.close();
    rmSync(folder, { recursive: true });
  });

  const nodes = (count: number, recall?: BooksOptions["recall"]) =>
    Promise.all(Array.from({ length: count }, (_, i) => t.open(`nod_${"abcdefgh"[i]}`, recall)));

  /**
   * Breaks connections of nodes at random, until the returned function is called. Returns how many it broke. However slow the machine, it
   * waits after each until something more was done, which `done` counts.
   */
  function cutConnections(done: () => number): () => Promise<number> {
    let isOver = false;
    let cut = 0;
    const cutting = (async () => {
      while (!isOver) {
        const before = done();
        do await delay(15);
        while (done() === before && !isOver);
        const rows = await t.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%books_%' ORDER BY random() LIMIT 1`);
        cut += rows.length;
      }
    })();
    return async () => {
      isOver = true;
      await cutting;
      return cut;
    };
  }

  test("credit for exactly 300 calls answers exactly 300, of 900 at once on three nodes", async () => {
    await t.addAccount("acc_1", { balance: 300 * 50 });
    await t.addKey("key_1", "acc_1");
    const three = await nodes(3);
    const told = await Promise.all(
      three.map(async (books, n) => {
        const granted: (number | string)[] = [];
        for (let turn = 0; turn < 10; turn++) {
          const wants = Array.from({ length: 30 }, (_, i) => holdOf(`req_${n}_${turn}_${i}`, 50));
          granted.push(...(await hold(books, ...wants)));
        }
        return granted;
      }),
    );
    expect(told.flat().filter((one) => one === 50)).toHaveLength(300);
    expect(await t.account("acc_1")).toEqual({ balance: 15_000, held: 15_000 });
  });

  test("what was told is charged once, while connections are cut under holds, leases and charges", async () => {
    const accounts = ["acc_1", "acc_2", "acc_3"];
    for (const id of accounts) {
      await t.addAccount(id, { balance: 40_000_000 });
      await t.addKey(`key_${id.slice(4)}`, id);
    }
    const three = await nodes(3);
    const told = new Map<string, number>();
    const stopCutting = cutConnections(() => told.size);
    const until = performance.now() + 6000;
    let grown = 0;
    const calling = Promise.all(
      three.map(async (books, n) => {
        let [seq, calls] = [0, 0];
        while (performance.now() < until) {
          const account = accounts[calls % 3] as string;
          const names = { accountId: account, keyId: `key_${account.slice(4)}` };
          const leaseId = `nod_${n} ${account} ${calls}`;
          const exact = `req_${n}_${calls++}`;
          try {
            const asked = [
              holdOf(`${exact}_a`, 100, { ...names, lease: { id: leaseId, isOfKey: false } }),
              holdOf(exact, 70_000, names),
            ];
            const [leased, held] = await hold(books, ...asked);
            if (held === 70_000) {
              await capture(books, callOf(exact, 900, { account_id: account, key_id: names.keyId }), 70_000);
              told.set(exact, 900);
            }
            if (!String(leased).startsWith("leased")) continue;
            grown++;
            const taken = { leaseId, isOfKey: false };
            const cost = 1 + (calls % 90);
            const call = callOf(`${exact}_b`, cost, { account_id: account, key_id: names.keyId });
            const hold1 = { ...begun(call.id, 100, taken), ...names };
            await Promise.all([
              books.write({ seq: ++seq, at: now, entries: [hold1] }),
              books.write({ seq: ++seq, at: now, entries: [ended(call, taken)] }),
            ]);
            told.set(call.id, cost);
            await books.releaseLeases([leaseId]);
          } catch (error) {
            if (!isConnectionError(error)) throw error;
          }
        }
      }),
    );
    const cut = await calling.finally(stopCutting).then(stopCutting);
    expect(cut).toBeGreaterThan(20);
    expect(grown).toBeGreaterThan(20);
    const costs = async () => {
      const rows = await t.query("SELECT id, cost FROM requests");
      return new Map(rows.map(({ id, cost }) => [id as string, cost as number]));
    };
    const uncharged = (charged: Map<string, number>) => [...told].filter(([id, cost]) => charged.get(id) !== cost);
    // What was told from a spool is written as soon as the database answers.
    await expect.poll(async () => uncharged(await costs())).toEqual([]);
    const charged = await costs();
    // What was not told may be charged, if it was on its way; but no call is twice in the sums, which `faults` proves.
    expect(charged.size - told.size).toBeLessThan(told.size);
  });

  test("a turn that is asked again under its number is decided once, and its lease grows once", async () => {
    await t.addAccount("acc_1", { balance: 1e9 });
    await t.addKey("key_1", "acc_1");
    const [books] = (await nodes(1)) as [Books];
    const letCommits = await keepCommits(url);
    const leased = hold(books, holdOf("req_1", 100, { lease: { id: "nod_a acc_1", isOfKey: false } }));
    await untilTrue(async () => (await endWaitingCommits(url)) > 0);
    await letCommits();
    const [told] = await leased;
    expect(told).toMatch(/^leased \d+$/);
    expect(await t.holds()).toEqual([{ id: "nod_a acc_1", amount: Number(String(told).replace("leased ", "")) }]);
  });

  test("a hold that another node's idle leases keep from is granted once those have come back", async () => {
    await t.addAccount("acc_1", { balance: 32_000 });
    await t.addKey("key_1", "acc_1");
    const taken = leaseOfAccount("nod_a");
    const records: JournalRecord[] = [
      { seq: 1, at: now, entries: [begun("req_1", 10, taken), ended(callOf("req_1", 4), taken)] },
    ];
    const asked: string[] = [];
    const one = await t.open("nod_a", (accountId) => {
      asked.push(accountId);
      return { records: records.splice(0), leases: [taken.leaseId] };
    });
    const other = await t.open("nod_b");
    expect(await hold(one, holdOf("req_0", 10, { lease: { id: taken.leaseId, isOfKey: false } }))).toEqual([
      "leased 1000",
    ]);
    const [held, { runningMs }] = await timed(() => hold(other, holdOf("req_2", 31_996)));
    expect(held).toEqual([31_996]);
    expect(runningMs).toBeLessThan(1000);
    expect(asked).toEqual(["acc_1"]);
    expect(await t.account("acc_1")).toEqual({ balance: 31_996, held: 31_996 });
  });

  test("a call that waits for leases which do not come back holds up no other, and is refused in the end", async () => {
    await t.addAccount("acc_1", { balance: 32_000 });
    await t.addKey("key_1", "acc_1");
    await t.addAccount("acc_2", { balance: 32_000 });
    await t.addKey("key_2", "acc_2");
    // This node gives nothing back.
    const one = await t.open("nod_a");
    const other = await t.open("nod_b");
    await hold(one, holdOf("req_0", 10, { lease: { id: leaseOfAccount("nod_a").leaseId, isOfKey: false } }));
    let isDecided = false;
    const waiting = hold(other, holdOf("req_1", 31_500), holdOf("req_2", 5, { accountId: "acc_2", keyId: "key_2" }));
    const decided = waiting.finally(() => {
      isDecided = true;
    });
    for (let i = 0; i < 20; i++)
      expect(await hold(other, holdOf(`req_2${i}`, 5, { accountId: "acc_2", keyId: "key_2" }))).toEqual([5]);
    expect(isDecided).toBe(false);
    expect(await decided).toEqual(["short of balance: 31000", 5]);
  });

  test("a call that nobody can pay is refused without waiting where no other node has leases", async () => {
    await t.addAccount("acc_1", { balance: 10 });
    await t.addKey("key_1", "acc_1");
    const [books] = (await nodes(1)) as [Books];
    await hold(books, holdOf("req_0", 1));
    const [, { runningMs }] = await timed(async () => {
      for (let i = 0; i < 20; i++) expect(await hold(books, holdOf("req_1", 100))).toEqual(["short of balance: 9"]);
    });
    expect(runningMs / 20).toBeLessThan(200);
  });

  test("an account that somebody keeps locked fails alone", async () => {
    for (const n of [1, 2]) {
      await t.addAccount(`acc_${n}`, { balance: 100 });
      await t.addKey(`key_${n}`, `acc_${n}`);
    }
    const [books] = (await nodes(1)) as [Books];
    const locker = await t.server.connect();
    await locker.query("BEGIN");
    await locker.query("SELECT 1 FROM accounts WHERE id = 'acc_1' FOR UPDATE");
    const two = { accountId: "acc_2", keyId: "key_2" };
    expect(await hold(books, holdOf("req_1", 5), holdOf("req_2", 5, two))).toEqual(["failed", 5]);
    await locker.query("ROLLBACK");
    locker.close();
    expect(await hold(books, holdOf("req_1", 5))).toEqual([5]);
  });
});

async function untilTrue(work: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await work()); tries++) {
    if (tries > 500) throw new Error("it never came");
    await delay(10);
  }
}
