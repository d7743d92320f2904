/**
 * The proof that the sums of money hold: it finds nothing where everything went as it should, and names whatever was
 * changed behind everybody's back.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { holdMs } from "../../src/ledger/contract.ts";
import { directMoney } from "../support/money/direct.ts";
import { type Bank, openBank } from "../support/money/bank.ts";

let bank: Bank;

beforeEach(async () => {
  bank = await openBank();
  await bank.storage.accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
  for (const [kind, amount] of [
    [1, 5000],
    [2, 1000],
    [3, 200],
  ] as const) {
    await bank.storage.entries.record({ id: `led_kind${kind}`, accountId: "acc_1", kind, amount, note: null, now: 1 });
  }
  await bank.charge("acc_1", { id: "req_1", key_id: "key_1", cost: 30 });
  await bank.charge("acc_1", { id: "req_2", key_id: "key_2", cost: 40 });
  await bank.charge("acc_1", { id: "req_3", key_id: "key_1", cost: 0, outcome: 2 });
  const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m" };
  const now = bank.now();
  await directMoney(bank.storage).hold({ requestId: "req_4", ...names, max: 9, min: 9, now });
});

afterEach(() => bank.close());

test("holds after recharges, refunds, grants, charges and holds", async () => {
  expect(await bank.storage.reconcile()).toEqual({ accounts: 1, keys: 2, entries: 5, requests: 3, differences: [] });
  expect(await bank.ask("reconcile")).toEqual({ accounts: 1, entries: 5 });
});

test("counts a call that was given up as lost, and came back", async () => {
  await directMoney(bank.storage).expire(bank.now() + holdMs);
  await bank.charge("acc_1", { id: "req_4", key_id: "key_1", cost: 5 });
  expect((await bank.storage.reconcile()).differences).toEqual([]);
});

describe("names", () => {
  const hour = "2026-01-02T03:00Z";
  const entry = "INSERT INTO ledger_entries (id, account_id, kind, amount, request_id, key_id, created_at)";
  const cases: Record<string, [sql: string, differences: readonly (readonly [string, number, number])[]]> = {
    "a balance": ["UPDATE accounts SET balance = balance + 1", [["balance of acc_1", 4131, 4130]]],
    "a cumulative recharge": ["UPDATE accounts SET recharged = 0", [["recharge of acc_1", 0, 4000]]],
    "what an account has reserved": ["UPDATE accounts SET held = 0", [["holds of acc_1", 0, 9]]],
    "what a key has reserved": ["UPDATE api_keys SET held = 10 WHERE id = 'key_1'", [["holds of key_1", 10, 9]]],
    "what a key has spent": ["UPDATE api_keys SET spent = 29 WHERE id = 'key_1'", [["spend of key_1", 29, 30]]],
    "a hold that is gone": [
      "DELETE FROM holds",
      [
        ["holds of acc_1", 9, 0],
        ["holds of key_1", 9, 0],
      ],
    ],
    "a hold of nobody": [
      "UPDATE holds SET account_id = 'acc_9', key_id = 'key_9'",
      [
        ["holds of acc_1", 9, 0],
        ["holds of acc_9", 0, 9],
        ["holds of key_1", 9, 0],
        ["holds of key_9", 0, 9],
      ],
    ],
    "a recharge that was changed": [
      "UPDATE ledger_entries SET amount = 5001 WHERE id = 'led_kind1'",
      [
        ["balance of acc_1", 4130, 4131],
        ["recharge of acc_1", 4000, 4001],
      ],
    ],
    "a grant that became a recharge": [
      "UPDATE ledger_entries SET kind = 1 WHERE id = 'led_kind3'",
      [["recharge of acc_1", 4000, 4200]],
    ],
    "a call that is gone": [
      "DELETE FROM requests WHERE id = 'req_1'",
      [
        ["balance of acc_1", 4130, 4160],
        ["spend of key_1", 30, 0],
        [`usage of key_1 with m from ${hour}`, 30, 0],
      ],
    ],
    "a call that was moved to another key": [
      "UPDATE requests SET key_id = 'key_2' WHERE id = 'req_1'",
      [
        ["spend of key_1", 30, 0],
        ["spend of key_2", 40, 70],
        [`usage of key_1 with m from ${hour}`, 30, 0],
        [`usage of key_2 with m from ${hour}`, 40, 70],
      ],
    ],
    "a charge of no call": [
      `${entry} VALUES ('led_9', 'acc_1', 4, -40, 'req_9', 'key_2', 1)`,
      [
        ["balance of acc_1", 4130, 4090],
        ["cost of req_9", 0, 40],
        ["spend of key_2", 40, 80],
      ],
    ],
    "a call that was charged in two places": [
      `${entry} VALUES ('led_2', 'acc_1', 4, -40, 'req_2', 'key_2', 1)`,
      [
        ["balance of acc_1", 4130, 4090],
        ["cost of req_2", 40, 80],
        ["spend of key_2", 40, 80],
      ],
    ],
    "a call's cost": [
      "UPDATE requests SET cost = 31 WHERE id = 'req_1'",
      [
        ["balance of acc_1", 4130, 4129],
        ["spend of key_1", 30, 31],
        [`usage of key_1 with m from ${hour}`, 30, 31],
      ],
    ],
    "an hour's sum": [
      "UPDATE usage_hours SET cost = cost + 1 WHERE key_id = 'key_2'",
      [[`usage of key_2 with m from ${hour}`, 41, 40]],
    ],
    "an hour that is gone": [
      "DELETE FROM usage_hours WHERE key_id = 'key_1'",
      [[`usage of key_1 with m from ${hour}`, 0, 30]],
    ],
    "entries of an account that is gone": [
      "PRAGMA foreign_keys = OFF; UPDATE accounts SET id = 'acc_9'",
      [
        ["balance of acc_1", 0, 4130],
        ["balance of acc_9", 4130, 0],
        ["holds of acc_1", 0, 9],
        ["holds of acc_9", 9, 0],
        ["recharge of acc_1", 0, 4000],
        ["recharge of acc_9", 4000, 0],
      ],
    ],
  };

  for (const [name, [sql, expected]] of Object.entries(cases)) {
    test(name, async () => {
      bank.tamper(sql);
      const { differences } = await bank.storage.reconcile();
      const found = differences.map(({ what, written, derived }) => [what, written, derived]);
      expect(found.sort((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual(expected);
    });
  }
});

test("tells the operator each difference in units", async () => {
  bank.tamper("UPDATE accounts SET balance = 5000000");
  expect(await bank.ask("reconcile")).toMatchObject({
    differences: [{ what: "balance of acc_1", written: "5.00", derived: "0.00413" }],
  });
});
