/** Sums of all accounts together may be more than a double counts exactly, though none of one account is: they are proved as any others. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRetention } from "../../../src/composition/retention.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { maxCredited, maxHeld } from "../../../src/storage/money/bounds.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const begin = Date.UTC(2026, 5, 1);
/** An hour after the last call: its hour can be closed. */
const later = begin + 2 * hourMs;
/** What an hour of all accounts comes to: more than 9,007,199,254.740992 units, and odd, so that no double has it. */
const accounts = ["acc_1", "acc_2", "acc_3"];
const costs = [maxCredited, maxCredited - 1, 5];

let bank: Bank;

beforeEach(async () => {
  bank = await openBank();
  for (const [i, id] of accounts.entries()) {
    await bank.storage.accounts.insert({ id, name: id, created_at: 1 });
    const entry = { id: newId("led", begin), accountId: id, kind: 1, note: null, now: begin } as const;
    await bank.storage.entries.record({ ...entry, amount: maxCredited });
    const call = { id: newId("req", begin), key_id: `key_${i + 1}`, cost: costs[i] as number, created_at: begin + 5 };
    await bank.charge(id, call);
  }
});

afterEach(() => bank.close());

const proved = (now = later, isFull = false) => bank.storage.reconcile({ now, isFull });

async function found(now?: number): Promise<string[]> {
  return (await proved(now)).findings.map(({ kind, written, derived }) => `${kind}: ${written}, ${derived}`);
}

test("an hour of all accounts is proved, and remembered to a millionth", async () => {
  expect(await proved()).toMatchObject({ requests: 3, provedBefore: 0, findings: [] });
  expect(await proved()).toMatchObject({ requests: 0, provedBefore: 3, findings: [] });
  await bank.tamper("UPDATE usage_hours SET cost = cost + 1 WHERE account_id = 'acc_3'");
  expect(await found()).toEqual(["hour_cost: 6, 5"]);
});

test("an hour whose calls are forgotten is compared with what it was, to a millionth", async () => {
  await proved();
  const now = begin + 3 * dayMs;
  const settings = () => ({ retention: { requestsMs: dayMs, auditMs: undefined } });
  const store = bank.storage.retention;
  const job = createRetention({ store, settings, clock: () => now, onError: (error) => expect.fail(String(error)) });
  await job.run();
  await job.close();
  expect(await found(now)).toEqual([]);
  await bank.tamper("UPDATE usage_hours SET cost = cost + 1 WHERE account_id = 'acc_3'");
  expect((await proved(now)).findings).toMatchObject([{ kind: "forgotten_usage" }]);
});

test("what is held of all accounts is told, as nearly as a double has it", async () => {
  for (const [i, id] of ["acc_4", "acc_5", "acc_6", "acc_7"].entries()) {
    await bank.storage.accounts.insert({ id, name: id, created_at: 1, postpaid: 1 });
    await bank.charge(id, { id: newId("req", begin), key_id: `key_${i + 4}`, cost: 0, created_at: begin });
    const names = {
      requestId: newId("req", begin),
      accountId: id,
      keyId: `key_${i + 4}`,
      operation: "chat",
      model: "m",
    };
    await bank.money.hold({ ...names, max: maxHeld, min: maxHeld, now: bank.now() });
  }
  expect(await bank.storage.holds.total()).toEqual({ count: 4, amount: 4 * maxHeld });
  expect((await proved(0)).findings).toEqual([]);
});

test("what was waived of an account's calls is told in all, as great as it is", async () => {
  const waived = maxCredited;
  const calls = [1, 2].map(() => ({
    id: newId("req", begin),
    key_id: "key_3",
    cost: 0,
    waived,
    created_at: begin + 5,
  }));
  for (const call of calls) await bank.charge("acc_3", call);
  const span = { from: begin, to: begin + hourMs, bucketMs: hourMs, byKey: false, byModel: false, limit: 10 };
  expect(await bank.storage.requests.sums({ accountId: "acc_3", ...span })).toMatchObject([
    { requests: 3, cost: 5, waived: String(2 * waived) },
  ]);
  bank.pass(later - bank.now());
  expect(await bank.ask("listUsage", { from: new Date(begin).toISOString() }, { account: "acc_3" })).toMatchObject({
    sums: [{ cost: "0.000005", waived: "12000000000.00" }],
  });
});

test("sums that were changed beyond what can be counted are named, and left to a person", async () => {
  const most = 20_000_000_000_000_000n;
  await bank.tamper(`UPDATE accounts SET balance = ${most} WHERE id = 'acc_1';
    UPDATE usage_hours SET cost = ${most} WHERE account_id = 'acc_2'`);
  const { findings } = await bank.storage.reconcile({ now: later, isRepairing: true });
  expect(findings.map(({ kind, written, derived }) => `${kind}: ${written}, ${derived}`)).toEqual([
    "balance: 20000000000000000, 0",
    `hour_cost: 20000000000000000, ${costs[1]}`,
  ]);
  expect(findings.map(({ isRepairable }) => isRepairable)).toEqual([false, false]);
});
