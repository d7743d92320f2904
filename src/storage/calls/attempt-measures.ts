/**
 * Measures attempts at upstreams, or calls of models, over time: how often each failed and how fast it was.
 *
 * A call's last attempt is its row; those before it are in its column `tried`.
 */
import type { CallRow } from "../columns.ts";
import type { Database } from "../engines/scope.ts";
import { answered, broken, failed, lost } from "./outcomes.ts";
import { countIn, type Percentiles, percentilesOf } from "./percentiles.ts";
import { readCalls } from "./read-calls.ts";
import { type IdSpan, pageQuery, spanOf, stride } from "./requests-query.ts";
import type { CallerSignal } from "./search.ts";
import { addTo, newTallies, sumsByTime, type Tallies } from "./tallies.ts";

export interface MeasureFilter {
  readonly from: number;
  readonly to: number;
  /** bucketMs is the time that a sum covers, in milliseconds. */
  readonly bucketMs: number;
  readonly upstream: string | undefined;
  readonly model: string | undefined;
  /** groupBy is undefined where all attempts are one group, with an empty name. */
  readonly groupBy: "upstream" | "model" | undefined;
  /**
   * of is what is measured. A call is measured once for each model that was asked, as its caller saw it: it failed only where no attempt at
   * the model answered, and its times have all attempts in them. Default: attempts.
   */
  readonly of?: "attempts" | "calls";
}

export interface AttemptMeasures {
  readonly group: string;
  readonly attempts: number;
  readonly failures: number;
  readonly firstByteMs: Percentiles | undefined;
  readonly durationMs: Percentiles | undefined;
  /** tokensPerSecond is of output, over the whole duration of a call. */
  readonly tokensPerSecond: number | undefined;
}

export interface Measures {
  readonly total: AttemptMeasures;
  /** groups begin with the most attempts. */
  readonly groups: readonly AttemptMeasures[];
  /** sums are those of `groups`, oldest first. */
  readonly sums: readonly (AttemptMeasures & { readonly beginsAt: number })[];
  /** completeFrom is the time since which no call is missing, where not all were read. */
  readonly completeFrom: number | undefined;
}

export interface MeasureLimits {
  /** calls is how many calls are read at most. */
  readonly calls: number;
  readonly groups: number;
}

/**
 * failures are the outcomes of attempts that failed by the upstream's fault. Those of rejected requests, and of callers that did not wait,
 * are not among them.
 */
const failures: ReadonlySet<number> = new Set([failed, broken]);

/** measureAttempts measures. Where the caller disconnects meanwhile, it measures the calls that were read. */
export async function measureAttempts(
  db: Database,
  filter: MeasureFilter,
  limits: MeasureLimits,
  signal?: CallerSignal,
): Promise<Measures> {
  const tallies = newTallies(newTally);
  const partsOf = filter.of === "calls" ? callsOf : attemptsOf;
  const completeFrom = await readCalls({
    span: spanOf(filter, undefined),
    step: (span) => stepQuery(db, filter, span).execute(),
    most: limits.calls,
    signal,
    onCall: (row) => {
      for (const attempt of partsOf(row)) add(tallies, attempt, filter);
    },
  });
  return { ...measuresOf(tallies, limits.groups), completeFrom };
}

type Row = Pick<
  CallRow,
  "created_at" | "model" | "upstream" | "outcome" | "cached" | "duration_ms" | "first_byte_ms" | "output" | "tried"
>;

/** stepQuery reads the calls that may have such an attempt: one that failed is named in `tried` alone. */
function stepQuery(db: Database, { from, to, upstream, model }: MeasureFilter, span: IdSpan) {
  const may = (column: "upstream" | "model", value: string | undefined) =>
    value === undefined ? undefined : { column, value };
  const sought = [may("upstream", upstream), may("model", model)].filter((one) => one !== undefined);
  const narrowed = sought.reduce(
    (query, { column, value }) =>
      query.where((where) => where.or([where(column, "=", value), where("tried", "is not", null)])),
    pageQuery(db, { from, to }, span, stride).where("cached", "=", 0),
  );
  return narrowed
    .clearSelect()
    .select(["id", "created_at", "model", "upstream", "outcome", "cached"])
    .select(["duration_ms", "first_byte_ms", "output", "tried"]);
}

interface Attempt {
  readonly at: number;
  readonly upstream: string;
  readonly model: string;
  readonly isFailed: boolean;
  readonly firstByteMs: number | undefined;
  /** durationMs is of an answered call. */
  readonly durationMs: number | undefined;
  readonly tokensPerSecond: number | undefined;
}

/** attemptsOf returns a call's attempts. Each counts at the time at which the call came. */
function attemptsOf(row: Row): Attempt[] {
  const { created_at: at, model, upstream } = row;
  const earlier = failedBefore(row).map(
    (one): Attempt => ({ at, upstream: one.upstream, model: one.model ?? model, isFailed: hasFailed(one), ...noTimes }),
  );
  if (upstream === "" || row.outcome === lost) return earlier;
  return [...earlier, { at, upstream, model, isFailed: failures.has(row.outcome), ...timesOf(row) }];
}

/** callsOf returns a call as its caller saw each model that was asked: those that failed for good, and the last one. */
function callsOf(row: Row): Attempt[] {
  const { created_at: at, model, upstream } = row;
  const others = new Map(
    failedBefore(row).flatMap((one) => (one.model && one.model !== model ? [[one.model, one] as const] : [])),
  );
  const given = [...others].map(
    ([other, one]): Attempt => ({ at, upstream: one.upstream, model: other, isFailed: hasFailed(one), ...noTimes }),
  );
  if (upstream === "" || row.outcome === lost) return given;
  const times = others.size > 0 ? noTimes : wholeTimes(row);
  return [...given, { at, upstream, model, isFailed: failures.has(row.outcome), ...times }];
}

/** failedBefore returns the attempts before the last one that did not answer, and were not replaced by a faster one. */
function failedBefore({ tried }: Row): readonly Tried[] {
  return tried === null ? [] : (JSON.parse(tried) as readonly Tried[]).filter(({ lost }) => lost === undefined);
}

/** Tried is an entry of the column `tried`; `lost` tells one that a faster attempt replaced. */
interface Tried {
  readonly upstream: string;
  readonly model?: string;
  readonly lost?: number;
  readonly outcome?: number;
}

/** hasFailed reports whether an attempt failed. An entry without an outcome did. */
function hasFailed({ outcome = failed }: Tried): boolean {
  return failures.has(outcome);
}

const noTimes = { firstByteMs: undefined, durationMs: undefined, tokensPerSecond: undefined } as const;

/** timesOf returns the times of the last attempt. Those of a call with earlier attempts have theirs in them, so only its own count. */
function timesOf(row: Row) {
  return row.tried === null ? wholeTimes(row) : noTimes;
}

function wholeTimes({ first_byte_ms, duration_ms, outcome, output }: Row) {
  const isAnswered = outcome === answered;
  return {
    firstByteMs: first_byte_ms ?? undefined,
    durationMs: isAnswered ? duration_ms : undefined,
    tokensPerSecond: isAnswered && output > 0 && duration_ms > 0 ? (output * 1000) / duration_ms : undefined,
  };
}

interface Tally {
  attempts: number;
  failures: number;
  readonly firstBytes: Map<number, number>;
  readonly durations: Map<number, number>;
  readonly paces: Map<number, number>;
}

function newTally(): Tally {
  return { attempts: 0, failures: 0, firstBytes: new Map(), durations: new Map(), paces: new Map() };
}

function add(tallies: Tallies<Tally>, attempt: Attempt, { upstream, model, groupBy, bucketMs }: MeasureFilter): void {
  if (upstream !== undefined && attempt.upstream !== upstream) return;
  if (model !== undefined && attempt.model !== model) return;
  const groups = [groupBy === undefined ? "" : attempt[groupBy]];
  const at = { groups, beginsAt: attempt.at - (attempt.at % bucketMs) };
  addTo(tallies, at, newTally, (tally) => count(tally, attempt));
}

function count(tally: Tally, { isFailed, firstByteMs, durationMs, tokensPerSecond }: Attempt): void {
  tally.attempts++;
  if (isFailed) tally.failures++;
  countIn(tally.firstBytes, firstByteMs);
  countIn(tally.durations, durationMs);
  // In thousandths, for a band is of whole numbers.
  countIn(tally.paces, tokensPerSecond && tokensPerSecond * 1000);
}

function measuresOf(tallies: Tallies<Tally>, most: number): Omit<Measures, "completeFrom"> {
  const ranked = [...tallies.groups].sort(
    ([one, { attempts }], [other, { attempts: others }]) => others - attempts || (one < other ? -1 : 1),
  );
  const shown = ranked.slice(0, most).map(([group, tally]) => measureOf(group, tally));
  const names = shown.map(({ group }) => group);
  const sums = sumsByTime(tallies, names, (beginsAt, group, tally) => ({ beginsAt, ...measureOf(group, tally) }));
  return { total: measureOf("", tallies.total), groups: shown, sums };
}

function measureOf(group: string, { attempts, failures, firstBytes, durations, paces }: Tally): AttemptMeasures {
  const pace = percentilesOf(paces)?.p50;
  return {
    ...{ group, attempts, failures },
    firstByteMs: percentilesOf(firstBytes),
    durationMs: percentilesOf(durations),
    tokensPerSecond: pace === undefined ? undefined : pace / 1000,
  };
}
