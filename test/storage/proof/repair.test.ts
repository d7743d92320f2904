/**
 * `reconcile --repair` sets a sum that alone is wrong to what follows, and records that in the audit log. Where other sums contradict, it
 * changes nothing: whoever lost rows must not have the books fitted to what is left of them.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { proveAndRepair } from "../../../src/storage/proof/repair.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";
import { openToProve } from "../../support/money/proof.ts";
import { ignoreReferences } from "../../support/storage/test-database.ts";

let bank: Bank;

beforeEach(async () => {
  bank = await openBank();
  await bank.storage.accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
  await bank.storage.entries.record({ id: "led_1", accountId: "acc_1", kind: 1, amount: 5000, note: null, now: 1 });
  await bank.charge("acc_1", { id: "req_1", key_id: "key_1", cost: 30 });
  await bank.charge("acc_1", { id: "req_2", key_id: "key_2", cost: 40 });
  const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m" };
  const now = bank.now();
  await bank.money.hold({ requestId: "req_4", ...names, max: 9, min: 9, now });
});

afterEach(() => bank.close());

const proved = (isRepairing = false) => bank.storage.reconcile({ now: bank.now(), isRepairing });

describe("sets right", () => {
  const cases: Record<string, string> = {
    "a balance": "UPDATE accounts SET balance = balance + 7",
    "what counts for the tier": "UPDATE accounts SET recharged = 1",
    "what is held of an account": "UPDATE accounts SET held = 1000",
    "what is held of a key": "UPDATE api_keys SET held = 10 WHERE id = 'key_1'",
    "what is left of a hold that is gone": "DELETE FROM holds",
    "what a key has spent": "UPDATE api_keys SET spent = 29 WHERE id = 'key_1'",
    "what an hour cost": "UPDATE usage_hours SET cost = 1 WHERE key_id = 'key_1'",
    "an hour that is gone": "DELETE FROM usage_hours WHERE key_id = 'key_1'",
    "the tokens of an hour": "UPDATE usage_hours SET input = 9, output = 0 WHERE key_id = 'key_1'",
    "several at once": "UPDATE accounts SET recharged = 1; UPDATE api_keys SET held = 3 WHERE id = 'key_2'",
  };

  for (const [name, sql] of Object.entries(cases)) {
    test(name, async () => {
      await bank.tamper(sql);
      const { findings, repaired } = await proved(true);
      expect(findings.length).toBeGreaterThan(0);
      expect(repaired).toEqual(findings.map(({ what }) => what));
      expect((await proved()).findings).toEqual([]);
      const events = await bank.storage.auditEvents.page({ action: "Proof.Repaired", limit: 10 });
      expect(events.map(({ details }) => JSON.parse(details).what).toSorted()).toEqual(repaired.toSorted());
      expect(events[0]).toMatchObject({ account_id: "acc_1", actor_kind: "command_line" });
    });
  }
});

describe("leaves to a person", () => {
  const cases: Record<string, string> = {
    "a call that is gone": "DELETE FROM requests WHERE id = 'req_1'",
    "a call that was moved": "UPDATE requests SET key_id = 'key_2' WHERE id = 'req_1'",
    "a call whose cost was changed": "UPDATE requests SET cost = 31 WHERE id = 'req_1'",
    "an entry that was changed": "UPDATE ledger_entries SET amount = 5001",
    "an account that is gone": `${ignoreReferences}; UPDATE accounts SET id = 'acc_9'`,
    "a call that was charged twice": `INSERT INTO ledger_entries (id, account_id, kind, amount, request_id, key_id, created_at)
      VALUES ('led_2', 'acc_1', 4, -40, 'req_2', 'key_2', 1)`,
    "calls that were set aside": "INSERT INTO set_aside VALUES ('n', 1, 1, '[]')",
  };

  for (const [name, sql] of Object.entries(cases)) {
    test(name, async () => {
      await bank.tamper(sql);
      const { findings, repaired } = await proved(true);
      expect(findings.length).toBeGreaterThan(0);
      expect(repaired).toEqual([]);
      expect((await proved()).findings).toEqual(findings);
      expect(await bank.storage.auditEvents.page({ limit: 10 })).toEqual([]);
    });
  }
});

test("charges that come between the proof and the repair are kept", async () => {
  await bank.tamper("UPDATE accounts SET balance = balance + 7");
  const db = await openToProve(bank.database);
  const proving = proveAndRepair(db, { now: bank.now(), isRepairing: true });
  expect((await proving.next()).value).toMatchObject({ kind: "balance" });
  await bank.charge("acc_1", { id: "req_5", key_id: "key_1", cost: 11 });
  expect(await proving.next()).toMatchObject({ done: true, value: { repaired: ["balance of acc_1"] } });
  await db.destroy();
  expect((await bank.storage.accounts.find("acc_1"))?.balance).toBe(5000 - 30 - 40 - 11);
  expect((await proved()).findings).toEqual([]);
});

test("of two repairs of the same findings one is made", async () => {
  await bank.tamper("UPDATE accounts SET balance = balance + 7");
  const [one, other] = [await openToProve(bank.database), await openToProve(bank.database)];
  const proofs = [one, other].map((db) => proveAndRepair(db, { now: bank.now(), isRepairing: true }));
  for (const proving of proofs) expect((await proving.next()).value).toMatchObject({ kind: "balance" });
  expect(await proofs[0]?.next()).toMatchObject({ done: true });
  await expect(proofs[1]?.next()).rejects.toThrow("repaired sums meanwhile");
  for (const db of [one, other]) await db.destroy();
  expect((await proved()).findings).toEqual([]);
});
