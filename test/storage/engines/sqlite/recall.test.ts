/** What gateways lease of an account, and have not written of its calls, is had back by others on the same file, which cannot speak with them. */
import { expect, test } from "vitest";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { endedCall, ledgersOfTests, type TestLedger, unlimitedRequest } from "../../../support/money/ledger.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);
const [balance, account] = [1_000_000, "acc_1"];
/** Opens a gateway; another one on the same file where the first is given. */
const gateway = (first?: TestLedger) => ledgerOf({ balance }, first?.database);

/** The sums as they are on the disk: what another gateway would have to write is not in them. */
async function onDisk({ database }: TestLedger): Promise<object> {
  const [sums] = await database.query("SELECT a.held, k.held AS held_of_key FROM accounts a, api_keys k");
  return sums as object;
}

test("idle leases are given back, and what running calls hold of each key is written", async () => {
  const first = await gateway();
  const second = await gateway(first);
  await first.ledger.hold(unlimitedRequest("r1", 10, first.now()));
  await first.ledger.hold(unlimitedRequest("r2", 30, first.now()));
  expect(await second.storage.recall(account)).toBe(true);
  expect(await onDisk(first)).toEqual({ held: 40, held_of_key: 40 });
  // The calls go on, and are charged as ever.
  await first.ledger.capture(endedCall("r1", 4, first.now()));
  await first.ledger.capture(endedCall("r2", 30, first.now()));
  expect(await first.account()).toEqual({ balance: balance - 34, held: 0 });
  expect((await first.storage.reconcile()).findings).toEqual([]);
});

test("all that is left may be refunded at another gateway", async () => {
  const first = await gateway();
  const second = await gateway(first);
  await first.ledger.hold(unlimitedRequest("r1", 10, first.now()));
  await first.ledger.capture(endedCall("r1", 10, first.now()));
  await second.storage.recall(account);
  const refund = {
    id: "led_1",
    accountId: account,
    kind: 2,
    amount: balance - 10,
    note: null,
    now: first.now(),
  } as const;
  expect(await second.storage.entries.record(refund)).toMatchObject({ kind: "recorded" });
  expect(await first.ledger.hold(unlimitedRequest("r2", 10, first.now()))).toMatchObject({ kind: "short" });
});

test("one that does not answer is told of", async () => {
  const first = await gateway();
  await first.database.exec(`INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
    VALUES ('lease of the dead', 'nod_dead', '${account}', '', '', '', 7, 1, 9000000000000)`);
  await first.database.exec("UPDATE accounts SET held = 7");
  expect(await first.storage.recall(account)).toBe(false);
});
