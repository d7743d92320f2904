/**
 * The windows of time that budgets are for: days, weeks and months of the calendar in a time zone, or the last 24 hours, 7 days and 30
 * days. All of them begin with a quarter of an hour, by which spending is summed: every zone's clock differs from UTC by quarters.
 *
 * Databases are handed milliseconds and know no zone, so that an engine's own rules of time decide nothing.
 */
import { dayMs } from "../../runtime/time/durations.ts";

export type BudgetPeriod = "day" | "week" | "month";

/** TimeWindow is a span of time, in milliseconds since 1970: `to` is the first moment after it. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

export const quarterMs = 900_000;

/** rollingMs is how long a rolling window is, in milliseconds. */
export const rollingMs: Readonly<Record<BudgetPeriod, number>> = {
  day: dayMs,
  week: 7 * dayMs,
  month: 30 * dayMs,
};

/** longestWindowMs is further back than any window reaches, in milliseconds: a month of 31 days, a shift of clocks, and an hour to round. */
export const longestWindowMs = 32 * dayMs;

/** noEnd is the end of a rolling window, which has none: calls that come while it is looked at count, too. */
export const noEnd = Number.MAX_SAFE_INTEGER;

/** defaultZone is the zone of accounts that name none. */
export const defaultZone = "UTC";

export function quarterOf(ms: number): number {
  return Math.floor(ms / quarterMs) * quarterMs;
}

/** timeZoneNamed returns an IANA time zone as it is written by the database of zones; undefined where there is none of that name. */
export function timeZoneNamed(name: string): string | undefined {
  // An offset is no zone: it knows no summer.
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId;
  } catch {
    return undefined;
  }
}

/**
 * windowOf returns the window that a moment is in. A rolling one begins with the quarter of an hour that its length ago is in, so it has up
 * to a quarter more, never less.
 */
export function windowOf(period: BudgetPeriod, isRolling: boolean, zone: string, at: number): TimeWindow {
  return isRolling ? { from: quarterOf(at - rollingMs[period]), to: noEnd } : calendarWindow(period, zone, at);
}

/** The window that was computed last of each zone and period: nearly every call is in the same. */
const known = new Map<string, TimeWindow>();

function calendarWindow(period: BudgetPeriod, zone: string, at: number): TimeWindow {
  const name = `${period} ${zone}`;
  const last = known.get(name);
  if (last && last.from <= at && at < last.to) return last;
  const window = computed(period, zone, at);
  known.set(name, window);
  return window;
}

function computed(period: BudgetPeriod, zone: string, at: number): TimeWindow {
  const date = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate();
  const first = firstOf(period, date);
  const next = first.add(period === "day" ? { days: 1 } : period === "week" ? { days: 7 } : { months: 1 });
  // The first moment of a day, whatever its clocks do at midnight.
  const startOf = (day: Temporal.PlainDate) => quarterOf(day.toZonedDateTime(zone).epochMilliseconds);
  return { from: startOf(first), to: startOf(next) };
}

function firstOf(period: BudgetPeriod, date: Temporal.PlainDate): Temporal.PlainDate {
  if (period === "month") return date.with({ day: 1 });
  return period === "week" ? date.subtract({ days: date.dayOfWeek - 1 }) : date;
}
