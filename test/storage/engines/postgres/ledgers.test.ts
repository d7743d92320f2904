/** The ledgers themselves over Postgres: several gateways, one account. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Hold, Ledger, LedgerOptions } from "../../../../src/ledger/contract.ts";
import { createExactLedger } from "../../../../src/ledger/exact-ledger.ts";
import { createLeasedLedger } from "../../../../src/ledger/leases/leased-ledger.ts";
import { newId } from "../../../../src/runtime/ids.ts";
import { openPostgresBooks } from "../../../../src/storage/engines/postgres/books/books.ts";
import { startWatcher } from "../../../../src/storage/engines/postgres/watcher.ts";
import { callOf } from "../../../support/storage/books-stage.ts";
import { type PostgresServer, postgresPrograms, serverAt, startPostgres } from "../../../support/storage/postgres.ts";
import { noSpool, openPostgresStage, type PostgresStage } from "../../../support/storage/postgres-stage.ts";

const ledgers: readonly [string, (options: LedgerOptions) => Ledger][] = [
  ["without leases", createExactLedger],
  ["with leases", createLeasedLedger],
];

describe.skipIf(!postgresPrograms).each(ledgers)("ledgers %s on Postgres", (_, create) => {
  let postgres: PostgresServer;
  let t: PostgresStage;
  let closing: (() => Promise<void>)[];
  let errors: unknown[];

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  beforeEach(async () => {
    t = await openPostgresStage(serverAt(await postgres.copyDatabase()));
    closing = [];
    errors = [];
  });

  afterEach(async () => {
    for (const close of closing) await close();
    expect(await t.faults()).toEqual([]);
    expect(await t.holds()).toEqual([]);
    await t.close();
  });

  async function openLedger(): Promise<Ledger> {
    const onError = (error: unknown) => void errors.push(error);
    const watcher = await startWatcher({ connect: () => t.server.connect(), onError });
    const ledger = create({
      openBooks: (options) =>
        openPostgresBooks({ ...options, server: t.server, watcher, spool: noSpool(), version: "test" }),
      clock: Date.now,
      onError,
    });
    closing.push(async () => {
      await ledger.close();
      watcher.close();
    });
    return ledger;
  }

  const request = (max: number, isLimited = false, keyId = "key_1") => {
    const now = Date.now();
    return {
      requestId: newId("req", now),
      accountId: "acc_1",
      keyId,
      operation: "chat",
      model: "m",
      max,
      min: max,
      now,
      isLimited,
    };
  };

  async function call(ledger: Ledger, max: number, cost: number, ms = 0): Promise<string | undefined> {
    const held = await ledger.hold(request(max));
    if (held.kind === "short") return undefined;
    if (ms > 0) await delay(ms);
    const { requestId } = held.request;
    const captured = await ledger.capture(callOf(requestId, cost), held as Hold);
    expect(captured?.cost).toBe(cost);
    return requestId;
  }

  test("spend all that there is on three nodes, to the last call, and no more", async () => {
    await t.addAccount("acc_1", { balance: 1000 * 50 });
    await t.addKey("key_1", "acc_1");
    const three = await Promise.all([openLedger(), openLedger(), openLedger()]);
    const told = await Promise.all(
      three.map(async (ledger) => {
        let count = 0;
        // Some at once, so that turns have several of them.
        for (let isShort = false; !isShort; ) {
          const some = await Promise.all(Array.from({ length: 8 }, () => call(ledger, 50, 50)));
          count += some.filter((id) => id !== undefined).length;
          isShort = some.includes(undefined);
        }
        return count;
      }),
    );
    expect(told.reduce((a, b) => a + b)).toBe(1000);
    expect(await t.account("acc_1")).toEqual({ balance: 0, held: 0 });
    expect(errors).toEqual([]);
  });

  test("charge what was told, once, while connections are cut", async () => {
    await t.addAccount("acc_1", { balance: 1e9 });
    await t.addKey("key_1", "acc_1");
    const three = await Promise.all([openLedger(), openLedger(), openLedger()]);
    let [cut, isOver] = [0, false];
    const cutting = (async () => {
      for (; !isOver; await delay(40)) {
        const rows = await t.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`);
        cut += rows.length;
      }
    })();
    const told: string[] = [];
    const isEnough = () => cut > 40 && told.length > 100;
    await Promise.all(
      three.flatMap((ledger) =>
        Array.from({ length: 8 }, async () => {
          while (!isEnough()) {
            const id = await call(ledger, 1000, 7, Math.random() * 20).catch(() => undefined);
            if (id) told.push(id);
          }
        }),
      ),
    );
    isOver = true;
    await cutting;
    const rows = await t.query("SELECT id FROM requests WHERE cost = 7");
    const charged = new Set(rows.map(({ id }) => id as string));
    expect(told.filter((id) => !charged.has(id))).toEqual([]);
    expect(new Set(told).size).toBe(told.length);
  });

  test("refuse a key that was revoked on another node, within a second", async () => {
    await t.addAccount("acc_1", { balance: 1e9 });
    await t.addKey("key_1", "acc_1");
    const ledger = await openLedger();
    for (let i = 0; i < 5; i++) await call(ledger, 100, 10);
    await t.revoke("key_1");
    await delay(1000);
    expect((await ledger.hold(request(100))).kind).toBe("short");
  });
});
