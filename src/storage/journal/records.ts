/**
 * Writes a record as a line of the journal, and reads it back: a list for each run of calls that share some values
 * (`sharedColumns`), which begins with those and has a list of each call's own values behind them; and a list for each run of holds.
 *
 * Lines of older versions name the members of each entry, and lines from before a column was added lack its values: both are
 * read as well. Those versions cannot read these lines; the last migration keeps them from opening the database.
 */
import { type Capture, type ColumnName, defaultOf, ownColumns, sharedColumns } from "../columns.ts";
import { compileEquals, compileValues } from "../compile-row.ts";
import type { CaptureEntry, Entry, HoldEntry, JournalRecord } from "../money/books.ts";
import { faultOf, isNumber, type LineJson } from "./record-shape.ts";

interface Line {
  readonly seq: number;
  readonly at: number;
  readonly settled?: readonly Run[];
  readonly held?: readonly HoldRun[];
  /** Entries by their names, where there are any others. */
  readonly others?: readonly Entry[];
}

/** HoldRun is consecutive holds that share values. The id of the lease is empty for those that are of none. */
type HoldRun = [
  shared: [accountId: string, operation: string, model: string, leaseId: string, isOfKey: boolean],
  ...own: [requestId: string, keyId: string, amount: number, createdAt: number][],
];

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
  const held: HoldRun[] = [];
  let others: Entry[] | undefined;
  let last: CaptureEntry | undefined;
  let lastHeld: HoldEntry | undefined;
  for (const entry of entries) {
    if (entry.kind === "settle") {
      if (!last || !mayShare(last, entry)) settled.push([sharedOf(entry)]);
      settled.at(-1)?.push(ownValues(entry.call));
      last = entry;
    } else if (entry.kind === "hold") {
      if (!lastHeld || !mayShareHold(lastHeld, entry)) held.push([sharedOfHold(entry)]);
      held.at(-1)?.push([entry.requestId, entry.keyId, entry.amount, entry.createdAt]);
      lastHeld = entry;
    } else {
      others ??= [];
      others.push(entry);
    }
  }
  const line: Line = {
    seq,
    at,
    ...(settled.length > 0 ? { settled } : {}),
    ...(held.length > 0 ? { held } : {}),
    ...(others ? { others } : {}),
  };
  return JSON.stringify(line);
}

function mayShareHold(one: HoldEntry, other: HoldEntry): boolean {
  return (
    one.taken?.leaseId === other.taken?.leaseId &&
    one.model === other.model &&
    one.operation === other.operation &&
    one.accountId === other.accountId
  );
}

function sharedOfHold({ accountId, operation, model, taken }: HoldEntry): HoldRun[0] {
  return [accountId, operation, model, taken?.leaseId ?? "", taken?.isOfKey ?? false];
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

function recordOf({ seq, at = 0, entries, settled = [], held = [], others = [] }: Line & OlderLine): JournalRecord {
  // In the order in which a call has them: it may hold anew, or end, in the turn in which it let go of a hold.
  return { seq, at, entries: entries ?? [...others, ...held.flatMap(holdsOf), ...settled.flatMap(entriesOf)] };
}

function holdsOf([[accountId, operation, model, leaseId, isOfKey], ...holds]: HoldRun): HoldEntry[] {
  const taken = leaseId === "" ? undefined : { leaseId, isOfKey };
  const shared = { kind: "hold", taken, accountId, operation, model } as const;
  return holds.map(([requestId, keyId, amount, createdAt]) => ({ ...shared, requestId, keyId, amount, createdAt }));
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
