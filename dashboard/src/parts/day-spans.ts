/** Spans of days that a reader chooses by a name. Days are such as `2026-01-31`, in the reader's time zone, both included. */

export const daySpanNames = ["today", "yesterday", "week", "days30", "month", "lastMonth"] as const;

export type DaySpanName = (typeof daySpanNames)[number];

export interface DaySpan {
  readonly from: string;
  readonly to: string;
}

/** daySpan returns the days of a span, which the day of `now` is the last of, or the month of. */
export function daySpan(name: DaySpanName, now: Date): DaySpan {
  const [year, month, date] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const daysAgo = (days: number) => dayOf(new Date(year, month, date - days));
  switch (name) {
    case "today":
      return { from: daysAgo(0), to: daysAgo(0) };
    case "yesterday":
      return { from: daysAgo(1), to: daysAgo(1) };
    case "week":
      return { from: daysAgo(6), to: daysAgo(0) };
    case "days30":
      return { from: daysAgo(29), to: daysAgo(0) };
    case "month":
      return { from: dayOf(new Date(year, month, 1)), to: daysAgo(0) };
    case "lastMonth":
      return { from: dayOf(new Date(year, month - 1, 1)), to: dayOf(new Date(year, month, 0)) };
  }
}

/** daySpanName returns the name of the span that these days are now; undefined for others. On the first of a month that is today. */
export function daySpanName({ from, to }: Partial<DaySpan>, now: Date): DaySpanName | undefined {
  return daySpanNames.find((name) => {
    const span = daySpan(name, now);
    return span.from === from && span.to === to;
  });
}

/** midnight returns the beginning of a day in the reader's time zone, or of a day some days later; undefined for what is no day. */
export function midnight(day: string, daysLater: number): Date | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? [];
  const moment = new Date(Number(year), Number(month) - 1, Number(date) + daysLater);
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}

function dayOf(at: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}
