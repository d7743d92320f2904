/** What an operator is told of all accounts together, beyond what a double can count exactly: in a currency of small units that is soon. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newId } from "../../../src/runtime/ids.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";

let bank: Bank;

beforeEach(async () => {
  bank = await openBank();
});

afterEach(() => bank.close());

test("sums of all accounts are told to the last millionth, however great they are", async () => {
  for (const name of ["one", "two", "three"]) {
    const { account } = (await bank.ask("createAccount", { name })) as { account: { id: string } };
    for (let i = 0; i < 6; i++) {
      await bank.ask("recordEntry", {
        account: account.id,
        kind: "grant",
        amount: i < 5 ? "1000000000" : "999999999.999999",
      });
      const id = newId("req", bank.now());
      await bank.charge(account.id, { id, key_id: `key_${name}_${i}`, cost: i < 5 ? 1e15 : 1e15 - 1 });
    }
    const id = newId("req", bank.now());
    // No credit is left: all of it is the operator's loss.
    await bank.charge(account.id, { id, key_id: `key_${name}`, cost: 4e15 + 1 });
    bank.pass(3_600_000);
  }
  const [cost, waived] = ["17999999999.999997", "12000000000.000003"];
  const told = await bank.ask("getLosses");
  expect(told).toMatchObject({ cost, waived });
  expect((told.accounts as JsonObject[]).map((one) => one.waived)).toEqual(Array(3).fill("4000000000.000001"));
  expect((await bank.storage.reconcile({ isFull: true })).findings).toEqual([]);
});
