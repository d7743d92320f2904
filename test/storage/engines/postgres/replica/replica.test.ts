/** Usage is read from a replica as long as that has what the primary has; everything else, and without it all, from the primary. */
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { logTrouble } from "../../../../../src/composition/trouble-log.ts";
import { firstIdAt } from "../../../../../src/runtime/ids.ts";
import { createLag } from "../../../../../src/storage/engines/postgres/replica/lag.ts";
import type { Storage } from "../../../../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../../../../src/storage/storage-on-postgres.ts";
import { temporaryFolder } from "../../../../support/command.ts";
import { eventually } from "../../../../support/eventually.ts";
import { type PostgresServer, postgresPrograms, query, startPostgres } from "../../../../support/storage/postgres.ts";
import { type PostgresReplica, startReplica } from "../../../../support/storage/postgres-replica.ts";

const at = Date.UTC(2026, 10, 19, 4, 5);

describe("how far a replica is behind", () => {
  let time = 0;
  const lag = createLag(() => time);

  test("is known once it has anything that was seen of the primary", () => {
    lag.replicaAt(90);
    expect(lag.ms()).toBeUndefined();
    lag.primaryAt(100);
    lag.replicaAt(90);
    expect(lag.ms()).toBeUndefined();
    lag.replicaAt(100);
    expect(lag.ms()).toBe(0);
  });

  test("grows while it stands still, and not while the primary does", () => {
    time = 1000;
    lag.primaryAt(100);
    lag.replicaAt(100);
    expect(lag.ms()).toBe(0);
    for (time = 2000; time <= 5000; time += 1000) {
      lag.primaryAt(100 + time);
      lag.replicaAt(100);
    }
    expect(lag.ms()).toBe(5000);
    lag.replicaAt(100 + 4000);
    expect(lag.ms()).toBe(2000);
  });

  test("grows while nobody sees the primary, and begins anew with one that took over", () => {
    lag.replicaAt(100 + 5000);
    expect(lag.ms()).toBe(1000);
    time = 20_000;
    lag.replicaAt(100 + 5000);
    expect(lag.ms()).toBe(15_000);
    lag.primaryAt(50);
    expect(lag.ms()).toBeUndefined();
    lag.replicaAt(50);
    expect(lag.ms()).toBe(0);
  });

  test("is unknown of one that has what a primary that took over has not, also once that has as much", () => {
    const other = createLag(() => time);
    const look = (primary: number, replica: number) => {
      other.primaryAt(primary);
      other.replicaAt(replica);
      return [other.ms(), other.isAhead()];
    };
    expect(look(100, 110)).toEqual([0, false]);
    expect(look(110, 120)).toEqual([0, false]);
    expect(look(120, 130)).toEqual([0, false]);
    for (const primary of [40, 100, 129]) expect(look(primary, 130)).toEqual([undefined, true]);
    for (const primary of [131, 500]) expect(look(primary, 130)).toEqual([undefined, false]);
    // It was made anew of the new primary.
    expect(look(600, 600)).toEqual([0, false]);
  });
});

describe.skipIf(!postgresPrograms)("a streaming replica", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let postgres: PostgresServer;
  let replica: PostgresReplica;
  let url: string;
  let storage: Storage;
  const lines: string[] = [];
  const filter = { accountId: "acc_1", from: 0, to: 4e12, bucketMs: 3_600_000, byKey: false, byModel: false, limit: 5 };

  beforeAll(async () => {
    folder = await temporaryFolder();
    postgres = await startPostgres();
    url = await postgres.createDatabase();
    await (await open()).close();
    replica = await startReplica(postgres);
    storage = await open({ url: replica.urlOf(url), maxLagMs: 3000 });
    logTrouble({ storage, log: pino({ level: "info" }, { write: (line: string) => void lines.push(line) }) });
  });

  afterAll(async () => {
    await storage.close();
    await replica.stop();
    await postgres.stop();
    await folder.remove();
  });

  function open(of?: { readonly url: string; readonly maxLagMs: number }): Promise<Storage> {
    const options = { url, dataDir: folder.path, poolSize: 3, version: "test", isSynced: false, onError: () => {} };
    return openStorageOnPostgres({ ...options, replica: of });
  }

  const state = () => storage.database?.replica;
  const trouble = (of = storage) => of.database?.replica?.trouble();
  const isUsed = () => eventually(() => expect(trouble()).toBeUndefined());

  /** Adds a call, as the primary has it once it is charged. */
  const idOf = (n: number) => `${firstIdAt("req", at + n)}${String(n).padStart(16, "0")}`;
  const addCall = (n: number) =>
    query(
      url,
      `WITH call AS (INSERT INTO requests (id, account_id, created_at, key_id, operation, model, upstream, outcome, estimated, duration_ms)
         VALUES ($1, 'acc_1', ${at}, 'key_1', 'chat', 'm', 'u', 1, 0, 1) RETURNING 1)
       INSERT INTO usage_hours (account_id, hour, key_id, model, requests) VALUES ('acc_1', ${at - (at % 3_600_000)}, 'key_1', 'm', 1)
         ON CONFLICT (account_id, hour, key_id, model) DO UPDATE SET requests = usage_hours.requests + 1`,
      [idOf(n)],
    );

  /** Returns how many calls lists, sums, searches and exports have. */
  async function counts(): Promise<number[]> {
    const { requests } = storage;
    const of = { accountId: "acc_1" };
    const pages: string[] = [];
    for await (const page of requests.pages(of)) pages.push(...page.map(({ id }) => id));
    const [sum] = await requests.sums(filter);
    return [
      (await requests.page(of, undefined, 10)).length,
      (await requests.page({ ...of, model: "m" }, undefined, 10)).length,
      (await requests.pageOfAll({}, undefined, 10)).rows.length,
      pages.length,
      Number(sum?.requests ?? 0),
    ];
  }

  test("is read as long as it has caught up; a call by its id is the primary's", async () => {
    await addCall(1);
    await isUsed();
    await eventually(async () => expect(await counts()).toEqual([1, 1, 1, 1, 1]));
    const before = state()?.reads();
    // What it does not take in for a moment shows where was read.
    await query(replica.urlOf(url), "SELECT pg_wal_replay_pause()");
    await addCall(2);
    expect(await counts()).toEqual([1, 1, 1, 1, 1]);
    expect((await storage.requests.find("acc_1", idOf(2)))?.id).toBe(idOf(2));
    expect(state()?.reads()).toEqual({ replica: (before?.replica ?? 0) + 5, primary: before?.primary });
  });

  test("is not read once it is too far behind, until it has caught up", async () => {
    await eventually(() => expect(trouble()).toMatch(/^it is \d s behind$/));
    expect(state()?.lagSeconds()).toBeGreaterThan(3);
    expect(await counts()).toEqual([2, 2, 2, 2, 2]);
    await query(replica.urlOf(url), "SELECT pg_wal_replay_resume()");
    await isUsed();
    expect(state()?.lagSeconds()).toBeLessThan(3);
    expect(await counts()).toEqual([2, 2, 2, 2, 2]);
  });

  test("is done without while it is away, also by a read that is under way, and is used again when it is back", async () => {
    await replica.crash();
    expect(await counts()).toEqual([2, 2, 2, 2, 2]);
    await eventually(() => expect(trouble()).toMatch(/^it does not answer \(/));
    await addCall(3);
    expect(await counts()).toEqual([3, 3, 3, 3, 3]);
    await replica.start();
    await isUsed();
    await eventually(async () => expect(await counts()).toEqual([3, 3, 3, 3, 3]));
    const told = lines.map((line) => JSON.parse(line) as { level: number; msg: string; why?: string });
    expect(told.filter(({ why }) => why?.startsWith("it does not answer"))).toHaveLength(1);
    expect(told.filter(({ level }) => level === 40).every(({ msg }) => msg.includes("DATABASE_REPLICA_URL"))).toBe(
      true,
    );
    expect(told.at(-1)?.msg).toBe("usage is read from the replica");
  });

  test("a gateway starts where it is away, and refuses an address that is none", async () => {
    const without = await open({ url: "postgres://127.0.0.1:1/gateway", maxLagMs: 3000 });
    expect(trouble(without)).toMatch(/^it does not answer/);
    expect((await without.requests.sums(filter)).map(({ requests }) => Number(requests))).toEqual([3]);
    await without.close();
    await expect(open({ url: "postgres://127.0.0.1:1", maxLagMs: 3000 })).rejects.toThrow(
      /^DATABASE_REPLICA_URL cannot be used: it lacks a host or a database/,
    );
  });

  test("the primary itself, another database's replica, and one that took over are not read", async () => {
    const itself = await open({ url, maxLagMs: 3000 });
    expect(trouble(itself)).toBe("it is no replica: it can be written");
    await itself.close();
    const other = await postgres.createDatabase();
    const all = { url: other, dataDir: folder.path, poolSize: 3, version: "test", isSynced: false, onError: () => {} };
    await (await openStorageOnPostgres(all)).close();
    await eventually(() => query(replica.urlOf(other), "SELECT 1 FROM database_identity"));
    const foreign = await open({ url: replica.urlOf(other), maxLagMs: 3000 });
    expect(trouble(foreign)).toBe("it is a replica of another database");
    await foreign.close();
    await query(replica.urlOf(url), "SELECT pg_promote()");
    await eventually(() => expect(trouble()).toBe("it is no replica: it can be written"));
    await addCall(4);
    expect(await counts()).toEqual([4, 4, 4, 4, 4]);
  });
});
