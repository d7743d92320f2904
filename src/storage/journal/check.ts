/**
 * Reads a node's journal, and finds what is wrong with it: lines that were altered, lines that are missing, and a file that is lost, cut,
 * or another's. The chain of its lines, its head and the database's row each say what must be there.
 *
 * A last line that is torn is in order: its process died while it wrote it, and nobody was told of a charge in it.
 */
import type { JournalRecord } from "../money/books.ts";
import { firstSum, readChained } from "./chain.ts";
import type { Head } from "./head.ts";
import { readLine } from "./records.ts";
import type { NumberedLine, Segments, SegmentText } from "./segments.ts";

/** JournalRow is what the database knows of a node's journal. */
export interface JournalRow {
  readonly node: string;
  /** The last record that is applied. */
  readonly posted: number;
  /** The sum of the last line that is applied; null where an older version applied it. */
  readonly sum: string | null;
  /** isOpen says that the journal was begun, and has not ended: its file must be there. */
  readonly isOpen: boolean;
}

/** RejectedLine is a line of a journal file that is no record. */
export interface RejectedLine {
  readonly line: number;
  readonly reason: string;
  readonly text: string;
  /** The record that it claims to be; undefined where it names none. */
  readonly seq: number | undefined;
}

/** FaultKind says what became of a journal. */
export type FaultKind = "lost" | "cut" | "gap" | "foreign" | "head" | "elsewhere";

/** JournalFault is what is wrong with a journal as a whole. */
export interface JournalFault {
  readonly kind: FaultKind;
  /** reason is what is wrong, in words that name no charge. */
  readonly reason: string;
}

export interface ReadRecord {
  readonly record: JournalRecord;
  /** The sum of its line; undefined for one of an older version. */
  readonly sum: string | undefined;
}

export interface CheckedJournal {
  /** Whole records in the order in which they were appended, posted or not; none of a file that is another's. */
  readonly records: readonly ReadRecord[];
  /** Lines between them that are no records. */
  readonly rejected: readonly RejectedLine[];
  readonly faults: readonly JournalFault[];
  /** The last sign of life of its process, in milliseconds since 1970. */
  readonly at: number;
  /** isOlder says that an older version wrote it, or that it came out of a back-up: its process is gone for certain. */
  readonly isOlder: boolean;
}

export interface CheckOptions {
  readonly segments: Pick<Segments, "read">;
  /** Names the database. */
  readonly database: string;
}

/** checkJournal returns undefined where there is no file. `row` is undefined where the database knows nothing of the journal. */
export function checkJournal(
  node: string,
  row: JournalRow | undefined,
  { segments, database }: CheckOptions,
): CheckedJournal | undefined {
  const text = segments.read(node);
  if (!text) return undefined;
  const head = text.head.kind === "head" ? text.head.head : undefined;
  if (head && (head.database !== database || head.node !== node)) {
    const reason = head.node === node ? "it belongs to another database" : `it is the journal of ${head.node}`;
    const none = { records: [], rejected: [], at: head.at, isOlder: false };
    return { ...none, faults: [{ kind: "foreign", reason }] };
  }
  const read = readLines(text, head?.base);
  const posted = row?.posted ?? 0;
  // Where the database knows that it has begun, it had a head.
  const isOlder = text.head.kind === "none" && !row?.isOpen;
  const at = Math.max(head?.at ?? 0, read.records.at(-1)?.record.at ?? 0);
  const links = head ? linkFaults(head, read, row, head.base === firstSum(database, node)) : [];
  const faults = isOlder ? [] : [...headFaults(head, read, posted), ...read.faults, ...links];
  return { records: read.records, rejected: read.rejected, faults, at, isOlder };
}

/** lostFault is the fault of a journal whose file is gone. */
export const lostFault: JournalFault = {
  kind: "lost",
  reason: "its file is gone, and charges of the last moments of its process with it",
};

interface ReadLines {
  readonly records: ReadRecord[];
  readonly rejected: RejectedLine[];
  readonly faults: JournalFault[];
  /** Every sum that its lines know of, which the database's must be among. */
  readonly sums: Set<string>;
}

function readLines({ lines, head }: SegmentText, base: string | undefined): ReadLines {
  const read: ReadLines = { records: [], rejected: [], faults: [], sums: new Set(base === undefined ? [] : [base]) };
  const isChained = head.kind !== "none";
  let after = base;
  for (const [i, line] of lines.entries()) {
    const isLast = i === lines.length - 1;
    const found = readChained(line.text);
    if (isChained && !found) {
      // No caller was told of a charge in a torn last line.
      if (!isLast) reject(read, line, "it has no checksum");
      // What follows it cannot be known to.
      after = undefined;
      continue;
    }
    if (found && !found.isWhole) reject(read, line, "it was altered: its checksum is another's");
    else readRecord(read, line, found?.text ?? line.text, found?.sum, isLast);
    if (!found) continue;
    if (isChained && after !== undefined && found.after !== after) read.faults.push(gapBefore(read, line));
    for (const sum of [found.after, found.sum]) read.sums.add(sum);
    after = found.sum;
  }
  return read;
}

function readRecord(read: ReadLines, line: NumberedLine, text: string, sum: string | undefined, isLast: boolean): void {
  const found = readLine(text);
  if (found.kind === "record") read.records.push({ record: found.record, sum });
  else if (found.kind === "other") reject(read, line, found.reason, found.seq);
  else if (!isLast) reject(read, line, "it is torn");
}

function reject({ rejected }: ReadLines, { number, text }: NumberedLine, reason: string, seq = claimedSeq(text)): void {
  rejected.push({ line: number, text, reason, seq });
}

/** claimedSeq returns the number that a line which is no record claims to have. */
function claimedSeq(text: string): number | undefined {
  const seq = Number(/^\{"seq":(\d{1,15}),/.exec(text)?.[1]);
  return seq > 0 ? seq : undefined;
}

function gapBefore({ records }: ReadLines, { number }: NumberedLine): JournalFault {
  const before = records.at(-2)?.record.seq;
  const from = before === undefined ? "" : ` after record ${before}`;
  return { kind: "gap", reason: `lines are missing before line ${number}${from}` };
}

/** headFaults compares the lines with what the head says is there. What is posted may be gone. */
function headFaults(head: Head | undefined, { records, rejected }: ReadLines, posted: number): JournalFault[] {
  if (!head) return [{ kind: "head", reason: "its head is damaged, so nobody knows whether its end is there" }];
  const reached = Math.max(posted, ...records.map(({ record }) => record.seq), ...rejected.map(({ seq = 0 }) => seq));
  // A file that was emptied, or begun again after others had posted and removed it, has nothing between the two.
  if (head.seq <= reached || head.last === head.base) return [];
  return [{ kind: "cut", reason: `its end is missing: it went on from record ${reached} to record ${head.seq}` }];
}

/**
 * linkFaults looks for the place up to which the database has applied it. A database that is restored from before the journal began has it
 * from its first record on. `isFromStart` says that the file has that.
 */
function linkFaults(
  head: Head,
  { records, sums }: ReadLines,
  row: JournalRow | undefined,
  isFromStart: boolean,
): JournalFault[] {
  const { posted = 0, sum = null } = row ?? {};
  if (row ? sum === null || sums.has(sum) : isFromStart) return [];
  // What it has had is posted there, and not here.
  const wasEmptied = row !== undefined && head.seq > posted;
  if (!wasEmptied && !records.some(({ record }) => record.seq > posted)) return [];
  return [{ kind: "elsewhere", reason: `it does not go on from record ${posted}, up to which the database has it` }];
}
