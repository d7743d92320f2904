/**
 * Chooses the calls that the proof reads one by one. Those of hours that were proved before are not read again, as long as the sums of the
 * hour are what they were: their sums stand for them.
 */
import { type RawBuilder, sql } from "kysely";
import { firstIdAt } from "../../runtime/ids.ts";
import { hourMs } from "../../runtime/time/durations.ts";
import { maxBodyMs } from "../calls/requests-query.ts";

/** Span is a span of time, in milliseconds since 1970: it has `from`, and has not `to`. It has no end where one is undefined. */
export interface Span {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** Spans of time that follow each other: in the open ones calls are read, in the closed ones the sums of hours stand for them. */
export interface Spans {
  readonly open: readonly Span[];
  readonly closed: readonly Span[];
}

/** Each span is a part of every query: where there would be more, short closed ones are read again. */
const maxClosed = 40;

/** The clock of a process may be set back between the moment of a call's id and its own by so much, besides reading its body. */
const slackMs = maxBodyMs + hourMs;

/** spansOf returns the spans, given the hours that need not be read again, in any order. */
export function spansOf(closedHours: readonly number[]): Spans {
  const closed = longest(runsOf(closedHours.toSorted((one, other) => one - other)));
  const open: Span[] = [];
  let from: number | undefined;
  for (const run of closed) {
    open.push({ from, to: run.from });
    from = run.to;
  }
  return { open: [...open, { from, to: undefined }], closed };
}

interface Run {
  readonly from: number;
  readonly to: number;
}

/** runsOf joins hours that follow each other. */
function runsOf(hours: readonly number[]): Run[] {
  const runs: Run[] = [];
  for (const hour of hours) {
    const last = runs.at(-1);
    if (last?.to === hour) runs[runs.length - 1] = { from: last.from, to: hour + hourMs };
    else runs.push({ from: hour, to: hour + hourMs });
  }
  return runs;
}

function longest(runs: readonly Run[]): Run[] {
  const lengthOf = ({ from, to }: Run) => to - from;
  const kept = runs.toSorted((one, other) => lengthOf(other) - lengthOf(one)).slice(0, maxClosed);
  return kept.sort((one, other) => one.from - other.from);
}

/**
 * callsIn returns a query of some columns of the calls of these spans, which follows the index of their ids. A call's id has the time when
 * its head came, its `created_at` that when its body had come.
 */
export function callsIn(spans: readonly Span[], columns: RawBuilder<unknown>): RawBuilder<unknown> {
  const parts = spans.map((span) => {
    const bounds = boundsOf(span);
    const where = bounds.length === 0 ? sql`` : sql`WHERE ${sql.join(bounds, sql` AND `)}`;
    return sql`SELECT ${columns} FROM requests ${where}`;
  });
  return sql.join(parts, sql` UNION ALL `);
}

/** boundsOf returns the conditions that a call is in a span. */
export function boundsOf({ from, to }: Span): RawBuilder<boolean>[] {
  return [
    ...(from === undefined ? [] : [sql<boolean>`id >= ${firstIdAt("req", from - slackMs)} AND created_at >= ${from}`]),
    ...(to === undefined ? [] : [sql<boolean>`id < ${firstIdAt("req", to + slackMs)} AND created_at < ${to}`]),
  ];
}

/** hourIn returns the condition that `hour` is in one of these spans. */
export function hourIn(spans: readonly Span[]): RawBuilder<boolean> {
  const parts = spans.map(({ from = 0, to = Number.MAX_SAFE_INTEGER }) => sql`(hour >= ${from} AND hour < ${to})`);
  return parts.length === 0 ? sql<boolean>`1 = 0` : sql<boolean>`(${sql.join(parts, sql` OR `)})`;
}
