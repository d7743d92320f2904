/**
 * A note as its line, and back: what calls of a turn have in common is told once, and the rest of each in a list.
 *
 * Lines of older versions tell each entry by its names, and are read as well. Those versions cannot read these, and are kept
 * from a database that has them by its last migration.
 */

import { isOfSameKind } from "../money/ledger-rows.ts";
import type { Entry, Note, SettleEntry } from "./journal.ts";
import { faultOf, isNumber, type Told } from "./record-shape.ts";

interface Line {
  readonly seq: number;
  readonly at: number;
  readonly settled: readonly Alike[];
  /** Entries by their names, where there are any that tell of no call that is over. */
  readonly others?: readonly Entry[];
}

type Common = ReturnType<typeof commonOf>;
type Own = ReturnType<typeof ownOf>;
type Alike = [common: Common, ...Own[]];

export function lineOf({ seq, at, entries }: Note): string {
  const settled: Alike[] = [];
  let others: Entry[] | undefined;
  let last: SettleEntry | undefined;
  let alike: Alike | undefined;
  for (const entry of entries) {
    if (entry.kind !== "settle") {
      others ??= [];
      others.push(entry);
      continue;
    }
    if (!alike || !last || !haveInCommon(last, entry)) {
      alike = [commonOf(entry)];
      settled.push(alike);
    }
    alike.push(ownOf(entry));
    last = entry;
  }
  const line: Line = others ? { seq, at, settled, others } : { seq, at, settled };
  return JSON.stringify(line);
}

/** A line, taken for a note. */
export type ReadLine =
  | { readonly kind: "note"; readonly note: Note }
  /** A line that is no JSON: the end of it is missing. */
  | { readonly kind: "torn" }
  /** `seq` is undefined where it tells none. */
  | { readonly kind: "other"; readonly reason: string; readonly seq: number | undefined };

export function readLine(line: string): ReadLine {
  let told: unknown;
  try {
    told = JSON.parse(line);
  } catch {
    return { kind: "torn" };
  }
  if (typeof told !== "object" || told === null) return { kind: "other", reason: "it is no object", seq: undefined };
  const { seq } = told as Told;
  const reason = faultOf(told as Told);
  if (reason !== undefined) return { kind: "other", reason, seq: isNumber(seq) ? seq : undefined };
  return { kind: "note", note: noteOf(told as Line & Older) };
}

/** What lines of older versions have. */
interface Older {
  readonly entries?: readonly Entry[];
}

function noteOf({ seq, at = 0, entries, settled, others = [] }: Line & Older): Note {
  return { seq, at, entries: entries ?? [...settled.flatMap(entriesOf), ...others] };
}

function haveInCommon(one: SettleEntry, other: SettleEntry): boolean {
  const { call: first } = one;
  const { call: second } = other;
  return (
    one.taken?.leaseId === other.taken?.leaseId &&
    one.taken?.isOfKey === other.taken?.isOfKey &&
    one.isHeld === other.isHeld &&
    one.isLimited === other.isLimited &&
    first.account_id === second.account_id &&
    first.tried === second.tried &&
    isOfSameKind(first, second)
  );
}

function commonOf({ call, isHeld, isLimited = true, taken }: SettleEntry) {
  const { account_id, operation, model, upstream, tried = null, outcome, estimated, cached = 0 } = call;
  const { leaseId = null, isOfKey = false } = taken ?? {};
  // biome-ignore format: a line for what belongs together.
  return [
    account_id, operation, model, upstream, tried, outcome, estimated, cached,
    isHeld, isLimited, leaseId, isOfKey,
  ] as const;
}

function ownOf({ call }: SettleEntry) {
  const { id, key_id, input, cache_read, cache_write, output, reasoning, characters, cost } = call;
  const { created_at, duration_ms, first_byte_ms } = call;
  // biome-ignore format: a line for what belongs together.
  return [
    id, key_id, input, cache_read, cache_write, output, reasoning, characters, cost,
    created_at, duration_ms, first_byte_ms,
  ] as const;
}

const entriesOf = ([common, ...calls]: Alike): SettleEntry[] => calls.map((own) => entryOf(common, own));

function entryOf(common: Common, own: Own): SettleEntry {
  const [account_id, operation, model, upstream, tried, outcome, estimated, cached, ...held] = common;
  const [isHeld, isLimited, leaseId, isOfKey] = held;
  const [id, key_id, input, cache_read, cache_write, output, reasoning, characters, cost, ...times] = own;
  const [created_at, duration_ms, first_byte_ms] = times;
  const names = { id, account_id, key_id, operation, model, upstream, tried, outcome };
  const usage = { input, cache_read, cache_write, output, reasoning, characters, estimated, cached };
  const call = { ...names, ...usage, cost, created_at, duration_ms, first_byte_ms };
  return { kind: "settle", call, isHeld, isLimited, taken: leaseId === null ? undefined : { leaseId, isOfKey } };
}
