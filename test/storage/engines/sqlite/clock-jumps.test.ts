/** Two gateways on one file whose machine's clock is set by hours: what each holds stays its own, for both live. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { holdMs } from "../../../../src/ledger/contract.ts";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { endedCall, holdRequest, ledgersOfTests, unlimitedRequest } from "../../../support/money/ledger.ts";
import { ledgersOfTests as sqliteLedgersOfTests } from "../../../support/money/sqlite-ledger.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);
const withoutLocks = sqliteLedgersOfTests(createLeasingLedger);
const hourMs = 3_600_000;

describe.each([
  ["an hour forward", hourMs],
  ["a day forward", 24 * hourMs],
  ["an hour back", -hourMs],
])("a clock that is set %s", (_, ms) => {
  test("ends nothing that calls of another gateway hold", async () => {
    const one = await ledgerOf({ balance: 100, limit: 100 });
    const other = await ledgerOf({}, one.database);
    const both = [one, other];
    await one.ledger.hold(holdRequest("req_1", 60, 60, one.now()));
    for (const t of both) await t.pass(ms);
    for (const t of [other, one, other]) await t.ledger.sweep();
    expect(await other.account()).toEqual({ balance: 100, held: 60 });
    expect(await other.ledger.hold(holdRequest("req_2", 60, 60, other.now()))).toMatchObject({ kind: "short" });
    expect(await one.ledger.capture(endedCall("req_1", 50, one.now()))).toEqual({ cost: 50, waived: 0 });
    expect(await other.account()).toEqual({ balance: 50, held: 0 });
    expect(await other.calls()).toMatchObject([{ id: "req_1", outcome: 1, cost: 50 }]);
  });

  test("leaves the journal of another gateway where it is", async () => {
    const one = await ledgerOf({ balance: 1_000_000 });
    const other = await ledgerOf({}, one.database);
    await one.ledger.hold(unlimitedRequest("req_1", 60, one.now()));
    await one.ledger.capture(endedCall("req_1", 50, one.now()));
    for (const t of [one, other]) await t.pass(ms);
    await other.ledger.sweep();
    const files = await one.database.query<{ node: string }>("SELECT node FROM journals WHERE is_open = 1");
    expect(files.length).toBe(1);
    expect(existsSync(join(`${one.database.path}.notes`, `${files[0]?.node}.jsonl`))).toBe(true);
  });
});

test.each([-hourMs, -24 * hourMs])(
  "a process that stood still while its clock was set by %i ms draws on no lease that others have ended",
  async (ms) => {
    // Their processes show by no lock that they live: as where they are on other machines.
    const stopped = await withoutLocks({ balance: 1_000_000 });
    await stopped.ledger.hold(unlimitedRequest("req_1", 10, stopped.now()));
    await stopped.ledger.capture(endedCall("req_1", 10, stopped.now()));
    const other = await withoutLocks({}, stopped.path);
    other.pass(holdMs);
    await other.ledger.sweep();
    expect(other.account()).toEqual({ balance: 999_990, held: 0 });
    expect(await other.ledger.hold(holdRequest("req_2", 999_990, 999_990, other.now()))).toMatchObject({
      kind: "held",
    });
    stopped.pass(ms);
    expect(await stopped.ledger.hold(unlimitedRequest("req_3", 10, stopped.now()))).toMatchObject({ kind: "short" });
  },
);
