/**
 * Posts the journals of processes that died, and finds those that are lost, cut, altered or another's: what is whole of them is
 * charged, and the rest is kept for an operator.
 *
 * A journal of a process that died is read only if its head says that it is not posted. Its file goes once the process cannot come back
 * to it: one that stood still for longer than its leases last asks the database for everything.
 */
import { firstIdAt } from "../../../../runtime/ids.ts";
import { dayMs } from "../../../../runtime/time/durations.ts";
import { counted } from "../../../../runtime/words/counted.ts";
import { troubleOf } from "../../../../runtime/write-trouble.ts";
import { type CheckedJournal, checkJournal, type JournalFault, lostFault } from "../../../journal/check.ts";
import { createRejects } from "../../../journal/rejects.ts";
import { type BooksOptions, holdMs } from "../../../money/books.ts";
import { applyEach } from "../books/apply-each.ts";
import type { BooksParts } from "../books/parts.ts";
import { createRecordSent } from "./record-sent.ts";

/** A journal whose last record is older than this was left behind: a process that lives posts its own long before. */
const leftBehindMs = 5_000;
/** endedMs is how long after the start of its process the row of a journal is kept that has ended. */
const endedMs = dayMs;

/**
 * createRecover returns a function that posts them, and returns the processes whose journals cannot be read. Those whose books are open in
 * this process live, whatever the clock says; `living` are others that do: of theirs, what they had no time to post is posted, and their
 * files stay.
 */
export function createRecover(
  parts: BooksParts,
  options: BooksOptions,
): (living: readonly string[]) => readonly string[] {
  const { engine, rows, own } = parts;
  const { node, onError } = options;
  const reported = new Set<string>();
  const isOther = (owner: string) => owner !== node && !own.has(owner);
  const recordSent = createRecordSent(parts, options);

  /** Returns false where it failed. Throws where another process is writing: then all of it is tried again. */
  function tried(owner: string, work: (owner: string) => void): boolean {
    try {
      work(owner);
      return true;
    } catch (error) {
      if (troubleOf(error) === "locked") throw error;
      onError(error);
      return false;
    }
  }

  return (living) => {
    const others = engine.segments.nodes().filter(isOther);
    const recover = (owner: string) => recoverOne(owner, parts, options, reported, living.includes(owner));
    const unreadable = others.filter((owner) => !tried(owner, recover));
    const withoutFile = rows.open().filter((row) => isOther(row.node) && !others.includes(row.node));
    for (const row of withoutFile) tried(row.node, (one) => recoverLost(one, parts, options));
    for (const sender of recordSent.nodes()) tried(sender, recordSent.of);
    tried(node, () => rows.forgetEnded(firstIdAt("nod", options.clock() - endedMs)));
    return unreadable;
  };
}

/**
 * createPostNow returns a function that posts the journal of a process that is known to be gone, at once. Throws where another process is
 * writing.
 */
export function createPostNow(parts: BooksParts, options: BooksOptions): (owner: string) => void {
  const { engine, rows } = parts;
  const reported = new Set<string>();
  return (owner) => {
    const row = rows.find(owner);
    const found = checkJournal(owner, row, { segments: engine.segments, database: rows.database() });
    if (!found) return row?.isOpen ? recoverLost(owner, parts, options) : undefined;
    if (found.faults.some(({ kind }) => kind === "foreign")) report(owner, found.faults, options, reported);
    else post(owner, found, parts, options);
  };
}

function recoverOne(
  owner: string,
  parts: BooksParts,
  options: BooksOptions,
  reported: Set<string>,
  isLiving: boolean,
): void {
  const { engine, rows } = parts;
  const { segments } = engine;
  const now = options.clock();
  const row = rows.find(owner);
  const read = segments.head(owner);
  const head = read?.kind === "head" ? read.head : undefined;
  if (head && head.database === rows.database() && head.node === owner) {
    if (head.seq <= (row?.posted ?? 0)) {
      if (!isLiving) removeAbandoned(owner, head.at, parts, now);
      return;
    }
    // The head is a sign of life as well as the last record.
    if (head.at > now - leftBehindMs) return;
  }
  const found = checkJournal(owner, row, { segments, database: rows.database() });
  if (found?.faults.some(({ kind }) => kind === "foreign")) report(owner, found.faults, options, reported);
  else if (found && found.at <= now - leftBehindMs) {
    post(owner, found, parts, options);
    if (isLiving) return;
    if (found.isOlder) remove(owner, parts);
    else removeAbandoned(owner, found.at, parts, now);
  }
}

/** report tells of a file that is not touched, once. */
function report(
  owner: string,
  faults: readonly JournalFault[],
  { onError }: BooksOptions,
  reported: Set<string>,
): void {
  if (reported.has(owner)) return;
  reported.add(owner);
  for (const { reason } of faults) onError(new Error(`the journal of ${owner} is left alone: ${reason}`));
}

function post(owner: string, found: CheckedJournal, parts: BooksParts, options: BooksOptions): void {
  const { engine, rows } = parts;
  const { onError } = options;
  engine.books.transact(() => {
    // From now on it is known which accounts and keys have budgets.
    engine.version(true);
    const posted = rows.find(owner)?.posted ?? 0;
    const unposted = found.records.filter(({ record }) => record.seq > posted);
    const last = unposted.at(-1);
    keepRejects(owner, found, posted, parts, options);
    if (!last) return;
    rows.advance(owner, last.record.seq, last.sum);
    // It is rare: so whatever cannot be written is found by applying call by call from the start.
    const records = unposted.map(({ record }) => record);
    applyEach({ records, node: owner, expiresAt: found.at + holdMs, onError }, parts);
  });
}

function keepRejects(
  owner: string,
  found: CheckedJournal,
  posted: number,
  parts: BooksParts,
  options: BooksOptions,
): void {
  const lines = found.rejected.filter(({ seq = posted + 1 }) => seq > posted);
  if (lines.length + found.faults.length === 0) return;
  const added = createRejects(parts.engine.segments).add(owner, lines, found.faults);
  if (added === 0) return;
  const reasons = [...lines, ...found.faults].map(({ reason }) => reason);
  options.onError(
    new Error(
      `${counted(added, "line or part", "lines or parts")} of the journal of ${owner} cannot be charged and ${added === 1 ? "is" : "are"} set aside: ${[...new Set(reasons)].join("; ")}`,
    ),
  );
}

/** removeAbandoned removes a journal that is posted, once its process cannot come back to it. */
function removeAbandoned(owner: string, at: number, parts: BooksParts, now: number): void {
  if (now - at >= holdMs) remove(owner, parts);
}

/**
 * In this order: a journal that has ended needs no file. Its row stays for a day: a process that stood still for so long finds there
 * what is posted of its records.
 */
function remove(owner: string, { engine, rows }: BooksParts): void {
  engine.books.transact(() => rows.end(owner));
  engine.segments.remove(owner);
}

function recoverLost(owner: string, parts: BooksParts, options: BooksOptions): void {
  const { engine, rows } = parts;
  engine.books.transact(() => {
    // It may have ended, or have been begun again, meanwhile.
    if (!rows.find(owner)?.isOpen || engine.segments.head(owner)) return;
    const none = { records: [], rejected: [], at: 0, isOlder: false, faults: [lostFault] };
    keepRejects(owner, none, 0, parts, options);
    rows.forget(owner);
  });
}
