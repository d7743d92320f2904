/**
 * Calls that end in one process while its disk is full, or its database read-only: each waits, however long that lasts, and is charged once
 * when it is over. Closing waits no longer than it has to.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Outcome } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { holdMs } from "../../../../src/ledger/contract.ts";
import { mayPass } from "../../../../src/runtime/write-trouble.ts";
import { openDatabase } from "../../../../src/storage/engines/sqlite/database.ts";
import { createLeasingLedger, createPlainLedger } from "../../../support/accelerators.ts";
import { temporaryFolder } from "../../../support/command.ts";
import { fillDisk, mayMount, mountDisk } from "../../../support/disk.ts";
import { endedCall, seedsOf, sweptByAnother, unlimitedRequest } from "../../../support/money/ledger.ts";
import { reconcile } from "../../../support/money/proof.ts";
import { openLedger, type TestLedger } from "../../../support/money/sqlite-ledger.ts";

vi.setConfig({ testTimeout: 120_000 });

/** For longer than anything is tried that may be given up, in milliseconds. */
const longMs = 6_000;
const ample = 1_000_000_000;
/** More than half of what there is: the books decide on it. */
const scarce = 600_000_000;
const whole = { cost: 40, waived: 0 };
/** So many that no file's last block has room for what they cost. */
const ids = Array.from({ length: 100 }, (_, i) => `req_${100 + i}`);

const kinds = [
  ["leases and a journal", createLeasingLedger, true],
  ["leases, and no journal", createLeasingLedger, false],
  ["neither", createPlainLedger, false],
] as const;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let file: string;
let t: TestLedger;

async function openAt(path: string, create: typeof createLeasingLedger, hasJournal: boolean): Promise<void> {
  file = path;
  const { db, engine } = await openDatabase(file);
  for (const [sql, values] of seedsOf({ balance: ample })) engine.prepare(sql).run(...values);
  await db.destroy();
  t = await openLedger({}, file, create, hasJournal);
}

async function holdAll(): Promise<void> {
  for (const id of ids) {
    const held = await t.ledger.hold(unlimitedRequest(id, id === "req_150" ? scarce : 100, t.now()));
    expect(held.kind).toBe("held");
  }
}

/** endAll ends all calls, and returns what has become of them so far, and what waits for all. */
function endAll(): { readonly ended: unknown[]; readonly all: Promise<unknown> } {
  const ended: unknown[] = [];
  const end = async (id: string) => t.ledger.capture(endedCall(id, 40, t.now()));
  const all = Promise.all(ids.map(async (id) => ended.push(await end(id).catch(String))));
  return { ended, all };
}

async function expectAllCharged(): Promise<void> {
  const rows = t.engine.prepare<[], unknown>("SELECT id, outcome, cost FROM requests ORDER BY id").all();
  expect(rows).toEqual(ids.map((id) => ({ id, outcome: Outcome.ANSWERED, cost: 40 })));
  expect(t.account().balance).toBe(ample - ids.length * 40);
  expect((await reconcile(t.engine)).findings).toEqual([]);
}

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(() => folder.remove());

describe.skipIf(!mayMount()).each(kinds)("with %s, while the disk is full", (_, create, hasJournal) => {
  let disk: string;
  let unmount: () => void;

  beforeEach(async () => {
    disk = join(folder.path, "disk");
    unmount = mountDisk(disk, "8m");
    await openAt(join(disk, "gateway.db"), create, hasJournal);
  });

  afterEach(() => unmount());

  test("what ended calls cost waits for room, for longer than holds last, and new calls are refused", async () => {
    await holdAll();
    const other = openLedger({}, file, create, hasJournal);
    await other;
    const makeRoom = fillDisk(disk);
    const { ended, all } = endAll();
    await delay(longMs);
    expect(ended.length).toBeLessThan(ids.length);
    for (const captured of ended) expect(captured).toEqual(whole);
    for (const max of [0, 100, scarce]) {
      const refused = async () => t.ledger.hold(unlimitedRequest(`req_of_${max}`, max, t.now()));
      await expect(refused()).rejects.toSatisfy(mayPass);
    }
    makeRoom();
    await sweptByAnother(other);
    await all;
    expect(ended).toEqual(ids.map(() => whole));
    t.pass(2 * holdMs);
    await t.ledger.sweep();
    await expectAllCharged();
    await (await other).close();
    await t.close();
  });

  test("no other process expires what a living one holds, before that could move its deadlines on", async () => {
    await holdAll();
    const held = t.engine.prepare<[], { count: number }>("SELECT count(*) AS count FROM holds WHERE operation <> ''");
    const before = held.get();
    expect(before?.count).toBeGreaterThan(0);
    const other = await openLedger({}, file, create, hasJournal);
    const makeRoom = fillDisk(disk);
    // Before any deadline passes it has nothing to write of its own. What SQLite's file has left of its last block is soon used up.
    for (let i = 0; i < 4_000 && !other.engine.writable.trouble(); i++) await other.ledger.sweep();
    expect(other.engine.writable.trouble()).toMatch(/full/);
    makeRoom();
    for (const one of [t, other]) one.pass(holdMs + 1);
    await other.ledger.sweep();
    expect(held.get()).toEqual(before);
    // What nobody moves on expires later.
    other.pass(holdMs);
    await other.ledger.sweep();
    expect(held.get()).toEqual({ count: 0 });
    await other.close();
    await t.close();
  });

  test("closing gives up what cannot be written, in time, and the books are true afterwards", async () => {
    await holdAll();
    const makeRoom = fillDisk(disk);
    const { ended, all } = endAll();
    await delay(longMs);
    const begun = performance.now();
    await t.close();
    await all;
    expect(performance.now() - begun).toBeLessThan(10_000);
    makeRoom();
    const charged = ended.filter((one) => typeof one === "object");
    for (const captured of charged) expect(captured).toEqual(whole);
    t = await openLedger({}, file, create, hasJournal);
    t.pass(2 * holdMs);
    await t.ledger.sweep();
    expect(t.account()).toEqual({ balance: ample - charged.length * 40, held: 0 });
    const answered = "SELECT count(*) AS count FROM requests WHERE cost > 0";
    expect(t.engine.prepare<[], unknown>(answered).get()).toEqual({ count: charged.length });
    expect((await reconcile(t.engine)).findings).toEqual([]);
    await t.close();
  });
});

// What is appended to a journal needs no database.
test.each(kinds.slice(1))("with %s, a read-only database has ended calls wait, too", async (_, create, hasJournal) => {
  await openAt(join(folder.path, "gateway.db"), create, hasJournal);
  await holdAll();
  t.engine.books.prepare<[]>("PRAGMA query_only = ON").run();
  const { ended, all } = endAll();
  await delay(longMs);
  expect(ended).toEqual([]);
  t.engine.books.prepare<[]>("PRAGMA query_only = OFF").run();
  await all;
  expect(ended).toEqual(ids.map(() => whole));
  await expectAllCharged();
  await t.close();
});
