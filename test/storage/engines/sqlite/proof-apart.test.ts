/** A gateway has the sums of its file proved in a thread of its own, so that calls go on: it finds what a proof in any thread finds. */
import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStorage, type Storage } from "../../../../src/storage/storage.ts";
import { type Bank, openBank } from "../../../support/money/bank.ts";

const now = Date.UTC(2026, 0, 2);

let bank: Bank;
/** Opened as a gateway does. */
let storage: Storage;
let threads: Worker[] = [];
const onThread = (thread: Worker) => void threads.push(thread);

beforeEach(async () => {
  bank = await openBank();
  await bank.storage.accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
  await bank.storage.entries.record({ id: "led_1", accountId: "acc_1", kind: 1, amount: 5000, note: null, now: 1 });
  storage = await openStorage(bank.database.path);
  threads = [];
  process.on("worker", onThread);
});

afterEach(async () => {
  process.off("worker", onThread);
  await storage.close();
  await bank.close();
});

test("a thread proves sums that are right", async () => {
  expect(await storage.reconcile({ now })).toMatchObject({ accounts: 1, entries: 1, findings: [] });
  expect(threads).toHaveLength(1);
});

test("a thread finds a sum that is wrong, and repairs it where it is asked to", async () => {
  await bank.tamper("UPDATE accounts SET balance = balance + 7");
  const found = await storage.reconcile({ now });
  expect(threads).toHaveLength(1);
  expect(found.findings).toMatchObject([{ written: 5007, derived: 5000 }]);
  expect(found).toEqual(await bank.storage.reconcile({ now }));
  expect(threads).toHaveLength(1);
  expect((await storage.reconcile({ now, isRepairing: true })).repaired).toEqual(
    found.findings.map(({ what }) => what),
  );
  expect((await bank.storage.reconcile({ now })).findings).toEqual([]);
});

test("the proof fails where its thread ends before it", async () => {
  process.once("worker", (thread) => void thread.terminate());
  await expect(storage.reconcile({ now })).rejects.toThrow("the thread that reconciles ended before its proof did");
});
