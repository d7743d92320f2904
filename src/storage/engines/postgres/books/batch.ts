/** Puts records into the form in which the functions of the database take them: what calls have in common is told once. */
import { type Capture, defaultOf, ownColumns, sharedColumns } from "../../../columns.ts";
import { compileEquals } from "../../../compile-row.ts";
import {
  type CaptureEntry,
  callIdOf,
  type Entry,
  type HoldEntry,
  type JournalRecord,
  type ReleaseEntry,
  type Taken,
} from "../../../money/books.ts";
import type { BudgetTerms } from "../../../money/budgets.ts";
import { ownNames, sharedNames } from "./functions/write.ts";
import { callWindows } from "./turn.ts";

/** Batch is what `write` takes besides its node and number. */
export type Batch = readonly [
  /** The leases and the holds of calls that it is about, by which the database finds them. */
  ...ids: [leases: readonly string[], ended: readonly string[]],
  calls: string,
  releases: string,
  holds: string,
];
/** Alone is what `write_alone` takes. */
export type Alone = readonly [accounts: readonly string[], calls: readonly string[], aside: readonly string[]];

/** GroupedCapture is a call that has ended. `isDrawn` says that its hold began in the same batch, and so never had a row. */
interface GroupedCapture {
  readonly entry: CaptureEntry;
  readonly taken: Taken | undefined;
  readonly isDrawn: boolean;
}

interface Sorted {
  readonly captures: readonly GroupedCapture[];
  readonly released: readonly ReleaseEntry[];
  readonly begun: readonly HoldEntry[];
}

/** sorted sorts entries by their kinds. A hold and what ends it in the same batch cancel out. */
function sorted(entries: readonly Entry[]): Sorted {
  const captures: GroupedCapture[] = [];
  const released: ReleaseEntry[] = [];
  const begun = new Map<string, HoldEntry>();
  for (const entry of entries) {
    if (entry.kind === "hold") begun.set(entry.requestId, entry);
    else if (entry.kind === "free") {
      if (!begun.delete(entry.requestId)) released.push(entry);
    } else {
      const hold = begun.get(entry.call.id);
      begun.delete(entry.call.id);
      captures.push({ entry, taken: hold?.taken ?? entry.taken, isDrawn: hold !== undefined });
    }
  }
  return { captures, released, begun: [...begun.values()] };
}

export function batchOf(records: readonly JournalRecord[]): Batch {
  const { captures, released, begun } = sorted(records.flatMap(({ entries }) => entries));
  const leases = new Set<string>();
  for (const { taken } of [...captures, ...released, ...begun]) if (taken) leases.add(taken.leaseId);
  const holds = begun.map((entry) => {
    const { requestId: i, taken, accountId: a, keyId: k, operation: o, model: m, amount, createdAt: t } = entry;
    return { i, l: taken?.leaseId, of_key: taken?.isOfKey ?? true, a, k, o, m, amount, t };
  });
  const releases = released.map(({ requestId: i, taken }) => ({ i, l: taken?.leaseId, of_key: taken?.isOfKey }));
  const ended = captures.flatMap(({ entry, isDrawn }) => (entry.isHeld && !isDrawn ? [entry.call.id] : []));
  const ids = [[...leases], [...ended, ...released.map(({ requestId }) => requestId)]] as const;
  return [...ids, JSON.stringify(runsOf(captures)), JSON.stringify(releases), JSON.stringify(holds)];
}

type Members = Record<string, unknown>;

const areOfSameRun = compileEquals<Capture>(sharedColumns);

function runsOf(captures: readonly GroupedCapture[]): Members[] {
  const runs: Members[] = [];
  let last: GroupedCapture | undefined;
  let own: Members[] = [];
  for (const one of captures) {
    if (!last || !mayShare(last, one)) {
      own = [];
      const { entry, taken, isDrawn } = one;
      const shared = members(entry.call, sharedNames, sharedColumns);
      runs.push({ ...shared, lease: taken?.leaseId, of_key: taken?.isOfKey, held: entry.isHeld, drawn: isDrawn, own });
    }
    own.push(members(one.entry.call, ownNames, ownColumns));
    last = one;
  }
  return runs;
}

function mayShare(one: GroupedCapture, other: GroupedCapture): boolean {
  return (
    one.isDrawn === other.isDrawn &&
    one.taken?.leaseId === other.taken?.leaseId &&
    one.taken?.isOfKey === other.taken?.isOfKey &&
    one.entry.isHeld === other.entry.isHeld &&
    areOfSameRun(one.entry.call, other.entry.call)
  );
}

/** Leaves out nulls and zeros, which the database puts in. */
function members(call: Capture, names: readonly string[], columns: readonly (keyof Capture)[]): Members {
  const made: Members = {};
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i] as keyof Capture;
    const value = call[column] ?? defaultOf(column);
    if (value !== 0 && value !== null) made[names[i] as string] = value;
  }
  return made;
}

/** aloneOf returns the same entries call by call. `terms` are the budgets of their keys that have any, or whose accounts do. */
export function aloneOf(records: readonly JournalRecord[], terms: ReadonlyMap<string, BudgetTerms>): Alone {
  const entries = records.flatMap((record) => record.entries);
  const calls = Map.groupBy(entries, callIdOf);
  const accounts = new Set<string>();
  for (const entry of entries) {
    if (entry.kind === "hold") accounts.add(entry.accountId);
    else if (entry.kind === "settle") accounts.add(entry.call.account_id);
  }
  const groups = [...calls.values()];
  return [[...accounts], groups.map((one) => textOf(one, terms)), groups.map(listed)];
}

/** textOf writes the entries of one call as JSON. */
function textOf(entries: readonly Entry[], terms: ReadonlyMap<string, BudgetTerms>): string {
  const { captures, released, begun } = sorted(entries);
  return JSON.stringify([
    ...released.map(releaseOf),
    ...begun.map(holdOf),
    ...captures.map((one) => captureOf(one, terms)),
  ]);
}

/** listed writes entries as they are set aside, without the brackets of their list. */
function listed(entries: readonly Entry[]): string {
  return JSON.stringify(entries).slice(1, -1);
}

function releaseOf({ requestId: i, taken }: ReleaseEntry): Members {
  return { kind: "free", i, lease: taken?.leaseId, of_key: taken?.isOfKey };
}

function holdOf({
  requestId: i,
  taken,
  accountId: a,
  keyId: k,
  operation: o,
  model: m,
  amount,
  createdAt: t,
}: HoldEntry) {
  return { kind: "hold", i, lease: taken?.leaseId, of_key: taken?.isOfKey, a, k, o, m, amount, t };
}

function captureOf({ entry, taken, isDrawn: drawn }: GroupedCapture, terms: ReadonlyMap<string, BudgetTerms>): Members {
  const { call, isHeld: held } = entry;
  const own = terms.get(call.key_id);
  const windows = own && callWindows(own, call);
  return { kind: "settle", call, lease: taken?.leaseId, of_key: taken?.isOfKey, held, drawn, windows };
}
