/**
 * Workers whose ledgers ask one owner for money, over real sockets and a real file: what is decided, what comes back when another is
 * short, and what becomes of a worker that dies at any moment.
 */
import { setTimeout as delay } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Outcome } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import type { Hold, Ledger, Short } from "../../../../src/ledger/contract.ts";
import { createExactLedger } from "../../../../src/ledger/exact-ledger.ts";
import { createLeasedLedger } from "../../../../src/ledger/leases/leased-ledger.ts";
import { newId } from "../../../../src/runtime/ids.ts";
import type { BooksQuestions, LedgerQuestions } from "../../../../src/storage/engines/owner/contract.ts";
import { createNodeLocks } from "../../../../src/storage/engines/sqlite/node-lock.ts";
import { lineOf } from "../../../../src/storage/journal/records.ts";
import { createSegments } from "../../../../src/storage/journal/segments.ts";
import { openSentLog, sentLogs } from "../../../../src/storage/journal/sent-log.ts";
import { holdMs, type JournalRecord } from "../../../../src/storage/money/books.ts";
import type { Storage } from "../../../../src/storage/storage.ts";
import {
  type OwnedStorage,
  openStorageOfOwner,
  openStorageOfWorker,
} from "../../../../src/storage/storage-of-owner.ts";
import { eventually } from "../../../support/eventually.ts";
import { endedCall, unlimitedRequest } from "../../../support/money/ledger.ts";
import { reconcile } from "../../../support/money/proof.ts";
import { ledgersOfTests, type TestLedger } from "../../../support/money/sqlite-ledger.ts";
import { timed } from "../../../support/run/running-time.ts";
import { connectEnds, createLinked, type Linked } from "../../../support/workers/channels.ts";

const ledgerOf = ledgersOfTests();
const ample = 1_000_000;

/** A worker of the test's own process, with a socket to its owner. */
interface TestWorker {
  readonly ends: Linked;
  readonly storage: Storage;
  readonly ledger: Ledger;
  hold(id: string, max: number): Promise<Hold | Short>;
}

let seen: TestLedger;
let owner: OwnedStorage;
let workers: TestWorker[];
let errors: unknown[];
/** By how much the owner's clock has been set forward, in milliseconds. */
let ahead = 0;

const onError = (error: unknown) => void errors.push(error);

async function addWorker(hasJournal = true, create = createLeasedLedger): Promise<TestWorker> {
  const ends = createLinked();
  await ends.connect(owner.books.serve);
  const storage = await openStorageOfWorker(seen.path, "process", ends.link);
  const ledger = create({ openBooks: storage.openBooks(hasJournal), clock: Date.now, onError: () => {} });
  const hold = async (id: string, max: number) => ledger.hold(unlimitedRequest(id, max, Date.now()));
  const worker = { ends, storage, ledger, hold };
  workers.push(worker);
  return worker;
}

async function capture({ ledger }: TestWorker, held: Hold | Short, cost: number): Promise<unknown> {
  if (held.kind === "short") throw new Error("nothing is held");
  return ledger.capture(endedCall(held.request.requestId, cost, Date.now()), held);
}

/** Waits until the owner has settled what dead workers left. */
const settled = (balance: number) =>
  eventually(async () => {
    await owner.storage.holds.total();
    expect(seen.account()).toEqual({ balance, held: 0 });
  });

const outcomes = () =>
  seen.engine
    .prepare<[], { id: string; outcome: number; cost: number }>("SELECT id, outcome, cost FROM requests ORDER BY id")
    .all();

beforeEach(async () => {
  errors = [];
  workers = [];
  ahead = 0;
  seen = await ledgerOf({ balance: ample });
  const of = { node: newId("nod"), clock: () => Date.now() + ahead, onError, isSuccessor: false };
  owner = await openStorageOfOwner(seen.path, "process", of);
});

afterEach(async () => {
  for (const { ends, storage } of workers) {
    await ends.kill();
    await storage.close();
  }
  await owner.books.close();
  await owner.storage.close();
  expect(errors).toEqual([]);
});

describe.each([
  ["a journal", true, createLeasedLedger],
  ["leases, and no journal", false, createLeasedLedger],
  ["neither", false, createExactLedger],
] as const)("workers with %s", (_, hasJournal, create) => {
  test("charge what calls cost, once, and what they have told is seen by another", async () => {
    const [one, other] = [await addWorker(hasJournal, create), await addWorker(hasJournal, create)];
    for (const [i, worker] of [one, other, one, other].entries())
      expect(await capture(worker, await worker.hold(`req_${i}`, 100), 10)).toEqual({ cost: 10, waived: 0 });
    expect(await other.storage.accounts.find("acc_1")).toMatchObject({ balance: ample - 40 });
    for (const { ledger } of workers) await ledger.close();
    await settled(ample - 40);
    expect((await reconcile(seen.engine)).findings).toEqual([]);
  });

  test("that die leave what was told charged, their calls lost, and their credit free at once", async () => {
    const [one, other] = [await addWorker(hasJournal, create), await addWorker(hasJournal, create)];
    await capture(one, await one.hold("req_1", 100), 10);
    await one.hold("req_2", 100);
    await delay(5);
    // What is on its way to the owner when the worker dies may count or not: the call is lost either way.
    await one.hold("req_3", 100);
    await one.ends.kill();
    // As its process closes all that it has open.
    await one.storage.close();
    await settled(ample - 10);
    await eventually(() => expect(outcomes().length).toBeGreaterThan(1));
    expect(outcomes()).toMatchObject(
      [
        { id: "req_1", outcome: Outcome.ANSWERED, cost: 10 },
        { id: "req_2", outcome: Outcome.LOST, cost: 0 },
      ].concat(outcomes().length > 2 ? [{ id: "req_3", outcome: Outcome.LOST, cost: 0 }] : []),
    );
    expect(await capture(other, await other.hold("req_4", 100), 10)).toEqual({ cost: 10, waived: 0 });
    expect((await reconcile(seen.engine)).findings).toEqual([]);
  });
});

describe("a worker that is short", () => {
  test("has what others lease without need", async () => {
    const [one, other] = [await addWorker(), await addWorker()];
    await capture(one, await one.hold("req_1", 100), 0);
    const leased = ample - seen.account().balance + seen.account().held;
    expect(leased).toBeGreaterThan(0);
    // All that there is.
    expect(await other.hold("req_2", ample)).toMatchObject({ kind: "held", amount: ample });
    expect(await one.hold("req_3", 1)).toMatchObject({ kind: "short", available: 0 });
  });

  test("is refused after a moment where another does not answer, and served once that is dead", async () => {
    const [one, other] = [await addWorker(), await addWorker()];
    await capture(one, await one.hold("req_1", 100), 0);
    one.ends.link.answer<Pick<LedgerQuestions, "ledger.recall">>({ "ledger.recall": () => new Promise(() => {}) });
    const begunAt = performance.now();
    expect(await other.hold("req_2", ample)).toMatchObject({ kind: "short" });
    expect(performance.now() - begunAt).toBeGreaterThan(300);
    one.ends.kill();
    await settled(ample);
    expect(await other.hold("req_3", ample)).toMatchObject({ kind: "held", amount: ample });
  });

  test("of its budget is refused at once, and nobody gives back leases for it", async () => {
    const [one, other] = [await addWorker(), await addWorker()];
    await capture(one, await one.hold("req_1", 100), 0);
    let recalls = 0;
    one.ends.link.answer<Pick<LedgerQuestions, "ledger.recall">>({
      "ledger.recall"() {
        recalls++;
        return new Promise(() => {});
      },
    });
    const ofKey = JSON.stringify([{ id: "bud_1", amount: 50, period: "day", rolling: false }]);
    await owner.storage.keys.update("acc_1", "key_1", { budgets: ofKey }, Date.now());
    const asked = { ...unlimitedRequest("req_2", 100, Date.now()), budgets: { zone: null, ofAccount: null, ofKey } };
    expect(await other.ledger.hold(asked)).toMatchObject({ kind: "short", of: "budget", available: 50 });
    expect(recalls).toBe(0);
  });

  test("has what another was to give back while the database was locked for long", async () => {
    const [one, other] = [await addWorker(), await addWorker()];
    await capture(one, await one.hold("req_1", 100), 0);
    const locker = new Sqlite(seen.path);
    locker.exec("BEGIN IMMEDIATE");
    await expect(one.hold("req_2", ample)).rejects.toMatchObject({ code: "SQLITE_BUSY" });
    locker.exec("ROLLBACK");
    locker.close();
    expect(await other.hold("req_3", ample)).toMatchObject({ kind: "held", amount: ample });
  });

  test("takes a lease that grows at this very moment into account: no credit is lost", async () => {
    const [one, other] = [await addWorker(), await addWorker()];
    // Both at once, again and again: leases grow while they are recalled.
    for (let round = 0; round < 30; round++) {
      const [mine, all] = await Promise.all([one.hold(`req_a${round}`, 100), other.hold(`req_b${round}`, ample - 100)]);
      if (mine.kind === "held") await one.ledger.release(mine);
      if (all.kind === "held") await other.ledger.release(all);
      expect([mine.kind, all.kind]).toEqual(["held", "held"]);
    }
    for (const { ledger } of workers) await ledger.close();
    await settled(ample);
  });
});

test("a record counts once, whatever brings it, and however often", async () => {
  const ends = await connectEnds();
  owner.books.serve(ends.parent);
  const { ask } = ends.child.by<BooksQuestions>();
  await ask("books.open", { node: newId("nod"), hasJournal: true, sender: newId("nod"), before: null });
  const record = (seq: number): JournalRecord => {
    const call = endedCall(`req_${seq}`, 10, Date.now());
    return { seq, at: Date.now(), entries: [{ kind: "settle", call, isHeld: false, isLimited: false }] };
  };
  const hold = { ...unlimitedRequest("req_h", 100, Date.now()), lease: { id: "lease", isOfKey: false } };
  const turn = { captures: [], releases: [], leases: [] };
  // The lease makes the journal begin.
  await ask("books.decide", { ...turn, records: [], holds: [hold] });
  await Promise.all([
    ask("books.write", record(1)),
    ask("books.write", record(1)),
    ask("books.decide", { ...turn, records: [record(1), record(2)], holds: [] }),
    ask("books.write", record(2)),
    ask("books.write", record(3)),
    ask("books.close", { records: [record(2), record(3)], leases: ["lease"] }),
  ]);
  ends.kill();
  await settled(ample - 30);
  expect(outcomes().filter(({ cost }) => cost > 0)).toHaveLength(3);
});

test("leases that are recalled are said to be back only where all workers have answered", async () => {
  const [one, other] = [await addWorker(), await addWorker()];
  await capture(one, await one.hold("req_1", 100), 0);
  expect(await other.storage.recall("acc_1")).toBe(true);
  await capture(one, await one.hold("req_2", 100), 0);
  one.ends.link.answer<Pick<LedgerQuestions, "ledger.recall">>({ "ledger.recall": () => new Promise(() => {}) });
  expect(await other.storage.recall("acc_1")).toBe(false);
});

test("a worker goes on where the clock is set forward by more than a deadline, and what its calls hold stays", async () => {
  const [one, other] = [await addWorker(), await addWorker()];
  const running = await one.hold("req_1", 100);
  await capture(one, await one.hold("req_2", 100), 10);
  // All that its journal has is in the database.
  await owner.storage.holds.total();
  seen.engine.prepare("UPDATE accounts SET held = held + 1").run();
  seen.engine
    .prepare<
      [number],
      unknown
    >(`INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
      VALUES ('lease of the dead', 'nod_dead', 'acc_1', '', '', '', 1, 1, ?)`)
    .run(Date.now() + holdMs);
  ahead = 100 * holdMs;
  // Where one dies the owner looks for what others have left.
  await other.ends.kill();
  await eventually(() => expect(lookedAt()).toBe(true));
  expect(outcomes()).toEqual([{ id: "req_2", outcome: Outcome.ANSWERED, cost: 10 }]);
  expect(await capture(one, running, 30)).toEqual({ cost: 30, waived: 0 });
  expect(await capture(one, await one.hold("req_3", 100), 20)).toEqual({ cost: 20, waived: 0 });
  await one.ledger.close();
  await settled(ample - 60);
  expect((await reconcile(seen.engine)).findings).toEqual([]);
});

/** lookedAt reports whether a hold is gone that nobody renews, and so whether its deadline was looked at. */
function lookedAt(): boolean {
  return seen.engine.prepare<[], unknown>("SELECT 1 FROM holds WHERE node = 'nod_dead'").get() === undefined;
}

describe("a change", () => {
  test("by one worker is known by the others when it is answered", async () => {
    const [one, other] = [await addWorker(), await addWorker()];
    const before = [one.storage.version(), other.storage.version()];
    await one.storage.keys.revoke("key_1", Date.now());
    expect(one.storage.version()).not.toBe(before[0]);
    expect(other.storage.version()).not.toBe(before[1]);
  });

  test("by another process is known within a moment, and what calls write is none", async () => {
    const worker = await addWorker();
    await capture(worker, await worker.hold("req_1", 100), 10);
    const before = worker.storage.version();
    await capture(worker, await worker.hold("req_2", 100), 10);
    await delay(200);
    expect(worker.storage.version()).toBe(before);
    seen.engine.prepare<[]>("UPDATE api_keys SET name = 'other'").run();
    const [, { runningMs }] = await timed(() => eventually(() => expect(worker.storage.version()).not.toBe(before)));
    expect(runningMs).toBeLessThan(1_000);
  });
});

test("a worker whose owner is gone waits for another, is refused after five seconds, and says soon that it is not ready", async () => {
  const worker = await addWorker();
  const held = await worker.hold("req_1", 100);
  expect(worker.storage.writable.trouble()).toBeUndefined();
  const changes: (string | undefined)[] = [];
  worker.storage.writable.onChange(() => changes.push(worker.storage.writable.trouble()));
  await worker.ends.kill();
  const begunAt = performance.now();
  const refused = { code: "DATABASE_AWAY" };
  await Promise.all([
    expect(worker.storage.accounts.find("acc_1")).rejects.toMatchObject(refused),
    expect(worker.hold("req_2", ample)).rejects.toMatchObject(refused),
    eventually(() => expect(worker.storage.writable.trouble()).toContain("ended")),
  ]);
  expect(performance.now() - begunAt).toBeGreaterThan(4_000);
  expect(changes.at(-1)).toContain("ended");
  expect(held.kind).toBe("held");
});

/** Makes the log of a worker that is no more, of calls that it has sent. */
function noteCalls(sender: string, ids: readonly string[]): void {
  const { segments } = seen.engine;
  const log = openSentLog({ folder: segments.folder, node: sender, database: seen.parts.rows.database(), onError });
  const holds = ids.map((id) => {
    const { requestId, accountId, keyId, operation, model } = unlimitedRequest(id, 100, Date.now());
    const names = { requestId, accountId, keyId, operation, model, createdAt: Date.now() };
    return { kind: "hold" as const, ...names, amount: 100, taken: { leaseId: "lease", isOfKey: false } };
  });
  log.note(holds, 1, 0);
}

describe("calls that were only noted when their worker died", () => {
  test("are lost, and what was written of others is not", async () => {
    const ends = await connectEnds();
    owner.books.serve(ends.parent);
    const { ask } = ends.child.by<BooksQuestions>();
    const sender = newId("nod");
    await ask("books.open", { node: newId("nod"), hasJournal: true, sender, before: null });
    noteCalls(sender, ["req_1", "req_2", "req_3"]);
    const call = endedCall("req_1", 10, Date.now());
    const settled1 = { kind: "settle", call, isHeld: false, isLimited: false } as const;
    const begun = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m", createdAt: Date.now() };
    const held = { kind: "hold", requestId: "req_2", ...begun, amount: 0, taken: undefined } as const;
    await ask("books.write", { seq: 1, at: Date.now(), entries: [settled1, held] });
    ends.kill();
    await settled(ample - 10);
    await eventually(() => expect(outcomes()).toHaveLength(3));
    expect(outcomes()).toMatchObject([
      { id: "req_1", outcome: Outcome.ANSWERED, cost: 10 },
      { id: "req_2", outcome: Outcome.LOST, cost: 0 },
      { id: "req_3", outcome: Outcome.LOST, cost: 0 },
    ]);
    expect(seen.engine.segments.folder).toSatisfy((folder: string) => sentLogs(folder).length === 0);
    expect((await reconcile(seen.engine)).findings).toEqual([]);
  });

  test("are lost where its owner died with it, and another process looks, but not those of one that lives", async () => {
    const [dead, living] = [newId("nod"), newId("nod")];
    noteCalls(dead, ["req_1", "req_2"]);
    noteCalls(living, ["req_3"]);
    const unlock = createNodeLocks(seen.engine.segments.folder, onError).keep(living);
    await seen.ledger.sweep();
    const lost = { outcome: Outcome.LOST, cost: 0 };
    expect(outcomes()).toEqual([
      { id: "req_1", ...lost },
      { id: "req_2", ...lost },
    ]);
    // What such a worker had ended is charged, whatever is found later.
    const call = endedCall("req_1", 10, Date.now());
    const [hold] = [await seen.ledger.hold(unlimitedRequest("req_1", 10, Date.now()))];
    expect(hold).toMatchObject({ kind: "held" });
    expect(await seen.ledger.capture(call)).toEqual({ cost: 10, waived: 0 });
    await seen.ledger.sweep();
    await eventually(() => expect(outcomes()[0]).toMatchObject({ id: "req_1", outcome: Outcome.ANSWERED, cost: 10 }));
    unlock();
    await seen.ledger.sweep();
    expect(outcomes().at(-1)).toEqual({ id: "req_3", ...lost });
    expect((await reconcile(seen.engine)).findings).toEqual([]);
  });

  test("are not lost where a journal that is not posted yet has their end, as of an owner that was killed a moment ago", async () => {
    const [dead, node] = [newId("nod"), newId("nod")];
    noteCalls(dead, ["req_1", "req_2"]);
    const now = seen.now();
    const { segments } = seen.engine;
    const killed = createSegments(segments.folder, false);
    killed.open(node, seen.parts.rows.database(), now);
    const entry = { kind: "settle", call: endedCall("req_1", 10, now), isHeld: false, isLimited: false } as const;
    killed.append(node, lineOf({ seq: 1, at: now, entries: [entry] }), 1, now);
    await seen.ledger.sweep();
    expect(outcomes()).toEqual([{ id: "req_2", outcome: Outcome.LOST, cost: 0 }]);
    seen.pass(6_000);
    await seen.ledger.sweep();
    expect(outcomes()[0]).toEqual({ id: "req_1", outcome: Outcome.ANSWERED, cost: 10 });
  });
});

test("a worker that dies while its turn waits for others has what it told charged, and what it noted not written twice", async () => {
  const other = await addWorker();
  await capture(other, await other.hold("req_0", 100), 0);
  const recalled = Promise.withResolvers<void>();
  other.ends.link.answer<Pick<LedgerQuestions, "ledger.recall">>({
    "ledger.recall"() {
      recalled.resolve();
      return new Promise(() => {});
    },
  });
  const ends = await connectEnds();
  owner.books.serve(ends.parent);
  const { ask } = ends.child.by<BooksQuestions>();
  const sender = newId("nod");
  await ask("books.open", { node: newId("nod"), hasJournal: true, sender, before: null });
  const { accountId, keyId, operation, model } = unlimitedRequest("req_1", 100, Date.now());
  const begun = { requestId: "req_1", accountId, keyId, operation, model, createdAt: Date.now() };
  noteCalls(sender, ["req_1"]);
  const call = endedCall("req_2", 10, Date.now());
  const entries = [
    { kind: "hold", ...begun, amount: 0, taken: undefined } as const,
    { kind: "settle", call, isHeld: false, isLimited: false } as const,
  ];
  const short = { ...unlimitedRequest("req_3", ample, Date.now()), lease: undefined };
  const turn = { captures: [], releases: [], leases: [], holds: [short] };
  void ask("books.decide", { ...turn, records: [{ seq: 1, at: Date.now(), entries }] }).then(undefined, () => {});
  await recalled.promise;
  ends.kill();
  await eventually(() => expect(outcomes().map(({ id }) => id)).toEqual(["req_0", "req_1", "req_2"]));
  other.ends.kill();
  await settled(ample - 10);
  expect(outcomes()).toMatchObject([
    { id: "req_0", cost: 0 },
    { id: "req_1", outcome: Outcome.LOST, cost: 0 },
    { id: "req_2", outcome: Outcome.ANSWERED, cost: 10 },
  ]);
  expect((await reconcile(seen.engine)).findings).toEqual([]);
});

test("a call that is noted just behind the turn that brings its hold has one hold, and is lost once with its worker", async () => {
  const ends = await connectEnds();
  owner.books.serve(ends.parent);
  const { ask } = ends.child.by<BooksQuestions>();
  const sender = newId("nod");
  await ask("books.open", { node: newId("nod"), hasJournal: true, sender, before: null });
  const lease = { id: "lease", isOfKey: false };
  const turn = { captures: [], releases: [], leases: [] };
  await ask("books.decide", {
    ...turn,
    records: [],
    holds: [{ ...unlimitedRequest("req_h", 100, Date.now()), lease }],
  });
  const request = { ...unlimitedRequest("req_1", 10, Date.now()), createdAt: Date.now() };
  const taken = { leaseId: lease.id, isOfKey: false };
  const record = { seq: 1, at: Date.now(), entries: [{ kind: "hold" as const, ...request, amount: 10, taken }] };
  const deciding = ask("books.decide", { ...turn, records: [record], holds: [] });
  noteCalls(sender, ["req_1"]);
  await deciding;
  await ask("books.renew", null);
  ends.kill();
  await settled(ample);
  await eventually(() => expect(outcomes()).toMatchObject([{ id: "req_1", outcome: Outcome.LOST, cost: 0 }]));
  expect(errors).toEqual([]);
  expect((await reconcile(seen.engine)).findings).toEqual([]);
});
