/**
 * What is no longer kept: calls and acts that are older than the operator wants are deleted, some at a time. Money and the
 * sums of usage stay, and what is left of them is still proved.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRetention } from "../../src/composition/retention.ts";
import { newId } from "../../src/runtime/ids.ts";
import { type Bank, openBank } from "../support/money/bank.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const now = Date.UTC(2026, 5, 30, 12, 30);

let bank: Bank;

beforeEach(async () => {
  bank = await openBank();
  const { accounts, entries } = bank.storage;
  await accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
  await entries.record({ id: "led_1", accountId: "acc_1", kind: 1, amount: 1_000_000, note: null, now: 1 });
});

afterEach(() => bank.close());

/** Calls of one millionth each, one every `everyMs` from so long ago until now. */
async function call(fromMs: number, everyMs: number): Promise<number> {
  const calls = [];
  for (let at = now - fromMs; at < now; at += everyMs)
    calls.push({ id: newId("req", at), key_id: "key_1", cost: 1, created_at: at, duration_ms: 5 });
  await bank.charge("acc_1", ...calls);
  return calls.length;
}

const errors: unknown[] = [];

function retention(requestsMs: number | undefined, auditMs?: number, at = now) {
  const { retention: store } = bank.storage;
  const { whenFree } = bank.storage;
  return createRetention({
    store,
    whenFree,
    requestsMs,
    auditMs,
    clock: () => at,
    onError: (error) => errors.push(error),
  });
}

/** What the ledger tells of its charges, page by page. */
async function charges(account: string): Promise<number[]> {
  const amounts: number[] = [];
  for (let before: string | undefined; ; ) {
    const page = await bank.storage.entries.page(account, { kinds: [4], before, limit: 77 });
    amounts.push(...page.map(({ amount }) => amount));
    if (page.length < 77) return amounts;
    expect(
      page
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    ).toEqual(page.map(({ id }) => id));
    before = page.at(-1)?.id;
  }
}

const kept = () => bank.storage.requests.page({ accountId: "acc_1" }, undefined, 10_000);

test("calls older than they are kept go in batches, by whole hours; sums, charges and their proof stay", async () => {
  const count = await call(10 * dayMs, 6 * 60_000);
  const spent = (await bank.storage.accounts.find("acc_1"))?.balance;
  const job = retention(2 * dayMs);
  await job.run();
  const left = await kept();
  expect(Math.min(...left.map(({ created_at }) => created_at))).toBe(now - 2 * dayMs - 30 * 60_000);
  expect(count - left.length).toBeGreaterThan(1500);
  const sums = await bank.storage.requests.sums({
    ...{ accountId: "acc_1", from: 0, to: now, bucketMs: dayMs, byKey: false, byModel: false, limit: 100 },
  });
  expect(sums.reduce((sum, { requests }) => sum + requests, 0)).toBe(count);
  expect((await bank.storage.accounts.find("acc_1"))?.balance).toBe(spent);
  expect(await bank.storage.reconcile()).toMatchObject({ differences: [], requests: left.length });
  expect(await charges("acc_1")).toEqual(Array.from({ length: count }, () => -1));
  await job.close();
});

test("a charge that is in the ledger already, by a fault, keeps no call from being deleted, and is reported", async () => {
  const count = await call(3 * hourMs, hourMs);
  const [oldest] = (await kept()).slice(-1);
  bank.tamper(`INSERT INTO ledger_entries (id, account_id, kind, amount, request_id, key_id, created_at)
    VALUES ('led_x', 'acc_1', 4, -2, '${oldest?.id}', 'key_1', 1)`);
  const job = retention(hourMs, undefined, now + 10 * dayMs);
  await job.run();
  await job.close();
  expect([count, (await kept()).length]).toEqual([3, 0]);
  const { differences } = await bank.storage.reconcile();
  expect(differences.map(({ what }) => what)).toEqual(["balance of acc_1", "spend of key_1"]);
});

test("what is kept is still proved: a call that vanishes otherwise is reported", async () => {
  await call(2 * dayMs, hourMs);
  const job = retention(dayMs);
  await job.run();
  await job.close();
  const newest = (await kept())[0];
  bank.tamper(`DELETE FROM requests WHERE id = '${newest?.id}'`);
  const { differences } = await bank.storage.reconcile();
  expect(differences.map(({ what }) => what)).toEqual([
    "balance of acc_1",
    "spend of key_1",
    expect.stringMatching(/^usage of key_1 with /),
  ]);
});

test("a call that came in one hour and was taken up in the next is deleted with the later one", async () => {
  const hour = Math.floor((now - dayMs) / hourMs) * hourMs;
  await bank.charge("acc_1", {
    id: newId("req", hour - 1),
    key_id: "key_1",
    cost: 1,
    created_at: hour,
    duration_ms: 5,
  });
  const first = retention(dayMs);
  await first.run();
  await first.close();
  expect(await kept()).toHaveLength(1);
  const later = retention(dayMs, undefined, now + hourMs);
  await later.run();
  await later.close();
  expect(await kept()).toHaveLength(0);
  expect((await bank.storage.reconcile()).differences).toEqual([]);
});

test("acts go by themselves, and what is kept for good is not touched", async () => {
  await call(400 * dayMs, 10 * dayMs);
  const act = {
    actor_kind: "nobody",
    actor_id: "",
    account_id: "",
    subject: "",
    details: "{}",
    refused: "",
    address: "",
  };
  for (const at of [now - 30 * dayMs, now - 29 * dayMs, now - 1]) {
    await bank.storage.auditEvents.insert({
      id: newId("act", at),
      created_at: at,
      action: "KeyService.CreateKey",
      ...act,
    });
  }
  const job = retention(undefined, 29.5 * dayMs);
  await job.run();
  await job.close();
  expect(await bank.storage.auditEvents.page({ limit: 10 })).toHaveLength(2);
  expect(await kept()).toHaveLength(40);
  expect(errors).toEqual([]);
});
