/**
 * Calls that end while there is no owner, and whose worker ends before another comes: what they cost is kept on the machine, and charged
 * once by the next one.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Hold } from "../../../../src/ledger/contract.ts";
import { createExactLedger } from "../../../../src/ledger/exact-ledger.ts";
import { createLeasedLedger } from "../../../../src/ledger/leases/leased-ledger.ts";
import { createLeftRecords } from "../../../../src/storage/engines/owner/left-records.ts";
import { createJournalRows } from "../../../../src/storage/engines/sqlite/journal/journal-rows.ts";
import { createSegments, journalFolder } from "../../../../src/storage/journal/segments.ts";
import type { JournalRecord } from "../../../../src/storage/money/books.ts";
import { eventually } from "../../../support/eventually.ts";
import { endedCall, unlimitedRequest } from "../../../support/money/ledger.ts";
import { reconcile } from "../../../support/money/proof.ts";
import { ledgersOfTests, type TestLedger } from "../../../support/money/sqlite-ledger.ts";
import { type OwnedWorkers, ownWorkers } from "../../../support/workers/killed-owners.ts";

// Processes take a second to start, and more on a busy machine.
vi.setConfig({ testTimeout: 300_000 });

const ledgerOf = ledgersOfTests();
const [balance, hold, cost] = [1_000_000_000, 100, 70];

let seen: TestLedger;
let owned: OwnedWorkers;

beforeEach(async () => {
  seen = await ledgerOf({ balance });
  owned = await ownWorkers(seen.path);
});

afterEach(() => owned.close());

const journals = () => readdirSync(journalFolder(seen.path)).filter((name) => name.endsWith(".jsonl"));
const rows = () =>
  seen.engine.prepare<[], { id: string; cost: number }>("SELECT id, cost FROM requests ORDER BY id").all();

/** Has nobody see by a lock that the workers of this process live: one that was killed has none, and they go by deadlines alone. */
function forgetLocks(): void {
  const folder = journalFolder(seen.path);
  for (const name of readdirSync(folder)) if (name.endsWith(".lock")) rmSync(join(folder, name));
}

/** Starts an owner that counts all others as gone for good, and waits until the account is as it is to be. */
async function chargedByTheNext(): Promise<void> {
  await owned.start(200_000, false);
  await eventually(() => expect(seen.account()).toEqual({ balance: balance - cost, held: 0 }), 120_000);
  expect((await reconcile(seen.engine)).findings).toEqual([]);
  expect(rows()).toEqual([{ id: "req_1", cost }]);
}

test.each([
  ["leases", true, createLeasedLedger],
  ["no leases", false, createExactLedger],
] as const)(
  "what a call cost is charged by the next owner, and its worker does not wait for that, with %s",
  async (...of) => {
    const [, hasJournal, create] = of;
    const { ledger } = await owned.addWorker(hasJournal, create);
    const held = (await ledger.hold(unlimitedRequest("req_1", hold, Date.now()))) as Hold;
    await owned.kill();
    // As the way of a call does, so that closing waits for its charge.
    const isCaptured = ledger.begin();
    const told = Promise.resolve(ledger.capture(endedCall("req_1", cost, Date.now()), held)).finally(isCaptured);
    const before = journals().length;
    const begun = performance.now();
    ledger.ending();
    // Its caller gets the end of the answer before the process ends.
    expect(await told).toEqual({ cost, waived: 0 });
    await ledger.close();
    expect(performance.now() - begun).toBeLessThan(19_000);
    expect(journals()).toHaveLength(before + 1);
    await chargedByTheNext();
  },
);

test("what the owner has written before it died is charged once", async () => {
  const written: JournalRecord[] = [];
  const { ledger } = await owned.addWorker(true, (options) =>
    createLeasedLedger({
      ...options,
      openBooks(of) {
        const books = options.openBooks(of);
        return {
          ...books,
          write(record) {
            written.push(record);
            return books.write(record);
          },
        };
      },
    }),
  );
  const held = (await ledger.hold(unlimitedRequest("req_1", hold, Date.now()))) as Hold;
  await ledger.capture(endedCall("req_1", cost, Date.now()), held);
  expect(written.flatMap(({ entries }) => entries)).toContainEqual(expect.objectContaining({ kind: "settle" }));
  await owned.kill();
  // As where it died before it could say so.
  const told: unknown[] = [];
  const segments = createSegments(journalFolder(seen.path), false);
  const database = createJournalRows(seen.engine.books).database();
  const left = createLeftRecords({ segments, database, onError: (error) => void told.push(error) });
  for (const record of written) left.keep(record);
  forgetLocks();
  expect(told.map(String)).toEqual([expect.stringMatching(/kept in nod_\S+\.jsonl and charged by the next one/)]);
  await chargedByTheNext();
});
