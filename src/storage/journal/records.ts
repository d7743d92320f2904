/**
 * Writes a record as a line of the journal, and reads it back: a list for each run of calls that share some values
 * (`sharedColumns`), which begins with those and has a list of each call's own values behind them.
 *
 * Lines of older versions name the members of each entry, and lines from before a column was added lack its values: both are
 * read as well. Those versions cannot read these lines; the last migration keeps them from opening the database.
 */
import { type Capture, type ColumnName, defaultOf, ownColumns, sharedColumns } from "../columns.ts";
import { compileEquals, compileValues } from "../compile-row.ts";
import type { CaptureEntry, Entry, JournalRecord } from "./contract.ts";
import { faultOf, isNumber, type LineJson } from "./record-shape.ts";

interface Line {
  readonly seq: number;
  readonly at: number;
  readonly settled: readonly Run[];
  /** Entries by their names, where there are any but captures. */
  readonly others?: readonly Entry[];
}

/** Run is consecutive calls that share values. */
type Run = [shared: Shared, ...own: Value[][]];
/** The values of `sharedColumns`, and those of the entries that calls share. */
type Shared = [...Value[], isHeld: boolean, isLimited: boolean, leaseId: string | null, isOfKey: boolean];
type Value = string | number | null;

const sharedValues = compileValues<Capture, Value>(sharedColumns, defaultOf);
const ownValues = compileValues<Capture, Value>(ownColumns, defaultOf);
const areOfSameRun = compileEquals<Capture>(sharedColumns);

export function lineOf({ seq, at, entries }: JournalRecord): string {
  const settled: Run[] = [];
  let others: Entry[] | undefined;
  let last: CaptureEntry | undefined;
  let run: Run | undefined;
  for (const entry of entries) {
    if (entry.kind !== "settle") {
      others ??= [];
      others.push(entry);
      continue;
    }
    if (!run || !last || !mayShare(last, entry)) {
      run = [sharedOf(entry)];
      settled.push(run);
    }
    run.push(ownValues(entry.call));
    last = entry;
  }
  const line: Line = others ? { seq, at, settled, others } : { seq, at, settled };
  return JSON.stringify(line);
}

function mayShare(one: CaptureEntry, other: CaptureEntry): boolean {
  return (
    one.taken?.leaseId === other.taken?.leaseId &&
    one.taken?.isOfKey === other.taken?.isOfKey &&
    one.isHeld === other.isHeld &&
    one.isLimited === other.isLimited &&
    areOfSameRun(one.call, other.call)
  );
}

function sharedOf({ call, isHeld, isLimited = true, taken }: CaptureEntry): Shared {
  const { leaseId = null, isOfKey = false } = taken ?? {};
  return [...sharedValues(call), isHeld, isLimited, leaseId, isOfKey];
}

/** ReadLine is what a line turned out to be. */
export type ReadLine =
  | { readonly kind: "record"; readonly record: JournalRecord }
  /** No JSON: the end of the line is missing. */
  | { readonly kind: "torn" }
  /** JSON that is no record. `seq` is undefined where it has none. */
  | { readonly kind: "other"; readonly reason: string; readonly seq: number | undefined };

export function readLine(line: string): ReadLine {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return { kind: "torn" };
  }
  if (typeof json !== "object" || json === null) return { kind: "other", reason: "it is no object", seq: undefined };
  const { seq } = json as LineJson;
  const reason = faultOf(json as LineJson);
  if (reason !== undefined) return { kind: "other", reason, seq: isNumber(seq) ? seq : undefined };
  return { kind: "record", record: recordOf(json as Line & OlderLine) };
}

/** OlderLine is what lines of older versions have. */
interface OlderLine {
  readonly entries?: readonly Entry[];
}

function recordOf({ seq, at = 0, entries, settled, others = [] }: Line & OlderLine): JournalRecord {
  return { seq, at, entries: entries ?? [...settled.flatMap(entriesOf), ...others] };
}

function entriesOf([shared, ...calls]: Run): CaptureEntry[] {
  const ofRun = membersOf(sharedColumns, shared as Value[]);
  const [isHeld, isLimited, leaseId, isOfKey] = shared.slice(sharedColumns.length) as [
    boolean,
    boolean,
    string,
    boolean,
  ];
  const taken = leaseId === null ? undefined : { leaseId, isOfKey };
  return calls.map((own) => {
    const call = { ...ofRun, ...membersOf(ownColumns, own) } as unknown as Capture;
    return { kind: "settle", call, isHeld, isLimited, taken };
  });
}

/** Names values by their places. What a line from before a column was added lacks has the column's default. */
function membersOf(names: readonly ColumnName[], values: readonly Value[]): Record<string, Value | undefined> {
  return Object.fromEntries(names.map((name, i) => [name, values.length > i ? values[i] : defaultOf(name)]));
}
