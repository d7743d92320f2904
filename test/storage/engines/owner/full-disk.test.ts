/**
 * Workers whose owner is killed, and followed by others, while the disk of their database is full: calls that end meanwhile wait, however
 * long that lasts, and are charged once there is room. New calls are refused.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Outcome } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import type { Hold } from "../../../../src/ledger/contract.ts";
import { createExactLedger } from "../../../../src/ledger/exact-ledger.ts";
import { createLeasedLedger } from "../../../../src/ledger/leases/leased-ledger.ts";
import { mayPass } from "../../../../src/runtime/write-trouble.ts";
import { openDatabase } from "../../../../src/storage/engines/sqlite/database.ts";
import { temporaryFolder } from "../../../support/command.ts";
import { fillDisk, mayMount, mountDisk } from "../../../support/disk.ts";
import { eventually } from "../../../support/eventually.ts";
import { endedCall, seedsOf, unlimitedRequest } from "../../../support/money/ledger.ts";
import { reconcile } from "../../../support/money/proof.ts";
import { ledgersOfTests, type TestLedger } from "../../../support/money/sqlite-ledger.ts";
import { type OwnedWorker, type OwnedWorkers, ownWorkers } from "../../../support/workers/killed-owners.ts";

// Processes take a second to start, and more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

/** For longer than anything is tried that may be given up, in milliseconds. */
const longMs = 7_000;
const ample = 1_000_000_000;
/** More than half of what there is: the books decide on it. */
const scarce = 600_000_000;

const whole = { cost: 40, waived: 0 };

const ledgerOf = ledgersOfTests();
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let unmount: () => void;
let seen: TestLedger;
let owned: OwnedWorkers;
let makeRoom: () => void;

describe.skipIf(!mayMount())("while the disk is full, and owners are killed", () => {
  beforeEach(async () => {
    folder = await temporaryFolder();
    const disk = join(folder.path, "disk");
    unmount = mountDisk(disk, "8m");
    const file = join(disk, "gateway.db");
    const { db, engine } = await openDatabase(file);
    for (const [sql, values] of seedsOf({ balance: ample })) engine.prepare(sql).run(...values);
    seen = await ledgerOf({}, file);
    await db.destroy();
    owned = await ownWorkers(file, Date.now, /full|ENOSPC|no space left/);
    makeRoom = () => {};
  });

  afterEach(async () => {
    makeRoom();
    await owned.close();
    await seen.close();
    unmount();
    await folder.remove();
  });

  const fill = () => {
    makeRoom = fillDisk(join(folder.path, "disk"));
  };
  const hold = ({ ledger }: OwnedWorker, id: string, max: number) => ledger.hold(unlimitedRequest(id, max, Date.now()));
  const rows = () =>
    seen.engine
      .prepare<[], { id: string; outcome: Outcome; cost: number }>("SELECT id, outcome, cost FROM requests ORDER BY id")
      .all();

  describe.each([
    ["a journal", true, createLeasedLedger],
    ["leases, and no journal", false, createLeasedLedger],
    ["neither", false, createExactLedger],
  ] as const)("workers with %s", (_, hasJournal, create) => {
    test("have calls that end charged once there is room, whoever the owner is then", async () => {
      const worker = await owned.addWorker(hasJournal, create);
      const ids = Array.from({ length: 100 }, (_, i) => `req_${100 + i}`);
      const holds: Hold[] = [];
      for (const id of ids) holds.push((await hold(worker, id, id === "req_133" ? scarce : 100)) as Hold);
      await owned.kill();
      await owned.start();
      // It is decided by the next owner, which keeps the books from then on.
      holds.push((await hold(worker, "req_200", 100)) as Hold);
      fill();
      const ended = new Map<string, unknown>();
      const ending = holds.map(async (held) => {
        const id = held.request.requestId;
        const captured = async () => worker.ledger.capture(endedCall(id, 40, Date.now()), held);
        ended.set(id, await captured().catch(String));
      });
      await delay(longMs);
      // It may be that the last block of a file has room for one or the other.
      expect(ended.size).toBeLessThan(holds.length);
      for (const captured of ended.values()) expect(captured).toEqual(whole);
      for (const max of [0, 100, scarce]) await expect(hold(worker, `req_of_${max}`, max)).rejects.toSatisfy(mayPass);
      // Another takes that one's place, and finds no room either.
      await owned.kill();
      await owned.start();
      await expect(hold(worker, "req_new", 100)).rejects.toSatisfy(mayPass);
      makeRoom();
      await Promise.all(ending);
      expect([...ended.values()]).toEqual(holds.map(() => whole));
      holds.push((await hold(worker, "req_last", 100)) as Hold);
      expect(await worker.ledger.capture(endedCall("req_last", 40, Date.now()), holds.at(-1))).toEqual(whole);
      await worker.ledger.close();
      await eventually(() => expect(seen.account()).toEqual({ balance: ample - holds.length * 40, held: 0 }));
      expect(rows()).toEqual(
        holds.map(({ request }) => ({ id: request.requestId, outcome: Outcome.ANSWERED, cost: 40 })),
      );
      expect((await reconcile(seen.engine)).findings).toEqual([]);
    });
  });

  test("leases that are recalled meanwhile are released behind what their calls cost", async () => {
    const [one, other] = [
      await owned.addWorker(false, createLeasedLedger),
      await owned.addWorker(false, createLeasedLedger),
    ];
    const held = (await hold(one, "req_1", 100)) as Hold;
    expect(held.lease?.idle).toBeGreaterThan(0);
    fill();
    const captured = Promise.resolve(one.ledger.capture(endedCall("req_1", 40, Date.now()), held));
    // The owner asks for what is kept of the account, gets it, and cannot write it.
    await other.storage.recall("acc_1");
    expect(held.lease?.isGone).toBe(true);
    makeRoom();
    expect(await captured).toEqual(whole);
    await one.ledger.sweep();
    expect(seen.engine.prepare<[], unknown>("SELECT * FROM holds").all()).toEqual([]);
    expect(seen.account()).toEqual({ balance: ample - 40, held: 0 });
    expect((await reconcile(seen.engine)).findings).toEqual([]);
  });
});
