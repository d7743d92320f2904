/**
 * Lines of a journal that are no records: each is set aside where an operator finds it, and keeps no other line of its file from
 * being charged. The proof of the sums reports them, and what is journaled and not posted.
 */
import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test, vi } from "vitest";
import { lineOf, readLine } from "../../../../src/storage/journal/records.ts";
import { createRejects } from "../../../../src/storage/journal/rejects.ts";
import { createSegments } from "../../../../src/storage/journal/segments.ts";
import type { Entry, JournalRecord } from "../../../../src/storage/money/books.ts";
import { reconcileJournal } from "../../../../src/storage/money/reconcile-journal.ts";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { modelGateway } from "../../../support/command.ts";
import {
  endedCall,
  ledgersOfTests,
  sweptByAnother,
  type TestLedger,
  unlimitedRequest,
} from "../../../support/money/sqlite-ledger.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);
const ample = 1_000_000;

/** A process that has charged calls 4 and 7, and is killed; and the file of one of an older version. */
async function dead(): Promise<TestLedger & { readonly node: string; readonly file: string; readonly older: string }> {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const t = await ledgerOf({ balance: ample });
  for (const [id, cost] of [["r1", 4] as const, ["r2", 7] as const]) {
    await t.ledger.hold(unlimitedRequest(id, 10, t.now()));
    await t.ledger.capture(endedCall(id, cost, t.now()));
  }
  vi.useRealTimers();
  const [node = ""] = createSegments(`${t.path}.notes`, false).nodes();
  return { ...t, node, file: `${t.path}.notes/${node}.jsonl`, older: `${t.path}.notes/nod_0.jsonl` };
}

const rejectsOf = ({ engine }: TestLedger) =>
  createRejects(engine.segments)
    .all()
    .flatMap(({ rejects }) => rejects);

const settled = (id: string, at: number): Entry => ({ kind: "settle", call: endedCall(id, 5, at), isHeld: false });

/** Records with every kind of entry, in the form of this version and of older ones. */
function examples(at: number): object[] {
  const taken = { leaseId: "nod_x acc_1", isOfKey: false };
  const hold = { kind: "hold", requestId: "h1", taken, accountId: "acc_1", keyId: "key_1" } as const;
  const entries: Entry[] = [
    { ...settled("c1", at), taken } as Entry,
    { ...hold, operation: "chat", model: "m", amount: 3, createdAt: at },
    { kind: "free", requestId: "f1" },
  ];
  return [JSON.parse(lineOf({ seq: 1, at, entries })), { seq: 1, at, entries: JSON.parse(JSON.stringify(entries)) }];
}

const odd: readonly unknown[] = [null, -1, 1.5, 1e300, "x", true, [], {}, [[]], [null], { constructor: 1 }];

/** Returns the value with another in the place of each of its parts in turn, or without it. */
function* bent(value: unknown): Generator<unknown> {
  yield* odd;
  if (typeof value !== "object" || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    for (const other of bent(part)) {
      yield Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other };
    }
    const { [name]: _, ...rest } = value as Record<string, unknown>;
    yield Array.isArray(value) ? value.toSpliced(Number(name), 1) : rest;
  }
}

test("whatever is wrong with a line, the others of its file are charged", async () => {
  const t = await dead();
  const lines: string[] = [];
  let seq = 10;
  for (const example of examples(t.now())) {
    for (const value of bent(example)) {
      const isNumbered = typeof value === "object" && value !== null && Reflect.get(value, "seq") === 1;
      lines.push(JSON.stringify(isNumbered ? { ...value, seq: ++seq } : value));
    }
  }
  expect(lines.length).toBeGreaterThan(800);
  const good: JournalRecord = { seq: ++seq, at: t.now(), entries: [settled("good", t.now())] };
  appendFileSync(t.older, `\n${lines.join("\n")}\n${lineOf(good)}`);
  const other = await sweptByAnother(ledgerOf({}, t.path));
  const rows = other.engine
    .prepare<[], { id: string }>("SELECT id FROM requests WHERE id IN ('r1', 'r2', 'good')")
    .all();
  expect(rows.map(({ id }) => id).sort()).toEqual(["good", "r1", "r2"]);
  expect(Number.isSafeInteger(other.account().balance)).toBe(true);
  const others = lines.filter((line) => readLine(line).kind === "other");
  expect(others.length).toBeGreaterThan(400);
  expect(rejectsOf(t)).toHaveLength(others.length);
});

test("a line of another shape is set aside once, with its number and the reason, and the log repeats nothing of it", async () => {
  const t = await dead();
  const line = JSON.stringify({ seq: 3, at: t.now(), settled: [["a secret"]] });
  const good: JournalRecord = { seq: 4, at: t.now(), entries: [settled("good", t.now())] };
  appendFileSync(t.older, `\n${line}\n${lineOf(good)}`);
  const other = await sweptByAnother(ledgerOf({}, t.path));
  await other.ledger.sweep();
  expect(other.account().balance).toBe(ample - 16);
  const aside = readFileSync(`${t.older}.rejected`, "utf8");
  expect(JSON.parse(aside)).toEqual({ line: 2, reason: "its calls are no lists", text: line });
  expect(rejectsOf(t)).toHaveLength(1);
  expect(other.errors.map(String)).toEqual([
    expect.stringContaining("1 line or part of the journal of nod_0 cannot be charged"),
  ]);
  expect(other.errors.map(String).join()).not.toContain("secret");
});

test("the command reports charges that are not posted, and lines that were set aside, until there are none", async () => {
  const t = await dead();
  const reconcile = () => modelGateway(["reconcile"], { DATA_DIR: dirname(t.path) });
  const dying = await reconcile();
  expect(dying.stdout.split("\n", 2)).toEqual([
    `calls in the journal of ${t.node} that are not posted: 2: 0.00 is written, 0.000011 follows`,
    // Its process died months ago, by the clock of the command.
    expect.stringMatching(/^hold nod_\w+ acc_1 \d+: /),
  ]);
  expect([dying.code, dying.stderr]).toEqual([1, expect.stringContaining("2 findings")]);
  appendFileSync(
    t.older,
    `\n{"seq":3}\n${lineOf({ seq: 4, at: t.now(), entries: [{ kind: "free", requestId: "x" }] })}`,
  );
  const told = "line 2 of the journal of nod_0, which is no record: it tells of no calls\n";
  expect((await reconcile()).stdout).toContain(told);
  await sweptByAnother(ledgerOf({}, t.path));
  const swept = await reconcile();
  expect([swept.code, swept.stdout]).toEqual([1, expect.stringMatching(`^${told}\\n.*no record`)]);
  rmSync(`${t.older}.rejected`);
  const clean = await reconcile();
  expect([clean.code, clean.stdout]).toEqual([0, expect.stringContaining("The sums hold")]);
});

test("what a process that lives has journaled a moment ago is waited for, and reported where it stays", async () => {
  let [now, posted] = [1_000, 0];
  const record: JournalRecord = { seq: 1, at: 900, entries: [settled("c1", 900)] };
  const segments = {
    ...{ nodes: () => ["nod_1"], nodesRejected: () => [], rejected: () => [], reject: () => 0 },
    read: () => ({ head: { kind: "none" } as const, lines: [{ number: 2, text: lineOf(record) }] }),
  };
  const row = () => ({ node: "nod_1", posted, sum: null, isOpen: false });
  const rows = { database: () => "dba_1", find: row, open: () => [row()] };
  const pauses: number[] = [];
  const proofAfter = (onPause: () => void) =>
    reconcileJournal({
      ...{ segments, rows },
      clock: () => now,
      async pause(ms) {
        pauses.push(ms);
        now += ms;
        onPause();
      },
    });
  const afterThree = () => {
    if (pauses.length === 3) posted = 1;
  };
  expect(await proofAfter(afterThree)).toEqual([]);
  expect(pauses).toHaveLength(3);
  [now, posted] = [1_000, 0];
  expect(await proofAfter(() => {})).toMatchObject([
    { kind: "journal_unposted", what: "calls in the journal of nod_1 that are not posted: 1", written: 0, derived: 5 },
  ]);
  expect(now).toBe(5_900);
});
