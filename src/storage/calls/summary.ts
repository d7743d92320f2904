/**
 * Sums calls that are kept by how they ended and how long they took, which `usage_hours` does not have.
 *
 * The calls themselves are read, newest first, some thousand at a time; between two steps the event loop goes on.
 */
import { type CallRow, noSums, type SummedColumn, summedColumns } from "../columns.ts";
import type { Database } from "../engines/scope.ts";
import { answered, broken, failed, lost } from "./outcomes.ts";
import { countIn, type Percentiles, percentilesOf } from "./percentiles.ts";
import { readCalls } from "./read-calls.ts";
import { pageQuery, type RequestFilter, spanOf, stride } from "./requests-query.ts";
import type { CallerSignal } from "./search.ts";
import { addTo, newTallies, sumsByTime, type Tallies } from "./tallies.ts";

export type GroupColumn = "model" | "key_id" | "upstream" | "outcome" | "operation" | "account_id";

/** GroupsOfKey returns the groups of a key's calls: each call counts in all of them. */
export type GroupsOfKey = (keyId: string) => readonly string[];

export interface SummaryFilter extends Partial<Omit<RequestFilter, "from" | "to">> {
  readonly from: number;
  readonly to: number;
  /** bucketMs is the time that a sum covers, in milliseconds. */
  readonly bucketMs: number;
  /** groupBy is undefined where all calls are one group, with an empty name. */
  readonly groupBy: GroupColumn | GroupsOfKey | undefined;
}

export interface CallTotals {
  readonly group: string;
  readonly requests: number;
  readonly errors: number;
  readonly cached: number;
  readonly sums: Readonly<Record<SummedColumn, number>>;
  readonly durationMs: Percentiles | undefined;
  readonly firstByteMs: Percentiles | undefined;
}

export interface CallSum {
  readonly beginsAt: number;
  readonly group: string;
  readonly requests: number;
  readonly errors: number;
  readonly tokens: number;
  readonly cost: number;
  readonly durationMs: Percentiles | undefined;
}

export interface Summary {
  readonly total: CallTotals;
  /** groups begin with the greatest cost, then the most calls. */
  readonly groups: readonly CallTotals[];
  /** sums are those of `groups`, oldest first. */
  readonly sums: readonly CallSum[];
  /** completeFrom is the time since which no call is missing, where not all were read. */
  readonly completeFrom: number | undefined;
}

export interface SummaryLimits {
  /** calls is how many calls are read at most. */
  readonly calls: number;
  readonly groups: number;
}

/** errors are the outcomes of calls that were not answered by the fault of the upstream or the gateway. */
const errors: ReadonlySet<number> = new Set([failed, broken, lost]);

/** summarize sums calls. Where the caller disconnects meanwhile, it sums those that were read. */
export async function summarize(
  db: Database,
  filter: SummaryFilter,
  limits: SummaryLimits,
  signal?: CallerSignal,
): Promise<Summary> {
  const sums = newTallies(newTally);
  const completeFrom = await readCalls({
    span: spanOf(filter, undefined),
    step: (span) => stepQuery(db, filter, span).execute(),
    most: limits.calls,
    signal,
    onCall: (row) => add(sums, row, filter),
  });
  return { ...summaryOf(sums, limits.groups), completeFrom };
}

function stepQuery(db: Database, filter: SummaryFilter, span: ReturnType<typeof spanOf>) {
  return pageQuery(db, filter, span, stride)
    .clearSelect()
    .select(["id", "created_at", "account_id", "key_id", "operation", "model", "upstream", "outcome", "cached"])
    .select(["duration_ms", "first_byte_ms", ...summedColumns]);
}

type Row = Pick<CallRow, "created_at" | GroupColumn | "cached" | "duration_ms" | "first_byte_ms" | SummedColumn>;

/** Tally is what calls add up to; `durations` and `firstBytes` count them by band. */
interface Tally {
  requests: number;
  errors: number;
  cached: number;
  readonly sums: Record<SummedColumn, number>;
  readonly durations: Map<number, number>;
  readonly firstBytes: Map<number, number>;
}

function newTally(): Tally {
  return { requests: 0, errors: 0, cached: 0, sums: { ...noSums }, durations: new Map(), firstBytes: new Map() };
}

function add(sums: Tallies<Tally>, row: Row, { groupBy, bucketMs }: SummaryFilter): void {
  const at = { groups: groupsOf(row, groupBy), beginsAt: row.created_at - (row.created_at % bucketMs) };
  addTo(sums, at, newTally, (tally) => count(tally, row));
}

function groupsOf(row: Row, groupBy: SummaryFilter["groupBy"]): readonly string[] {
  if (groupBy === undefined) return [""];
  return typeof groupBy === "function" ? groupBy(row.key_id) : [String(row[groupBy])];
}

function count(tally: Tally, row: Row): void {
  tally.requests++;
  if (errors.has(row.outcome)) tally.errors++;
  if (row.cached) tally.cached++;
  for (const column of summedColumns) tally.sums[column] += row[column];
  if (row.outcome === answered) countIn(tally.durations, row.duration_ms);
  countIn(tally.firstBytes, row.first_byte_ms ?? undefined);
}

function summaryOf(tallies: Tallies<Tally>, most: number): Omit<Summary, "completeFrom"> {
  const ranked = [...tallies.groups].map(([group, tally]) => totalsOf(group, tally));
  ranked.sort(
    (one, other) =>
      other.sums.cost - one.sums.cost || other.requests - one.requests || (one.group < other.group ? -1 : 1),
  );
  const shown = ranked.slice(0, most);
  const names = shown.map(({ group }) => group);
  return { total: totalsOf("", tallies.total), groups: shown, sums: sumsByTime(tallies, names, sumOf) };
}

function totalsOf(group: string, { requests, errors, cached, sums, durations, firstBytes }: Tally): CallTotals {
  const durationMs = percentilesOf(durations);
  return { group, requests, errors, cached, sums, durationMs, firstByteMs: percentilesOf(firstBytes) };
}

function sumOf(beginsAt: number, group: string, { requests, errors, sums, durations }: Tally): CallSum {
  const tokens = sums.input + sums.cache_read + sums.cache_write + sums.output;
  return { beginsAt, group, requests, errors, tokens, cost: sums.cost, durationMs: percentilesOf(durations) };
}
