/**
 * Journals whose files were altered, cut, lost, or put elsewhere: each is found and named, by the proof of the sums and by the gateway
 * that starts, and whatever is whole of them is charged once.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, test, vi } from "vitest";
import { holdMs } from "../../../../src/ledger/contract.ts";
import { checkJournal } from "../../../../src/storage/journal/check.ts";
import { headBytes } from "../../../../src/storage/journal/head.ts";
import { createRejects } from "../../../../src/storage/journal/rejects.ts";
import { createSegments } from "../../../../src/storage/journal/segments.ts";
import { reconcileJournal } from "../../../../src/storage/money/reconcile-journal.ts";
import { createLeasingLedger } from "../../../support/accelerators.ts";
import { reconcile } from "../../../support/money/proof.ts";
import {
  charge,
  endedCall,
  ledgersOfTests,
  sweptByAnother,
  type TestLedger,
  unlimitedRequest,
} from "../../../support/money/sqlite-ledger.ts";

const ledgerOf = ledgersOfTests(createLeasingLedger);
const ample = 1_000_000;

afterEach(() => void vi.useRealTimers());

interface Dead extends TestLedger {
  readonly node: string;
  readonly file: string;
}

/** A process that has charged calls 1, 2, 4 and 8, each a record of its own behind that of its hold, and is killed. */
async function dead(standing = { balance: ample }, path?: string): Promise<Dead> {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const before = path ? createSegments(`${path}.notes`, false).nodes() : [];
  const t = await ledgerOf(standing, path);
  for (const cost of [1, 2, 4, 8]) await charge(t, `r${cost}`, cost);
  vi.useRealTimers();
  const [node = ""] = createSegments(`${t.path}.notes`, false)
    .nodes()
    .filter((one) => !before.includes(one));
  return { ...t, node, file: `${t.path}.notes/${node}.jsonl` };
}

/** What the proof finds beside the database: each finding's kind. */
async function found({ engine, parts: { rows } }: TestLedger, at: number): Promise<string[]> {
  let now = at;
  const findings = await reconcileJournal({
    ...{ segments: engine.segments, rows, clock: () => now },
    async pause(ms) {
      now += ms;
    },
  });
  return findings.map(({ kind }) => kind).sort();
}

/** Lines of a file behind its head, each with the line end before it. */
const linesIn = (file: string) =>
  readFileSync(file, "utf8")
    .slice(headBytes)
    .split(/(?=\n)/);
const headIn = (file: string) => readFileSync(file, "utf8").slice(0, headBytes);
const put = (file: string, lines: readonly string[]) => writeFileSync(file, headIn(file) + lines.join(""));
const costs = (t: TestLedger) =>
  t.engine.books
    .prepare<[], { cost: number }>("SELECT cost FROM requests WHERE outcome <> 5 ORDER BY cost")
    .all()
    .map(({ cost }) => cost);

/** Returns the line of a call's charge. */
const lineOf = (lines: readonly string[], id: string) =>
  lines.findIndex((line) => line.includes(`"${id}"`) && line.includes("settled"));

async function swept(t: Dead): Promise<TestLedger> {
  const other = await sweptByAnother(ledgerOf({}, t.path));
  expect((await reconcile(other.engine)).findings).toEqual([]);
  return other;
}

test("a journal that is whole is posted, and its file goes once its process cannot come back", async () => {
  const t = await dead();
  expect(await found(t, t.now())).toEqual(["journal_unposted"]);
  const other = await ledgerOf({}, t.path);
  other.pass(6_000);
  await other.ledger.sweep();
  expect(costs(other)).toEqual([1, 2, 4, 8]);
  expect(existsSync(t.file)).toBe(true);
  const read = vi.spyOn(other.engine.segments, "read");
  await other.ledger.sweep();
  expect(read).not.toHaveBeenCalled();
  other.pass(holdMs);
  await other.ledger.sweep();
  expect(existsSync(t.file)).toBe(false);
  expect(other.parts.rows.find(t.node)).toMatchObject({ isOpen: false });
  other.pass(24 * 3_600_000);
  await other.ledger.sweep();
  expect(other.parts.rows.find(t.node)).toBeUndefined();
  expect(await found(other, other.now())).toEqual([]);
  expect(other.errors).toEqual([]);
});

test("a process that ends in order leaves neither a file nor a row", async () => {
  const t = await dead();
  expect(t.parts.rows.find(t.node)).toMatchObject({ isOpen: true });
  await t.ledger.close();
  expect(existsSync(t.file)).toBe(false);
  expect(t.parts.rows.find(t.node)).toBeUndefined();
  expect(costs(t)).toEqual([1, 2, 4, 8]);
});

test("a call that died in its first moments, before anything was posted, is recorded as lost", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const t = await ledgerOf({ balance: ample });
  await charge(t, "first", 1);
  await t.ledger.hold(unlimitedRequest("young", 10, t.now()));
  await new Promise(setImmediate);
  const other = await sweptByAnother(ledgerOf({}, t.path));
  const rows = other.engine.prepare("SELECT id, outcome, cost FROM requests ORDER BY id").all();
  expect(rows).toEqual([
    { id: "first", outcome: 1, cost: 1 },
    { id: "young", outcome: 5, cost: 0 },
  ]);
  expect(other.account()).toEqual({ balance: ample - 1, held: 0 });
  expect((await reconcile(other.engine)).findings).toEqual([]);
});

describe("a journal is named, and what is whole of it charged, where", () => {
  test("a digit of it was altered", async () => {
    const t = await dead();
    const lines = linesIn(t.file);
    const at = lineOf(lines, "r4");
    put(t.file, lines.with(at, (lines[at] as string).replace('"r4","key_1",4', '"r4","key_1",5')));
    expect(await found(t, t.now())).toEqual(["journal_unposted", "journal_unreadable"]);
    const other = await swept(t);
    expect(costs(other)).toEqual([1, 2, 8]);
    expect(other.errors.map(String)).toEqual([expect.stringMatching(/1 line or part .* altered/)]);
    expect(await found(other, other.now())).toEqual(["journal_unreadable"]);
    // Until an operator has looked at it.
    rmSync(`${t.file}.rejected`);
    expect(await found(other, other.now())).toEqual([]);
  });

  test("it ends before its end, between two lines", async () => {
    const t = await dead();
    const lines = linesIn(t.file);
    put(t.file, lines.slice(0, lineOf(lines, "r8")));
    expect(await found(t, t.now())).toEqual(["journal_cut", "journal_unposted"]);
    const other = await swept(t);
    expect(costs(other)).toEqual([1, 2, 4]);
    expect(other.errors.map(String)).toEqual([expect.stringMatching(/its end is missing/)]);
    expect(await found(other, other.now())).toEqual(["journal_cut"]);
  });

  test("lines in its midst are gone", async () => {
    const t = await dead();
    const lines = linesIn(t.file);
    put(t.file, lines.toSpliced(lineOf(lines, "r2"), 1));
    expect(await found(t, t.now())).toEqual(["journal_gap", "journal_unposted"]);
    const other = await swept(t);
    expect(costs(other)).toEqual([1, 4, 8]);
    expect(await found(other, other.now())).toEqual(["journal_gap"]);
  });

  test("a line stands twice: it is charged once", async () => {
    const t = await dead();
    const lines = linesIn(t.file);
    const at = lineOf(lines, "r2");
    put(t.file, lines.toSpliced(at, 0, lines[at] as string));
    expect(await found(t, t.now())).toContain("journal_gap");
    expect(costs(await swept(t))).toEqual([1, 2, 4, 8]);
  });

  test("its file is gone", async () => {
    const t = await dead();
    rmSync(t.file);
    expect(await found(t, t.now())).toEqual(["journal_lost"]);
    const other = await swept(t);
    expect(other.errors.map(String)).toEqual([expect.stringMatching(/its file is gone/)]);
    expect(await found(other, other.now())).toEqual(["journal_lost"]);
  });

  test("its head is damaged", async () => {
    const t = await dead();
    writeFileSync(t.file, `${"\0".repeat(headBytes)}${linesIn(t.file).join("")}`);
    expect(await found(t, t.now())).toContain("journal_head");
    const other = await swept(t);
    expect(costs(other)).toEqual([1, 2, 4, 8]);
    expect(await found(other, other.now())).toContain("journal_head");
  });

  test("it goes on from another state of the database, as after a restore", async () => {
    const t = await dead();
    const journal = readFileSync(t.file);
    t.account(); // Posts what is in it.
    t.engine.books.prepare("UPDATE journals SET posted = 3, sum = 'ffffffff'").run();
    writeFileSync(t.file, journal);
    expect(await found(t, t.now())).toContain("journal_elsewhere");
  });
});

describe("a file that is another's is left alone, and named:", () => {
  test("another process's, by whose name it is called", async () => {
    const t = await dead();
    const [first, second] = [t, await dead(undefined, t.path)];
    const aside = `${first.file}.aside`;
    for (const [from, to] of [
      [first.file, aside],
      [second.file, first.file],
      [aside, second.file],
    ] as const)
      renameSync(from, to);
    expect(await found(t, t.now())).toEqual(["journal_foreign", "journal_foreign"]);
    const other = await swept(t);
    expect(costs(other)).toEqual([]);
    expect(other.errors.map(String)).toEqual([
      expect.stringMatching(/left alone: it is the journal of nod_/),
      expect.stringMatching(/left alone: it is the journal of nod_/),
    ]);
    for (const [from, to] of [
      [first.file, aside],
      [second.file, first.file],
      [aside, second.file],
    ] as const)
      renameSync(from, to);
    await other.ledger.sweep();
    expect(costs(other)).toEqual([1, 2, 4, 8]);
  });

  test("another database's", async () => {
    const [t, foreign] = [await dead(), await dead()];
    copyFileSync(foreign.file, `${t.path}.notes/${foreign.node}.jsonl`);
    expect(await found(t, t.now())).toEqual(["journal_foreign", "journal_unposted"]);
    const other = await swept(t);
    await other.ledger.sweep();
    expect(costs(other)).toEqual([1, 2, 4, 8]);
    expect(other.account().balance).toBe(ample - 15);
    // It is told once, and found for as long as it is there.
    expect(other.errors.map(String)).toEqual([expect.stringMatching(/it belongs to another database/)]);
    expect(await found(other, other.now())).toEqual(["journal_foreign"]);
  });
});

test("whatever byte of a file is another, and wherever it is cut, that is found, or no charge depends on it", async () => {
  const t = await dead();
  const row = t.parts.rows.find(t.node);
  const options = { segments: createSegments(`${t.path}.notes`, false), database: t.parts.rows.database() };
  const look = () => checkJournal(t.node, row, options);
  const bytes = readFileSync(t.file);
  const whole = look();
  expect(whole).toMatchObject({ faults: [], rejected: [] });
  const isSeen = () => {
    const { faults = [], rejected = [], records = [] } = look() ?? {};
    const isSame = JSON.stringify(records) === JSON.stringify(whole?.records);
    return faults.length + rejected.length > 0 || isSame;
  };
  const unseen: string[] = [];
  for (let at = 0; at < bytes.length; at += 2) {
    const changed = Buffer.from(bytes);
    changed[at] = (bytes[at] as number) ^ (1 << (at % 7));
    writeFileSync(t.file, changed);
    if (!isSeen()) unseen.push(`${at}: ${changed[at]}`);
  }
  for (let length = bytes.length - 1; length >= 0; length -= length > 300 ? 3 : 1) {
    writeFileSync(t.file, bytes);
    truncateSync(t.file, length);
    if (!isSeen()) unseen.push(`cut at ${length}`);
  }
  expect(unseen).toEqual([]);
  writeFileSync(t.file, bytes);
});

test("a process that was still for so long that others removed its journal begins another", async () => {
  const t = await dead();
  const other = await swept(t);
  other.pass(holdMs);
  await other.ledger.sweep();
  expect(existsSync(t.file)).toBe(false);
  t.pass(2 * holdMs);
  await t.ledger.sweep();
  expect(existsSync(t.file)).toBe(true);
  await other.ledger.sweep();
  expect(other.errors).toEqual([]);
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  await charge(t, "r9", 9);
  expect(await found(t, t.now())).toEqual(["journal_unposted"]);
  other.pass(2 * holdMs);
  await other.ledger.sweep();
  expect(costs(other)).toEqual([1, 2, 4, 8, 9]);
  expect(other.errors).toEqual([]);
  expect(await found(other, other.now())).toEqual([]);
});

test("a torn last line is in order: nobody was told of a charge in it", async () => {
  const t = await dead();
  writeFileSync(t.file, `${readFileSync(t.file, "utf8")}\n{"seq":99,"at":1,"settl`);
  expect(await found(t, t.now())).toEqual(["journal_unposted"]);
  const other = await swept(t);
  expect(costs(other)).toEqual([1, 2, 4, 8]);
  expect(other.errors).toEqual([]);
  expect(createRejects(other.engine.segments).all()).toEqual([]);
});

test("a long file is emptied while its process lives, and goes on from where it was", async () => {
  const t = await ledgerOf({ balance: ample * 1000 });
  const many = async (from: number) => {
    const ids = Array.from({ length: 300 }, (_, i) => `m${from + i}`);
    for (const id of ids) await t.ledger.hold(unlimitedRequest(id, 10, t.now()));
    await Promise.all(ids.map((id) => t.ledger.capture(endedCall(id, 1, t.now()))));
  };
  await many(0);
  t.account();
  await many(1000);
  const [node = ""] = createSegments(`${t.path}.notes`, false).nodes();
  t.account();
  expect(readFileSync(`${t.path}.notes/${node}.jsonl`).length).toBeLessThan(66_000);
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  await charge(t, "last", 3);
  expect(await found(t, t.now())).toEqual(["journal_unposted"]);
  const other = await sweptByAnother(ledgerOf({}, t.path));
  expect(costs(other).at(-1)).toBe(3);
  expect(other.errors).toEqual([]);
});
