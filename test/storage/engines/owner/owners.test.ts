/**
 * Workers whose owner is killed at any moment, again and again, while their calls run: every charge that was told is there once, every
 * hold ends, and nothing else is charged.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Outcome } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import type { Hold, Short } from "../../../../src/ledger/contract.ts";
import { createExactLedger } from "../../../../src/ledger/exact-ledger.ts";
import { createLeasedLedger } from "../../../../src/ledger/leases/leased-ledger.ts";
import { eventually } from "../../../support/eventually.ts";
import { endedCall, unlimitedRequest } from "../../../support/money/ledger.ts";
import { reconcile } from "../../../support/money/proof.ts";
import { callsIn, ledgersOfTests, type TestLedger } from "../../../support/money/sqlite-ledger.ts";
import { type OwnedWorker, type OwnedWorkers, ownWorkers } from "../../../support/workers/killed-owners.ts";

// Processes take a second to start, and more on a busy machine.
vi.setConfig({ testTimeout: 300_000 });

const ledgerOf = ledgersOfTests();
let seen: TestLedger;
let owned: OwnedWorkers;

afterEach(() => owned.close());

describe.each([
  ["a journal", true, createLeasedLedger],
  ["leases, and no journal", false, createLeasedLedger],
  ["neither", false, createExactLedger],
] as const)("of workers with %s", (_, hasJournal, create) => {
  test("an owner that is killed ten times loses no charge, and makes none twice", async () => {
    const ample = 1_000_000_000;
    seen = await ledgerOf({ balance: ample });
    owned = await ownWorkers(seen.path);
    await owned.addWorker(hasJournal, create);
    await owned.addWorker(hasJournal, create);
    const told = new Map<string, number>();
    let isOver = false;
    let number = 0;
    const call = async ({ ledger }: OwnedWorker) => {
      const id = `req_${String(++number).padStart(6, "0")}`;
      const max = 100 + Math.floor(Math.random() * 1_000);
      const held = (await ledger.hold(unlimitedRequest(id, max, Date.now()))) as Hold;
      expect(held.kind).toBe("held");
      await delay(Math.random() * 30);
      if (Math.random() < 0.1) return ledger.release(held);
      const cost = Math.floor(Math.random() * max);
      const captured = await ledger.capture(endedCall(id, cost, Date.now()), held);
      expect(captured).toEqual({ cost, waived: 0 });
      told.set(id, cost);
    };
    const refused: unknown[] = [];
    const calling = owned.workers.flatMap((worker) =>
      Array.from({ length: 12 }, async () => {
        while (!isOver) await call(worker).catch((error: unknown) => refused.push(error));
      }),
    );
    for (let kills = 0; kills < 10; kills++) {
      const before = told.size;
      await eventually(() => expect(told.size).toBeGreaterThan(before + 20), 60_000);
      await delay(Math.random() * 20);
      await owned.kill();
      // Calls end, and others begin, while there is none.
      await delay(Math.random() * 50);
      await owned.start();
    }
    isOver = true;
    await Promise.all(calling);
    // A call whose hold waited for longer than it may, on a busy machine.
    for (const error of refused)
      expect(error).toMatchObject({ code: expect.stringMatching(/DATABASE_AWAY|SQLITE_BUSY/) });
    for (const { ledger } of owned.workers) await ledger.close();
    const spent = told.values().reduce((sum, cost) => sum + cost, 0);
    await eventually(() => expect(seen.account()).toEqual({ balance: ample - spent, held: 0 }), 60_000);
    const charged = new Map(callsIn(seen).map((row) => [row.id, row]));
    for (const [id, cost] of told)
      expect(charged.get(id)).toMatchObject({ outcome: Outcome.ANSWERED, cost, waived: 0 });
    expect(charged.size).toBe(told.size);
    expect((await reconcile(seen.engine)).findings).toEqual([]);
  });
});

test("credit for exactly so many calls answers so many, whoever owned the leases of it", async () => {
  const [each, covered] = [100, 3_000];
  seen = await ledgerOf({ balance: each * covered });
  owned = await ownWorkers(seen.path);
  for (let i = 0; i < 3; i++) await owned.addWorker(true, createLeasedLedger);
  let answered = 0;
  let number = 0;
  const call = async ({ ledger }: OwnedWorker): Promise<boolean> => {
    const id = `req_${String(++number).padStart(6, "0")}`;
    const held: Hold | Short = await ledger.hold(unlimitedRequest(id, each, Date.now()));
    if (held.kind === "short") return false;
    await ledger.capture(endedCall(id, each, Date.now()), held);
    answered++;
    return true;
  };
  const calling = owned.workers.flatMap((worker) =>
    Array.from({ length: 4 }, async () => {
      for (let short = 0; short < 3; ) if (!(await call(worker).catch(() => true))) short++;
    }),
  );
  for (const after of [500, 1_500, 2_500]) {
    await eventually(() => expect(answered).toBeGreaterThan(after), 60_000);
    await owned.kill();
    await owned.start();
  }
  await Promise.all(calling);
  expect(answered).toBe(covered);
  for (const { ledger } of owned.workers) await ledger.close();
  await eventually(() => expect(seen.account()).toEqual({ balance: 0, held: 0 }), 60_000);
  expect((await reconcile(seen.engine)).findings).toEqual([]);
});

test("workers go from one owner to another while both live, and their calls keep what they hold", async () => {
  seen = await ledgerOf({ balance: 1_000_000 });
  owned = await ownWorkers(seen.path);
  const [one, other] = [
    await owned.addWorker(true, createLeasedLedger),
    await owned.addWorker(true, createLeasedLedger),
  ];
  const hold = ({ ledger }: OwnedWorker, id: string, max: number) => ledger.hold(unlimitedRequest(id, max, Date.now()));
  const held = [await hold(one, "req_1", 100), await hold(other, "req_2", 100)] as Hold[];
  await owned.handOver();
  for (const [i, { ledger }] of [one, other].entries())
    expect(await ledger.capture(endedCall(`req_${i + 1}`, 10, Date.now()), held[i])).toEqual({ cost: 10, waived: 0 });
  for (const { ledger } of owned.workers) await ledger.close();
  await eventually(() => expect(seen.account()).toEqual({ balance: 999_980, held: 0 }), 60_000);
  expect(callsIn(seen).map(({ outcome }) => outcome)).toEqual([Outcome.ANSWERED, Outcome.ANSWERED]);
  expect((await reconcile(seen.engine)).findings).toEqual([]);
});

test("a worker that outlives its owner keeps what its calls hold, whatever the clock of its machine says", async () => {
  seen = await ledgerOf({ balance: 1_000_000 });
  owned = await ownWorkers(seen.path);
  const { ledger } = await owned.addWorker(true, createLeasedLedger);
  await owned.kill();
  await owned.start();
  const held = (await ledger.hold(unlimitedRequest("req_1", 100, Date.now()))) as Hold;
  const holding = () =>
    seen.engine.prepare<[], { node: string }>("SELECT DISTINCT node FROM holds WHERE operation <> ''").all();
  await eventually(() => expect(holding()).toHaveLength(1));
  // `seen` is another gateway on the same file.
  seen.pass(Date.now() + 3_600_000 - seen.now());
  await seen.ledger.sweep();
  expect(holding()).toHaveLength(1);
  expect(await ledger.capture(endedCall("req_1", 70, Date.now()), held)).toEqual({ cost: 70, waived: 0 });
  expect(seen.errors).toEqual([]);
});
