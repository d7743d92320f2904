/** Journal files that are torn, cannot be read, or are opened by a link: no charge that a caller was told of is lost. */
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { afterEach, expect, test, vi } from "vitest";
import { holdMs } from "../../../../src/ledger/contract.ts";
import { lineOf, readLine } from "../../../../src/storage/journal/records.ts";
import { createSegments } from "../../../../src/storage/journal/segments.ts";
import { type Entry, type JournalRecord, maxWaitMs } from "../../../../src/storage/money/books.ts";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { reconcile } from "../../../support/money/proof.ts";
import {
  endedCall,
  ledgersOfTests,
  sweptByAnother,
  type TestLedger,
  unlimitedRequest,
} from "../../../support/money/sqlite-ledger.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);
const ample = 1_000_000;
afterEach(() => void vi.useRealTimers());

/** A process that has charged a call 4, and is killed. */
async function dead(): Promise<TestLedger> {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const t = await ledgerOf({ balance: ample });
  await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
  await t.ledger.capture(endedCall("r1", 4, t.now()));
  return t;
}

function recordIn(line: string): JournalRecord | undefined {
  const read = readLine(line);
  return read.kind === "record" ? read.record : undefined;
}

function balanceOnDisk(path: string): number {
  const sqlite = new Sqlite(path, { readonly: true });
  const balance = sqlite.prepare("SELECT balance FROM accounts").pluck().get() as number;
  sqlite.close();
  return balance;
}

test("a torn line spoils no other, and is reported where it is between others", async () => {
  const t = await dead();
  const [node = ""] = createSegments(`${t.path}.notes`, false).nodes();
  const file = `${t.path}.notes/${node}.jsonl`;
  appendFileSync(file, `\n{"seq":2,"entr\n5\n${JSON.stringify({ seq: 3, entries: [], at: t.now() })}\n{"torn`);
  const other = await sweptByAnother(ledgerOf({}, t.path));
  expect(balanceOnDisk(t.path)).toBe(ample - 4);
  const rejected = createSegments(`${t.path}.notes`, false).rejected(node);
  expect(rejected.map((line) => JSON.parse(line))).toEqual([
    { line: 5, reason: "it has no checksum", text: '{"seq":2,"entr' },
    { line: 6, reason: "it has no checksum", text: "5" },
    { line: 7, reason: "it has no checksum", text: expect.stringContaining('"seq":3') },
  ]);
  await expect(reconcile(other.engine)).resolves.toBeDefined();
});

test("what many calls have journaled is charged once, by another process and by their own that slept", async () => {
  const t = await dead();
  const settleAll = async (from: number) => {
    const ids = Array.from({ length: 50 }, (_, i) => `many${from + i}`);
    for (const id of ids) await t.ledger.hold(unlimitedRequest(id, 10, t.now()));
    await Promise.all(ids.map((id) => t.ledger.capture(endedCall(id, 2, t.now()))));
  };
  await settleAll(0);
  const other = await sweptByAnother(ledgerOf({}, t.path));
  expect(balanceOnDisk(t.path)).toBe(ample - 104);
  await settleAll(100);
  t.pass(holdMs);
  await t.ledger.sweep();
  expect(t.account()).toEqual({ balance: ample - 204, held: 0 });
  expect(t.key()).toEqual({ spent: 204, held: 0 });
  expect((await reconcile(other.engine)).findings).toEqual([]);
});

test("a record that is torn anywhere charges none of its calls, and no call of the record before it is lost", async () => {
  const t = await dead();
  const [node = ""] = createSegments(`${t.path}.notes`, false).nodes();
  const settled = { kind: "settle", isHeld: false, isLimited: true } as const;
  const entries: Entry[] = ["r2", "r3"].map((id) => ({ ...settled, call: endedCall(id, 5, t.now()) }));
  const line = lineOf({ seq: 2, at: t.now(), entries });
  for (let length = 1; length < line.length; length++) expect(readLine(line.slice(0, length)).kind).toBe("torn");
  appendFileSync(`${t.path}.notes/${node}.jsonl`, `\n${line.slice(0, -20)}`);
  const other = await sweptByAnother(ledgerOf({}, t.path));
  expect(balanceOnDisk(t.path)).toBe(ample - 4);
  expect((await reconcile(other.engine)).findings).toEqual([]);
});

test("what an older version has journaled is charged", async () => {
  const t = await dead();
  const lease = `${createSegments(`${t.path}.notes`, false).nodes()[0]} acc_1`;
  const call = `{"id":"r2","account_id":"acc_1","key_id":"key_1","operation":"chat","model":"m","upstream":"u","outcome":1,\
"input":3,"cache_read":0,"cache_write":0,"output":0,"reasoning":0,"characters":0,"estimated":0,"cost":3,\
"created_at":${t.now()},"duration_ms":5,"first_byte_ms":null}`;
  const entry = `{"kind":"settle","call":${call},"isHeld":true,"taken":{"leaseId":"${lease}","isOfKey":false}}`;
  writeFileSync(`${t.path}.notes/nod_0.jsonl`, `\n{"seq":1,"entries":[${entry}],"at":${t.now()}}`);
  const other = await sweptByAnother(ledgerOf({}, t.path));
  expect(balanceOnDisk(t.path)).toBe(ample - 7);
  expect(other.account().held).toBe(0);
  expect((await reconcile(other.engine)).findings).toEqual([]);
});

test("a record is read as it was written, whatever is in it", () => {
  const call = endedCall("r1", 4, 1, { tried: null, cached: 0 });
  const odd = { id: 'r"2\n', key_id: "clé", first_byte_ms: null };
  const names = [{ model: "modèle" }, { operation: "o" }, { upstream: "v" }, { account_id: "acc_2" }, { outcome: 2 }];
  const ofCall = [odd, ...names, { estimated: 1 }, { cached: 1 }, { tried: "[]" }];
  const settled = { kind: "settle", call, isHeld: true, isLimited: true } as const;
  const [ofAccount, ofKey] = [false, true].map((isOfKey) => ({ leaseId: "nod_1 acc_1", isOfKey }));
  const base = { ...settled, taken: ofAccount };
  const others: Entry[] = [
    ...ofCall.map((more) => ({ ...base, call: { ...call, ...more } })),
    { ...base, isHeld: false },
    { ...base, isLimited: false },
    { ...base, taken: ofKey },
    { ...base, taken: { leaseId: "nod_1 acc_2", isOfKey: false } },
    { ...base, taken: undefined },
  ];
  // Each differs in one thing from the one before it.
  const calls = others.flatMap((entry) => [base, entry]);
  const entries: Entry[] = [{ kind: "free", requestId: "r0" }, ...calls, { kind: "free", requestId: "r9" }];
  const read = recordIn(lineOf({ seq: 7, at: 8, entries }));
  expect(read).toMatchObject({ seq: 7, at: 8 });
  expect(read?.entries.filter(({ kind }) => kind === "settle")).toEqual(calls);
  expect(read?.entries.filter(({ kind }) => kind !== "settle")).toEqual([entries[0], entries.at(-1)]);
  for (const line of ["", "5", "null", "{}", '{"seq":1}', '{"seq":1,"at":2,"settled":[['] as const) {
    expect(readLine(line).kind).not.toBe("record");
  }
});

test("a file that cannot be read keeps no other from being written, and no hold but its own from lapsing", async () => {
  const t = await dead();
  const broken = `${t.path}.notes/nod_0.jsonl`;
  mkdirSync(broken);
  const other = await ledgerOf({}, t.path);
  const hold = other.engine.prepare<[string, string]>(
    `INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
     VALUES (?, ?, 'acc_1', 'key_1', 'chat', 'm', 0, 1, 1)`,
  );
  hold.run("of the broken", "nod_0");
  hold.run("of another", "nod_1");
  other.pass(holdMs);
  await other.ledger.sweep();
  expect(balanceOnDisk(t.path)).toBe(ample - 4);
  expect(other.engine.prepare("SELECT request_id FROM holds").all()).toEqual([{ request_id: "of the broken" }]);
  expect(other.errors.map(String)).toContainEqual(expect.stringContaining("EISDIR"));
  rmSync(broken, { recursive: true });
  writeFileSync(broken, "");
  await other.ledger.sweep();
  expect(other.engine.prepare("SELECT request_id FROM holds").all()).toEqual([]);
});

test("a process that opens the database by a link finds the same journal", async () => {
  const t = await dead();
  const link = `${t.path}.link`;
  symlinkSync(t.path, link);
  await sweptByAnother(ledgerOf({}, link));
  expect(balanceOnDisk(t.path)).toBe(ample - 4);
});

test("posting an account's calls does not wait for another process that writes", async () => {
  const t = await dead();
  const other = new Sqlite(t.path);
  other.exec("BEGIN IMMEDIATE");
  const begun = performance.now();
  expect(t.ledger.flushCallsOf("acc_1")).toBe(false);
  expect(performance.now() - begun).toBeLessThan(maxWaitMs / 2);
  other.exec("COMMIT");
  other.close();
  expect(t.ledger.flushCallsOf("acc_1")).toBe(true);
  expect(balanceOnDisk(t.path)).toBe(ample - 4);
});

test("many charges are journaled while another process writes", async () => {
  const t = await dead();
  const other = new Sqlite(t.path);
  const ids = Array.from({ length: 300 }, (_, i) => `many${i}`);
  for (const id of ids) await t.ledger.hold(unlimitedRequest(id, 10, t.now()));
  other.exec("BEGIN IMMEDIATE");
  const settled = await Promise.all(ids.map((id) => t.ledger.capture(endedCall(id, 1, t.now()))));
  other.exec("COMMIT");
  other.close();
  expect(settled.every((charged) => charged?.cost === 1)).toBe(true);
  expect(t.account().balance).toBe(ample - 304);
});

test("a hold that cannot be released is released later", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const t = await ledgerOf({ balance: 100 });
  await t.ledger.hold(unlimitedRequest("r1", 90, t.now()));
  const free = vi.spyOn(t.parts.steps, "release").mockImplementation(() => {
    throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
  });
  const freed = t.ledger.release("r1").then(
    () => "freed",
    (error: unknown) => String(error),
  );
  // Each attempt waits for as long as a busy database is waited for; the pauses between them are real.
  let isOver = false;
  void freed.then(() => (isOver = true));
  while (!isOver) {
    await delay(5);
    vi.advanceTimersByTime(1000);
  }
  expect(await freed).toContain("holds the lock");
  free.mockRestore();
  expect(t.account().held).toBe(0);
});

test("a read that fails, and during which another process stopped writing, takes back no charge", async () => {
  const t = await dead();
  const other = await ledgerOf({}, t.path);
  const statement = t.engine.prepare<[], object>("SELECT 1");
  other.engine.books.prepare("BEGIN IMMEDIATE").run();
  const read = () =>
    t.engine.read(() => {
      other.engine.books.prepare("COMMIT").run();
      statement.get();
      throw new Error("not read");
    });
  expect(read).toThrow("not read");
  expect(t.account()).toEqual({ balance: ample - 4, held: 0 });
  expect(balanceOnDisk(t.path)).toBe(ample - 4);
});
