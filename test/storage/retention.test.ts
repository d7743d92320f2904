/**
 * What is no longer kept: calls and acts that are older than the operator wants are deleted, some at a time. Money and the
 * sums of usage stay, and what is left of them is still proved.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRetention } from "../../src/composition/retention.ts";
import { firstIdAt, newId } from "../../src/runtime/ids.ts";
import type { LedgerEntry } from "../../src/storage/money/entries.ts";
import { type Bank, openBank } from "../support/money/bank.ts";
import { refuseInserts } from "../support/storage/test-database.ts";

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
  return createRetention({
    store,
    settings: () => ({ retention: { requestsMs, auditMs } }),
    clock: () => at,
    onError: (error) => errors.push(error),
  });
}

/** What the ledger tells of its charges, page by page. */
async function charges(account: string): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for (let before: string | undefined; ; ) {
    const page = await bank.storage.entries.page(account, { kinds: [4], before, limit: 77 });
    entries.push(...page);
    if (page.length < 77) return entries;
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
  expect(await bank.storage.reconcile()).toMatchObject({ findings: [], requests: left.length });
  const listed = await charges("acc_1");
  expect(listed.slice(0, -1).map(({ amount }) => amount)).toEqual(left.map(() => -1));
  const june = { account_id: "acc_1", key_id: "key_1", kind: 4, request_id: null, note: null };
  const forgotten = count - left.length;
  const created_at = Date.UTC(2026, 5);
  expect(listed.at(-1)).toMatchObject({ ...june, amount: -forgotten, calls: forgotten, created_at });
  await job.close();
});

test("a call whose body came in the hour after its head is forgotten with that hour, and no sum lacks it", async () => {
  const hour = Date.UTC(2026, 5, 20, 10);
  const ids = [-1_000, -500].map((ms) => newId("req", hour + ms)) as [string, string];
  const call = { key_id: "key_1", cost: 3, duration_ms: 5 };
  await bank.charge("acc_1", { ...call, id: ids[0], created_at: hour + 200 });
  await bank.charge("acc_1", { ...call, id: ids[1], created_at: hour - 400 });
  for (const [at, left] of [
    [hour, [ids[0]]],
    [hour + hourMs, []],
  ] as const) {
    const job = retention(dayMs, undefined, at + dayMs);
    await job.run();
    await job.close();
    expect((await kept()).map(({ id }) => id)).toEqual(left);
    expect((await bank.storage.reconcile()).findings).toEqual([]);
  }
});

test("forgotten charges are an entry for each key and month, which grows, and sorts by time among the others", async () => {
  const at = (month: number, day: number) => Date.UTC(2026, month, day, 5);
  const { entries } = bank.storage;
  for (const month of [2, 3, 4]) {
    const id = newId("led", at(month, 15));
    await entries.record({ id, accountId: "acc_1", kind: 1, amount: 100, note: null, now: at(month, 15) });
    for (const [i, day] of [3, 9, 20, 28].entries()) {
      const key_id = i % 2 === 0 ? "key_1" : "key_2";
      await bank.charge("acc_1", {
        id: newId("req", at(month, day)),
        key_id,
        cost: 10 + i,
        created_at: at(month, day),
      });
    }
  }
  const balance = (await bank.storage.accounts.find("acc_1"))?.balance;
  for (const until of [at(3, 10), at(4, 10)]) {
    const job = retention(dayMs, undefined, until + dayMs);
    await job.run();
    await job.close();
    expect((await bank.storage.reconcile()).findings).toEqual([]);
  }
  expect((await bank.storage.accounts.find("acc_1"))?.balance).toBe(balance);
  const told = (await entries.page("acc_1", { kinds: [], limit: 100 })).map(
    ({ created_at, amount, calls, key_id }) =>
      `${new Date(created_at).toISOString().slice(0, 10)} ${amount} ${calls === null ? "" : `${calls} of ${key_id}`}`,
  );
  const [may, folded] = [told.slice(0, 5), told.slice(5)];
  expect(may).toEqual(["2026-05-28 -13 ", "2026-05-20 -12 ", "2026-05-15 100 ", ...may.slice(3)]);
  expect(may.slice(3).toSorted()).toEqual(["2026-05-01 -10 1 of key_1", "2026-05-01 -11 1 of key_2"]);
  expect(folded.slice(0, 3)).toEqual(["2026-04-15 100 ", ...folded.slice(1, 3)]);
  expect(folded.slice(1, 3).toSorted()).toEqual(["2026-04-01 -22 2 of key_1", "2026-04-01 -24 2 of key_2"]);
  const { entries: listed } = await bank.ask("listLedger", { kinds: ["charge"] }, { account: "acc_1" });
  expect(listed).toContainEqual(
    expect.objectContaining({
      kind: "charge",
      key_id: "key_2",
      calls: 2,
      amount: "-0.000024",
      created_at: "2026-04-01T00:00:00.000Z",
    }),
  );
});

test("a batch is forgotten as a whole or not at all, and the next run goes on", async () => {
  const count = await call(3 * dayMs, 5 * 60_000);
  const balance = (await bank.storage.accounts.find("acc_1"))?.balance;
  const goOn = await refuseInserts(
    ...([bank.database, "kept_from", "ended amid it"] as const),
    "(SELECT sum(calls) FROM ledger_entries) >= 500",
  );
  const job = retention(dayMs);
  await job.run();
  expect(errors.splice(0).map(String)).toEqual([expect.stringContaining("ended amid it")]);
  expect(await kept()).toHaveLength(count);
  expect((await charges("acc_1")).every(({ calls }) => calls === null)).toBe(true);
  expect((await bank.storage.reconcile()).findings).toEqual([]);
  await goOn();
  await job.run();
  await job.close();
  expect((await kept()).length).toBeLessThan(count / 2);
  expect((await bank.storage.accounts.find("acc_1"))?.balance).toBe(balance);
  expect((await bank.storage.reconcile()).findings).toEqual([]);
});

test("entries that older versions wrote, one for each forgotten call, are folded into those of their months", async () => {
  await bank.charge("acc_1", { id: newId("req", now - 1), key_id: "key_1", cost: 7, created_at: now - 1 });
  const old = Array.from({ length: 1203 }, (_, i) => now - 40 * dayMs + i * 60_000);
  await bank.tamper(`INSERT INTO kept_from VALUES ('requests', ${now - 30 * dayMs}, '${newId("req", now - 30 * dayMs)}');
    UPDATE accounts SET balance = balance - ${2 * old.length};
    UPDATE api_keys SET spent = spent + ${2 * old.length};
    ${old.map((at) => oneACall(newId("req", at), 2, at)).join("\n")}`);
  const job = retention(undefined);
  await job.run();
  await job.close();
  const listed = await charges("acc_1");
  expect(listed.map(({ amount, calls }) => [amount, calls])).toEqual([
    [-7, null],
    [-2406, 1203],
  ]);
  expect((await bank.storage.reconcile()).findings).toEqual([]);
});

/** The entry of a forgotten call, as version 0.2.0 wrote it. */
function oneACall(id: string, cost: number, at: number): string {
  return `INSERT INTO ledger_entries (id, account_id, kind, amount, request_id, key_id, created_at)
    VALUES ('led_${id.slice(4)}', 'acc_1', 4, ${-cost}, '${id}', 'key_1', ${at});`;
}

test("a sum of charges that could not be counted exactly is in several entries", async () => {
  const most = 9e15;
  await bank.tamper("UPDATE accounts SET postpaid = 1, was_postpaid = 1");
  for (const i of [0, 1, 2]) await bank.charge("acc_1", { id: newId("req", i), key_id: `key_${i % 2}`, cost: 1 });
  await bank.tamper(`UPDATE requests SET cost = ${most - 5}, created_at = 7`);
  const job = retention(dayMs);
  await job.run();
  await job.close();
  const folded = (await charges("acc_1")).map(({ amount, calls, key_id }) => [key_id, amount, calls]);
  expect(folded.toSorted()).toEqual([
    ["key_0", 5 - most, 1],
    ["key_0", 5 - most, 1],
    ["key_1", 5 - most, 1],
  ]);
});

test("a charge that comes when its call may be forgotten is not charged again, and one that holds credit is charged", async () => {
  const [first, second] = [newId("req", now - 50 * dayMs), newId("req", now - 49 * dayMs)] as const;
  for (const id of [first, second])
    await bank.charge("acc_1", { id, key_id: "key_1", cost: 5, created_at: now - 50 * dayMs });
  const job = retention(dayMs);
  await job.run();
  await job.close();
  const balance = async () => (await bank.storage.accounts.find("acc_1"))?.balance;
  expect(await balance()).toBe(999_990);
  await bank.charge("acc_1", { id: first, key_id: "key_1", cost: 5, created_at: now - 50 * dayMs });
  expect(await balance()).toBe(999_990);
  const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m" };
  const third = newId("req", now - 48 * dayMs);
  await bank.money.hold({ requestId: third, ...names, max: 9, min: 9, now });
  await bank.charge("acc_1", { id: third, key_id: "key_1", cost: 5, created_at: now - 48 * dayMs });
  expect(await balance()).toBe(999_985);
  expect((await bank.storage.reconcile()).findings).toEqual([]);
});

test("a charge that is in the ledger already, by a fault, keeps no call from being deleted, and is reported", async () => {
  const count = await call(3 * hourMs, hourMs);
  const [oldest] = (await kept()).slice(-1);
  await bank.tamper(`INSERT INTO ledger_entries (id, account_id, kind, amount, request_id, key_id, created_at)
    VALUES ('led_x', 'acc_1', 4, -2, '${oldest?.id}', 'key_1', 1)`);
  const job = retention(hourMs, undefined, now + 10 * dayMs);
  await job.run();
  await job.close();
  expect([count, (await kept()).length]).toEqual([3, 0]);
  const { findings } = await bank.storage.reconcile();
  expect(findings.map(({ what }) => what)).toEqual(["balance of acc_1", "spend of key_1"]);
});

test("what is kept is still proved: a call that vanishes otherwise is reported", async () => {
  await call(2 * dayMs, hourMs);
  const job = retention(dayMs);
  await job.run();
  await job.close();
  const newest = (await kept())[0];
  await bank.tamper(`DELETE FROM requests WHERE id = '${newest?.id}'`);
  const { findings } = await bank.storage.reconcile();
  expect(findings.map(({ what }) => what)).toEqual([
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
  expect((await bank.storage.reconcile()).findings).toEqual([]);
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
  expect(await await bank.storage.auditEvents.page({ limit: 10 })).toHaveLength(2);
  expect(await kept()).toHaveLength(40);
  expect(errors).toEqual([]);
});

test("minutes of refused calls become hours after two days, whoever wrote them, and go with the calls when their time is over", async () => {
  const { refused, retention } = bank.storage;
  const minuteMs = 60_000;
  const begin = Date.UTC(2026, 4, 1, 7);
  const count = (minute: number, node: string, requests: number, key_id = "key_1") => ({
    ...{ account_id: "acc_r", minute: begin + minute * minuteMs, key_id, model: "m", reason: 25, node, requests },
  });
  const calls = [0, 130].map((minute) => ({
    ...{ id: newId("req", begin + minute * minuteMs), account_id: "acc_r", key_id: "key_1", operation: "chat" },
    ...{ model: "m", reason: 25, status: 429, detail: "", created_at: begin + minute * minuteMs },
  }));
  await refused.write({ counts: [count(0, "a", 1), count(1, "a", 2), count(1, "b", 4)], calls });
  await refused.write({ counts: [count(59, "b", 8, "key_2"), count(60, "a", 16), count(130, "a", 32)], calls: [] });
  const sums = async (bucketMs: number) =>
    (
      await refused.sums({ accountId: "acc_r", from: begin, to: begin + dayMs, bucketMs, groupBy: "key_id" }, 10)
    ).sums.map(({ beginsAt, group, requests }) => [(beginsAt - begin) / minuteMs, group, requests]);
  const hours = [
    [0, "key_1", 7],
    [0, "key_2", 8],
    [60, "key_1", 16],
    [120, "key_1", 32],
  ];
  expect(await sums(60 * minuteMs)).toEqual(hours);
  expect(await sums(minuteMs)).toHaveLength(5);
  const fold = async (at: number) => {
    while ((await retention.foldRefused(at)) > 0);
  };
  // Two days after the second hour's end.
  await fold(begin + 2 * dayMs + 120 * minuteMs);
  expect(await sums(60 * minuteMs)).toEqual(hours);
  expect(await sums(minuteMs)).toEqual([...hours.slice(0, 3), [130, "key_1", 32]]);
  // What came late is added to its hour.
  await refused.write({ counts: [count(5, "c", 100)], calls: [] });
  await fold(begin + 2 * dayMs + 120 * minuteMs);
  expect((await sums(60 * minuteMs))[0]).toEqual([0, "key_1", 107]);
  const before = begin + 61 * minuteMs;
  while ((await retention.forgetRefused(before, firstIdAt("req", before))) > 0);
  expect(await sums(60 * minuteMs)).toEqual(hours.slice(3));
  expect(await refused.page({ accountId: "acc_r" }, undefined, 10)).toEqual([calls[1]]);
});
