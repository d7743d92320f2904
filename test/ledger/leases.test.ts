/**
 * Where credit is ample a gateway leases some of it, and calls take theirs from that: how much it is, what others see of it, and what it
 * is not for. `test/storage/engines/sqlite/leases.test.ts` has what SQLite's journal makes of it.
 */
import { describe, expect, test } from "vitest";
import { holdMs } from "../../src/ledger/contract.ts";
import type { BooksOptions } from "../../src/storage/money/books.ts";
import { createLeasingLedger } from "../support/accelerators.ts";
import { eventually } from "../support/eventually.ts";
import { endedCall, holdRequest, ledgersOfTests, type TestLedger, unlimitedRequest } from "../support/money/ledger.ts";
import { createLedger } from "../support/money/ledger-by-ids.ts";
import { timed } from "../support/run/running-time.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);

const ample = 1_000_000;

/** What is written of the sums, as another gateway would read it: nothing is given back for it. */
async function written({ database }: TestLedger) {
  const [found] = await database.query(`SELECT a.held, k.held AS held_of_key,
    (SELECT count(*) FROM holds WHERE operation <> '') AS calls FROM accounts_now a JOIN api_keys_now k ON k.account_id = a.id`);
  return found;
}

const proved = async ({ storage }: TestLedger) => (await storage.reconcile({ now: 0 })).findings;

describe("a lease", () => {
  test("serves calls after the first: what they cost is in the sums", async () => {
    const t = await ledgerOf({ balance: ample });
    for (let i = 0; i < 100; i++) {
      expect(await t.ledger.hold(unlimitedRequest(`r${i}`, 10, t.now()))).toEqual({ kind: "held", amount: 10 });
      expect(await t.ledger.capture(endedCall(`r${i}`, 4, t.now()))).toEqual({ cost: 4, waived: 0 });
    }
    // On Postgres the database counts what it was asked to decide.
    expect(t.storage.database?.batches().decide.batches ?? 1).toBe(1);
    expect(await t.account()).toEqual({ balance: ample - 400, held: 0 });
    expect(await t.key()).toEqual({ spent: 400, held: 0 });
    expect(await proved(t)).toEqual([]);
  });

  test("is a small part of what is left, and none where that is not ample", async () => {
    const t = await ledgerOf({ balance: 10_000 });
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    expect(await written(t)).toMatchObject({ held: 312 });
    const poor = await ledgerOf({ balance: 400 });
    await poor.ledger.hold(unlimitedRequest("r1", 10, poor.now()));
    expect(await written(poor)).toMatchObject({ held: 10, calls: 1 });
  });

  test("of a key with a limit is within that limit", async () => {
    const t = await ledgerOf({ balance: ample, limit: 16_000 });
    await t.ledger.hold(holdRequest("r1", 10, 10, t.now()));
    expect(await written(t)).toMatchObject({ held: 500, held_of_key: 500 });
  });

  test.each([
    ["young", false],
    ["with a hold of its own", true],
  ])("lends a call nothing beyond its hold, and what is waived is written down: one that is %s", async (_, isOwn) => {
    const t = await ledgerOf({ balance: ample });
    const { credit } = t.ledger;
    credit.learn("acc_1", ample, "key_1", undefined);
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    if (isOwn) expect((await t.account()).held).toBe(10);
    const settling = [t.ledger.capture(endedCall("r1", 50, t.now())), t.ledger.capture(endedCall("r1", 50, t.now()))];
    expect(await Promise.all(settling)).toEqual([{ cost: 10, waived: 40 }, undefined]);
    expect(await t.calls()).toMatchObject([{ cost: 10, waived: 40 }]);
    expect(await t.account()).toEqual({ balance: ample - 10, held: 0 });
    expect(await t.key()).toEqual({ spent: 10, held: 0 });
    expect(credit.remaining("acc_1", "key_1")).toBe(ample - 10);
    expect(await proved(t)).toEqual([]);
  });

  test("keeps what a call has of it where all other credit goes while the call is settled", async () => {
    const t = await ledgerOf({ balance: ample });
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    const settling = t.ledger.capture(endedCall("r1", 50, t.now()));
    const other = t.ledger.hold(holdRequest("r2", ample, 1, t.now()));
    expect(await settling).toEqual({ cost: 10, waived: 40 });
    expect(await other).toEqual({ kind: "held", amount: ample - 10 });
  });

  test("reports what is left all the while", async () => {
    const t = await ledgerOf({ balance: ample });
    const { credit } = t.ledger;
    credit.learn("acc_1", ample, "key_1", undefined);
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    expect(credit.remaining("acc_1", "key_1")).toBe(ample - 10);
    await t.ledger.capture(endedCall("r1", 4, t.now()));
    expect(credit.remaining("acc_1", "key_1")).toBe(ample - 4);
    expect((await t.account()).held).toBe(0);
    expect(credit.remaining("acc_1", "key_1")).toBe(ample - 4);
  });

  test("is given back where another call of its account is short", async () => {
    const t = await ledgerOf({ balance: ample });
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    const other = await t.ledger.hold(unlimitedRequest("r2", ample - 10, t.now()));
    expect(other).toEqual({ kind: "held", amount: ample - 10 });
    expect(await t.ledger.hold(unlimitedRequest("r3", 1, t.now()))).toMatchObject({ kind: "short", available: 0 });
  });

  test("is not seen by a reader in the same process: a call that runs has a hold of its own", async () => {
    const t = await ledgerOf({ balance: ample });
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    expect((await t.account()).held).toBe(10);
    expect((await t.key()).held).toBe(10);
    expect(await written(t)).toMatchObject({ held: 10, held_of_key: 10, calls: 1 });
    expect(await t.ledger.capture(endedCall("r1", 7, t.now()))).toEqual({ cost: 7, waived: 0 });
    expect(await t.account()).toEqual({ balance: ample - 7, held: 0 });
  });

  test("that a call of long ago has made lasts as long as any", async () => {
    const t = await ledgerOf({ balance: ample });
    await t.pass(2 * holdMs);
    await t.ledger.sweep();
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now() - 2 * holdMs));
    const other = await ledgerOf({}, t.database);
    await other.pass(2 * holdMs);
    await other.ledger.sweep();
    expect(await t.ledger.capture(endedCall("r1", 10, t.now()))).toEqual({ cost: 10, waived: 0 });
    expect(await t.account()).toEqual({ balance: ample - 10, held: 0 });
  });
});

describe("a lease is not for", () => {
  async function refusedSoon(t: TestLedger, of: object): Promise<void> {
    await eventually(async () => {
      const held = await t.ledger.hold(unlimitedRequest(`r${performance.now()}`, 10, t.now()));
      expect(held).toMatchObject({ kind: "short", ...of });
    });
  }

  test("a key that was revoked since it was admitted", async () => {
    const t = await ledgerOf({ balance: ample });
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    const other = await ledgerOf({}, t.database);
    expect(await other.storage.keys.revoke("key_1", 1)).toBe(true);
    await refusedSoon(t, {});
  });

  test("a key that got a limit since then", async () => {
    const t = await ledgerOf({ balance: ample });
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    expect(await t.storage.keys.update("acc_1", "key_1", { credit_limit: 15 })).toMatchObject({ kind: "updated" });
    await refusedSoon(t, { of: "limit" });
  });

  test("an account that pays in advance since then, and owes already", async () => {
    const t = await ledgerOf({ postpaid: true });
    const other = await ledgerOf({}, t.database);
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    await t.ledger.capture(endedCall("r1", 10, t.now()));
    await other.storage.accounts.update("acc_1", { postpaid: 0 }, t.now());
    let calls = 1;
    await eventually(async () => {
      const id = `r${++calls}`;
      const { kind } = await t.ledger.hold(unlimitedRequest(id, 10, t.now()));
      if (kind === "held") await t.ledger.release(id);
      // As often as calls come in: the lease is not idle meanwhile.
      expect(kind).toBe("short");
    });
    expect(await t.account()).toEqual({ balance: -10, held: 0 });
  });

  test("an account that changes while its lease is being granted: that lease is given back", async () => {
    const t = await ledgerOf({ balance: ample });
    let [version, given] = [1, 0];
    const openBooks = (options: BooksOptions) => {
      const books = t.openBooks(options);
      const decide: typeof books.decide = (next) => {
        version = 2;
        return books.decide(next);
      };
      const releaseLeases: typeof books.releaseLeases = (ids) => {
        given += ids.length;
        return books.releaseLeases(ids);
      };
      return { ...books, decide, releaseLeases, version: () => version, changedSince: (asOf: number) => asOf < 2 };
    };
    const ledger = createLedger({ openBooks, clock: t.now, onError: () => {} }, createLeasingLedger);
    await ledger.hold(unlimitedRequest("r1", 10, t.now()));
    const [, { runningMs }] = await timed(() => eventually(() => expect(given).toBe(1)));
    // One that is not drawn on for five seconds is given back anyway.
    expect(runningMs).toBeLessThan(3_000);
    await ledger.close();
  });

  test("what costs nothing", async () => {
    const t = await ledgerOf({ balance: ample });
    expect(await t.ledger.hold(unlimitedRequest("r1", 0, t.now()))).toEqual({ kind: "held", amount: 0 });
  });
});

test("two ledgers of one gateway see each other's charges", async () => {
  const t = await ledgerOf({ balance: ample });
  const second = t.openLedger();
  await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
  await second.hold(unlimitedRequest("r2", 10, t.now()));
  await t.ledger.capture(endedCall("r1", 10, t.now()));
  await second.capture(endedCall("r2", 10, t.now()));
  expect(await t.account()).toEqual({ balance: ample - 20, held: 0 });
  await second.close();
});
