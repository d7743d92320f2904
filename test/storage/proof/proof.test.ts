/**
 * The proof that the sums of money hold: it finds nothing where everything went as it should, and names whatever was
 * changed behind everybody's back.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { holdMs } from "../../../src/ledger/contract.ts";
import { cardId } from "../../../src/ledger/price-card.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";
import { ignoreReferences } from "../../support/storage/test-database.ts";

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
  await bank.money.hold({ requestId: "req_4", ...names, max: 9, min: 9, now });
});

afterEach(() => bank.close());

const proved = () => bank.storage.reconcile({ now: bank.now() });

test("holds after recharges, refunds, grants, charges and holds", async () => {
  const counts = { accounts: 1, keys: 2, entries: 5, requests: 3, provedBefore: 0, withoutPrice: 2 };
  expect(await proved()).toEqual({ ...counts, repaired: [], findings: [] });
  expect(await bank.ask("reconcile")).toEqual({
    accounts: 1,
    entries: 5,
    requests: 3,
    proved_before: 0,
    without_price: 2,
  });
});

test("counts a call that was given up as lost, and came back", async () => {
  await bank.money.expire(bank.now() + holdMs);
  await bank.charge("acc_1", { id: "req_4", key_id: "key_1", cost: 5 });
  expect((await proved()).findings).toEqual([]);
});

describe("names", () => {
  const hour = "2026-01-02T03:00Z";
  const entry = "INSERT INTO ledger_entries (id, account_id, kind, amount, request_id, key_id, created_at)";
  const cases: Record<string, [sql: string, findings: readonly (readonly [string, number, number])[]]> = {
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
      `${ignoreReferences}; UPDATE accounts SET id = 'acc_9'`,
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
      await bank.tamper(sql);
      const { findings } = await proved();
      const found = findings.map(({ what, written, derived }) => [what, written, derived]);
      expect(found.sort((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual(expected);
    });
  }
});

test("prices calls again by the prices that they keep, and counts those that keep none", async () => {
  const card = {
    input: 5_000_000,
    output: 10_000_000,
    cache_read: 500_000,
    cache_write: 0,
    cache_write_hour: 0,
    characters: 0,
  };
  const [id, idOfNone] = [cardId(JSON.stringify(card)), cardId("{}")];
  await bank.tamper(`INSERT INTO prices VALUES ('${id}', '${JSON.stringify(card)}', 1), ('${idOfNone}', '{}', 1);
    UPDATE requests SET price_id = '${id}' WHERE id = 'req_1'`);
  const { findings, withoutPrice } = await proved();
  // 1 input token at 5, 2 cached ones at 0.5, 4 of output at 10.
  expect(findings).toMatchObject([{ kind: "price", what: "price of req_1", written: 30, derived: 46 }]);
  expect(withoutPrice).toBe(1);
  await bank.tamper(
    "UPDATE requests SET waived = 16 WHERE id = 'req_1'; UPDATE usage_hours SET waived = 16 WHERE key_id = 'key_1'",
  );
  expect((await proved()).findings).toEqual([]);
  await bank.tamper(
    `UPDATE requests SET price_parts = '[{' WHERE id = 'req_1'; UPDATE requests SET price_id = '${idOfNone}' WHERE id = 'req_2'`,
  );
  expect((await proved()).findings.map(({ what }) => what)).toEqual([
    "price of req_1, which cannot be read",
    "price of req_2, which cannot be read",
  ]);
});

test("finds a kept price that is gone or was changed, and each once", async () => {
  const card = '{"input":1,"output":1,"cache_read":1,"cache_write":1,"cache_write_hour":1,"characters":1}';
  const id = cardId(card);
  await bank.tamper(`INSERT INTO prices VALUES ('${id}', '${card}', 1);
    UPDATE requests SET price_id = '${id}', waived = 1 - cost WHERE cost > 0; UPDATE usage_hours SET waived = 1 - cost WHERE cost > 0`);
  expect((await proved()).findings).toEqual([]);
  await bank.tamper(`UPDATE prices SET card = '${card} '`);
  expect((await proved()).findings.map(({ what }) => what)).toEqual([`kept price ${id}, which was changed`]);
  await bank.tamper(
    `UPDATE requests SET price_parts = '[{"price":"prc_other","input":1}]' WHERE id = 'req_1'; DELETE FROM prices`,
  );
  const { findings, withoutPrice } = await proved();
  expect(findings.map(({ kind, what }) => [kind, what])).toEqual([
    ["price_card", "kept price prc_other, which is gone"],
    ["price_card", `kept price ${id}, which is gone`],
  ]);
  expect(withoutPrice).toBe(0);
});

test("tells the operator each difference in units", async () => {
  await bank.tamper("UPDATE accounts SET balance = 5000000");
  expect(await bank.ask("reconcile")).toMatchObject({
    differences: [{ what: "balance of acc_1", written: "5.00", derived: "0.00413" }],
  });
});
