/**
 * The functions of the books look rows up. A connection plans them while tables are small, and keeps the plans: none may be one that
 * reads a table from end to end, which has every row that has gone since it was vacuumed.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { begun, callOf, decide, ended, holdOf, now } from "../../../support/storage/books-stage.ts";
import { type PostgresServer, postgresPrograms, serverAt, startPostgres } from "../../../support/storage/postgres.ts";
import { openPostgresStage } from "../../../support/storage/postgres-stage.ts";

/** How many rows of other nodes there are later. */
const others = 20_000;

describe.skipIf(!postgresPrograms)("the functions of the books", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres(["autovacuum = off"]);
  });

  afterAll(() => postgres.stop());

  test("read no table from end to end that they first saw empty", async () => {
    const t = await openPostgresStage(serverAt(await postgres.copyDatabase()));
    await t.addAccount("acc_1", { balance: 1e12 });
    await t.addKey("key_1", "acc_1");
    const books = await t.open("nod_1");
    const lease = { id: "nod_1 acc_1", isOfKey: false };
    const taken = { leaseId: lease.id, isOfKey: false };
    let seq = 0;
    const write = (...entries: Parameters<typeof books.write>[0]["entries"]) =>
      books.write({ seq: ++seq, at: now, entries });
    const useAll = async (id: string) => {
      await decide(books, { holds: [holdOf(`lease ${id}`, 1_000_000, { lease }), holdOf(`own ${id}`, 10)] });
      await decide(books, { captures: [{ call: callOf(`own ${id}`, 4), most: 10 }] });
      await write(begun(`r ${id}`, 10, taken));
      await write(ended(callOf(`r ${id}`, 4), taken));
      await write(begun(`q ${id}`, 10, taken));
      await write({ kind: "free", requestId: `q ${id}`, taken });
    };
    const read = async () => {
      const rows =
        await t.query(`SELECT sum(seq_tup_read) AS in_order, sum(idx_scan) AS by_index FROM pg_stat_user_tables
        WHERE relname IN ('holds', 'api_keys', 'due_sums', 'requests')`);
      return rows[0] as unknown as { in_order: number; by_index: number };
    };
    // A plan is kept from the sixth time on.
    for (let i = 0; i < 8; i++) await useAll(`early ${i}`);
    await t.query(`INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
      SELECT 'other ' || i, 'nod_2', 'acc_2', 'key_2', 'chat', 'm', 0, 0, 0 FROM generate_series(1, ${others}) i`);
    const before = await read();
    const end = performance.now() + 10_000;
    let after = before;
    // The server's counts are told once a second, and with the next statement.
    for (let i = 0; after.by_index < before.by_index + 300 && performance.now() < end; i++) {
      await useAll(`late ${i}`);
      after = await read();
    }
    expect(after.by_index).toBeGreaterThanOrEqual(before.by_index + 300);
    expect(after.in_order - before.in_order).toBeLessThan(others);
    expect(await t.faults()).toEqual([]);
    await t.close();
  });
});
