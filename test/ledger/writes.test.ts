/** Writes that fail for a while: what is kept meanwhile, for how long, and what that costs. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, test } from "vitest";
import { createGroupCommit, type GroupCommit, type GroupCommitOptions } from "../../src/ledger/group-commit.ts";
import { LockedError } from "../../src/runtime/write-trouble.ts";
import type { Entry, JournalRecord } from "../../src/storage/money/books.ts";
import { timed } from "../support/run/running-time.ts";

/** For longer than what does not pass is tried, in milliseconds. */
const longMs = 6_000;

const withCode = (code: string) => Object.assign(new Error(code), { code });

interface Failing {
  readonly commit: GroupCommit;
  readonly written: JournalRecord[];
  readonly told: unknown[];
  /** The error of all writes; undefined for none. */
  error: unknown;
  tries: number;
}

/** failing returns a group commit over books that write nothing as long as there is an error. */
function failing(error: unknown, more: Partial<GroupCommitOptions["books"]> = {}): Failing {
  const [written, told]: [JournalRecord[], unknown[]] = [[], []];
  const books = {
    async write(record: JournalRecord) {
      state.tries++;
      if (state.error) throw state.error;
      written.push(record);
    },
    ...more,
  };
  const options = { books, clock: Date.now, onError: (one: unknown) => void told.push(one) };
  const commit = createGroupCommit(options as unknown as GroupCommitOptions);
  const state = { commit, written, told, error, tries: 0 };
  return state;
}

const entryOf = (id: string) => ({ kind: "free", requestId: id }) as Entry;

/** end adds what came of a call, and returns what becomes of it. */
async function end({ commit }: Failing, id: string): Promise<unknown> {
  commit.add(entryOf(id));
  return Promise.resolve(commit.written()).then(() => "written", String);
}

/** endMany ends calls, each in a turn of the event loop of its own. */
async function endMany(state: Failing, count: number): Promise<Promise<unknown>[]> {
  const ends: Promise<unknown>[] = [];
  for (let i = 0; i < count; i++) {
    ends.push(end(state, `req_${i}`));
    await delay(0);
  }
  return ends;
}

const idsOf = (written: readonly JournalRecord[]) =>
  written.flatMap(({ entries }) => entries.map((entry) => (entry.kind === "settle" ? "" : entry.requestId)));

describe.concurrent("while writes fail", () => {
  test.for([
    ["a full disk", withCode("SQLITE_FULL")],
    ["a full disk beneath a journal", withCode("ENOSPC")],
    ["a quota that is used up", withCode("EDQUOT")],
    ["a read-only database", withCode("SQLITE_READONLY")],
    ["a read-only disk", withCode("EROFS")],
    ["a disk that fails", withCode("EIO")],
    ["another process's lock", new LockedError()],
    ["a database that is away", withCode("DATABASE_AWAY")],
  ] as const)(
    "by %s, what ended calls cost is kept, tried all at once, and written when that is over",
    async ([, error], { expect }) => {
      const state = failing(error);
      const ends = await endMany(state, 100);
      expect(state.commit.trouble()).toBe(error);
      expect(await Promise.race([...ends, delay(longMs)])).toBeUndefined();
      expect(state.tries).toBeLessThan(30);
      expect(state.told.length).toBeLessThan(10);
      state.error = undefined;
      expect(new Set(await Promise.all(ends))).toEqual(new Set(["written"]));
      expect(idsOf(state.written)).toEqual(Array.from({ length: 100 }, (_, i) => `req_${i}`));
      expect([state.commit.trouble(), state.commit.unwritten()]).toEqual([undefined, []]);
      expect(await end(state, "req_last")).toBe("written");
    },
  );

  test("by what does not pass, each is given up after some seconds, whoever is tried with it", async ({ expect }) => {
    const state = failing(withCode("SQLITE_CORRUPT"));
    const begun = performance.now();
    const first = end(state, "req_1");
    await delay(2_000);
    const second = end(state, "req_2");
    expect(await first).toMatch(/CORRUPT/);
    expect(performance.now() - begun).toBeGreaterThan(4_000);
    expect(await Promise.race([second, delay(1_000, "waits")])).toBe("waits");
    expect(state.commit.withdraw(entryOf("req_1"))).toBe(false);
    expect(await second).toMatch(/CORRUPT/);
    expect(performance.now() - begun).toBeGreaterThan(6_000);
    expect(state.commit.trouble()).toBeUndefined();
  });

  test("by trouble, closing waits for some seconds, and gives up what is left", async ({ expect }) => {
    const state = failing(withCode("SQLITE_FULL"));
    const ended = end(state, "req_1");
    expect(await Promise.race([ended, delay(longMs, "waits")])).toBe("waits");
    const [, { runningMs }] = await timed(() => state.commit.settled());
    expect(await ended).toMatch(/FULL/);
    expect(runningMs).toBeLessThan(6_000);
  });

  test("in the middle of several records, what was written before is not written again", async ({ expect }) => {
    const state = failing(withCode("ENOSPC"));
    const ends = await endMany(state, 3);
    state.error = undefined;
    const { push } = state.written;
    state.written.push = (record: JournalRecord) => {
      push.call(state.written, record);
      // The first fits, and no other.
      if (state.written.length === 1) state.error = withCode("ENOSPC");
      return state.written.length;
    };
    await expect.poll(() => state.written.length).toBe(1);
    await delay(1_500);
    state.error = undefined;
    expect(await Promise.all(ends)).toEqual(["written", "written", "written"]);
    expect(idsOf(state.written)).toEqual(["req_0", "req_1", "req_2"]);
  });

  test("for long without an answer, that counts as trouble: no call begins on what cannot be written", async ({
    expect,
  }) => {
    const { commit } = failing(undefined, { write: () => new Promise<void>(() => {}) });
    commit.add(entryOf("req_1"));
    await delay(1_000);
    expect(commit.trouble()).toBeUndefined();
    await expect.poll(() => commit.trouble()).toBeInstanceOf(LockedError);
  });
});
