/** What no sequence of recharges and calls leads to is found, also where all sums agree; and what may look like it is not. */

import { afterEach, beforeEach, expect, test } from "vitest";
import { holdMs } from "../../../src/ledger/contract.ts";
import { kinds } from "../../../src/storage/proof/finding.ts";
import { contradicting } from "../../../src/storage/proof/odd-ones-out.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";
import { tableWith } from "../../support/pages.ts";
import { onSqlite } from "../../support/storage/test-database.ts";

const hourMs = 3_600_000;

let bank: Bank;

beforeEach(async () => {
  bank = await openBank();
  await bank.storage.accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
  await bank.storage.entries.record({ id: "led_1", accountId: "acc_1", kind: 1, amount: 100, note: null, now: 1 });
  await bank.charge("acc_1", { id: "req_1", key_id: "key_1", cost: 30 });
});

afterEach(() => bank.close());

async function found(now = bank.now()): Promise<string[]> {
  const { findings } = await bank.storage.reconcile({ now });
  for (const { kind, means, repair } of findings) expect({ means, repair }).toEqual(kinds[kind]);
  return findings.map(({ kind, what, written, derived }) => `${kind}: ${what} ${written} ${derived}`);
}

async function hold(max: number): Promise<void> {
  const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m" };
  const now = bank.now();
  await bank.money.hold({ requestId: "req_4", ...names, max, min: max, now });
}

test("a prepaid account that has less than its holds", async () => {
  await hold(60);
  expect(await found()).toEqual([]);
  await bank.tamper(`UPDATE ledger_entries SET amount = 80; UPDATE accounts SET balance = 50, recharged = 80`);
  expect(await found()).toEqual(["overdrawn: balance less holds of acc_1, which is prepaid -10 0"]);
});

test("an account that owes something may, where it is or was postpaid", async () => {
  await bank.storage.accounts.update("acc_1", { postpaid: 1 });
  await bank.charge("acc_1", { id: "req_2", key_id: "key_1", cost: 500 });
  expect((await bank.storage.accounts.find("acc_1"))?.balance).toBe(-430);
  expect(await found()).toEqual([]);
  await bank.storage.accounts.update("acc_1", { postpaid: 0 });
  expect(await found()).toEqual([]);
});

test("a key that has spent and holds more than its limit", async () => {
  await hold(9);
  await bank.tamper("UPDATE api_keys SET credit_limit = 39");
  expect(await found()).toEqual([]);
  await bank.tamper("UPDATE api_keys SET credit_limit = 38");
  expect(await found()).toEqual(["over_limit: spend and holds of key_1, which has a limit 39 38"]);
});

onSqlite(() =>
  test("what is no whole number, though it counts as the right one", async () => {
    await bank.storage.accounts.insert({ id: "acc_2", name: "two", created_at: 1 });
    await bank.tamper(`UPDATE accounts SET balance = 'much' WHERE id = 'acc_2'; UPDATE accounts SET balance = '70,5' WHERE id = 'acc_1';
      UPDATE api_keys SET spent = '30 or so'; UPDATE ledger_entries SET amount = '100x'`);
    const names = ["amount of led_1", "balance of acc_1", "balance of acc_2", "spent of key_1"];
    expect((await found()).sort()).toEqual(names.map((name) => `no_number: ${name} 0 0`));
  }),
);

test("sums below 0", async () => {
  await bank.tamper(`UPDATE ledger_entries SET amount = -5, kind = 2; UPDATE accounts SET balance = -35, recharged = -5;
    UPDATE accounts SET was_postpaid = 1`);
  expect(await found()).toEqual(["below_zero: recharged of acc_1 -5 0"]);
});

test("a hold that has outlived its process by an hour", async () => {
  await hold(9);
  expect(await found(bank.now() + holdMs + hourMs)).toEqual([]);
  expect(await found(bank.now() + holdMs + hourMs + 1)).toEqual(["abandoned_hold: hold req_4 9 0"]);
});

test("a redeem code that was claimed without its recharge", async () => {
  const code = { batch_id: "bat_1", code_mask: "m", amount: 20, note: null, created_at: 1, expires_at: null };
  const codes = ["a", "b"].map((name) => ({ id: `code_${name}`, code_hash: name, ...code }));
  await bank.storage.redeemCodes.insert(codes);
  for (const codeHash of ["a", "b"])
    await bank.storage.redeemCodes.claim({ codeHash, accountId: "acc_1", entryId: `led_${codeHash}`, now: 7 });
  expect(await found()).toEqual([]);
  await bank.tamper("DELETE FROM ledger_entries WHERE id = 'led_b'; UPDATE accounts SET balance = 90, recharged = 120");
  expect(await found()).toEqual(["code_without_recharge: codes that acc_1 claimed, as code_b 40 20"]);
});

test("a redeem code that is claimed and not, or claimed and revoked", async () => {
  const code = { batch_id: "bat_1", code_mask: "m", amount: 20, note: null, created_at: 1, expires_at: null };
  await bank.storage.redeemCodes.insert([{ id: "code_a", code_hash: "a", ...code }]);
  await bank.storage.redeemCodes.claim({ codeHash: "a", accountId: "acc_1", entryId: "led_a", now: 7 });
  const contradiction = ["code_contradicts: redeem code code_a 20 0"];
  await bank.tamper("UPDATE redeem_codes SET claimed_at = NULL");
  expect(await found()).toEqual(contradiction);
  await bank.tamper("UPDATE redeem_codes SET claimed_at = 7, revoked_at = 8");
  expect(await found()).toEqual(contradiction);
  await bank.tamper("UPDATE redeem_codes SET revoked_at = NULL");
  expect(await found()).toEqual([]);
});

test("charges that could not be written, with what they come to", async () => {
  const body = JSON.stringify([
    { kind: "settle", call: { cost: 7 } },
    { kind: "free", requestId: "req_8" },
  ]);
  await bank.tamper(`INSERT INTO set_aside VALUES ('nod_1', 3, 1, '${body}'), ('nod_1', 4, 1, 'edited by hand')`);
  expect(await found()).toEqual([
    "set_aside: calls that could not be written, set aside by nod_1 as 3 0 7",
    "set_aside: calls that could not be written, set aside by nod_1 as 4 0 0",
  ]);
});

test("docs/money.md lists every kind of finding, and which of them are repaired", () => {
  const rows = tableWith("docs/money.md", "kind", "found is", "`--repair`");
  expect(rows.flatMap(([kind = ""]) => kind.replaceAll("`", "").split(", "))).toEqual(Object.keys(kinds));
  const alone = rows.flatMap(([kind = "", , repair]) =>
    repair === "alone" ? kind.replaceAll("`", "").split(", ") : [],
  );
  expect(alone).toEqual(Object.keys(contradicting));
});
