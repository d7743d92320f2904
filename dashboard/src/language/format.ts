/**
 * Formats numbers, money and times in the reader's language and time zone and the gateway's unit.
 *
 * Money is in millionths of the unit and never becomes a floating-point number.
 */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { useMemo } from "react";
import { useSession } from "../session.tsx";
import { type Language, useLanguage } from "./language.tsx";
import { durationOf, relativeTo } from "./spans.ts";

export interface Format {
  /** money formats `¥1,234.50` exactly: two decimals, and up to six if needed. */
  money(millionths: bigint): string;
  /** rounded formats `¥1,234.57`: two decimals, and at least two digits, as `¥0.0043`. `Money` has the exact sum, too. */
  rounded(millionths: bigint): string;
  /** compact formats `1.2M`, for counts that need not be exact. */
  compact(value: number | bigint): string;
  /** count formats `1,234`. */
  count(value: number | bigint): string;
  /** percent formats `12%`, for a share of 1. */
  percent(part: number): string;
  /** duration formats `950 ms`, `1.2 s`, `3 min 5 s`. */
  duration(ms: number): string;
  /** moment formats date and time, to the minute. */
  moment(at: Timestamp): string;
  /** exactly formats date and time, to the second. */
  exactly(at: Timestamp): string;
  /** briefly formats day and time, to the second, without the year. */
  briefly(at: Timestamp): string;
  /** day formats the date. */
  day(at: Timestamp | Date): string;
  /** month formats the month that it is in by UTC, as `June 2026`. */
  month(at: Timestamp): string;
  /** time formats the time of day, to the second. */
  time(at: Timestamp): string;
  /** relative formats `3 minutes ago`, `in 2 days`. */
  relative(at: Timestamp): string;
}

export function useFormat(): Format {
  const { language } = useLanguage();
  const { unit } = useSession();
  return useMemo(() => formatOf(language, unit.symbol), [language, unit.symbol]);
}

function formatOf(language: Language, symbol: string): Format {
  const whole = new Intl.NumberFormat(language);
  const percent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
  const amount = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 6 });
  const near = new Intl.NumberFormat(language, {
    ...{ minimumFractionDigits: 2, maximumFractionDigits: 2, minimumSignificantDigits: 2, maximumSignificantDigits: 2 },
    roundingPriority: "morePrecision",
  });
  const compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
  const date = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
  const month = new Intl.DateTimeFormat(language, { year: "numeric", month: "long", timeZone: "UTC" });
  const minute = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
  const second = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
  const brief = new Intl.DateTimeFormat(language, {
    ...{ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  });
  const clock = new Intl.DateTimeFormat(language, { timeStyle: "medium", hourCycle: "h23" });
  return {
    money: (millionths) => `${millionths < 0n ? "−" : ""}${symbol}${amount.format(decimalOf(millionths))}`,
    rounded: (millionths) => `${millionths < 0n ? "−" : ""}${symbol}${near.format(decimalOf(millionths))}`,
    compact: (value) => compact.format(value),
    count: (value) => whole.format(value),
    percent: (part) => percent.format(part),
    duration: (ms) => durationOf(ms, language),
    moment: (at) => minute.format(timestampDate(at)),
    exactly: (at) => second.format(timestampDate(at)),
    briefly: (at) => brief.format(timestampDate(at)),
    day: (at) => date.format(at instanceof Date ? at : timestampDate(at)),
    month: (at) => month.format(timestampDate(at)),
    time: (at) => clock.format(timestampDate(at)),
    relative: (at) => relativeTo(Date.now(), timestampDate(at).getTime(), language),
  };
}

/** decimalOf returns a decimal string, which Intl formats exactly. */
function decimalOf(millionths: bigint): Intl.StringNumericLiteral {
  const size = millionths < 0n ? -millionths : millionths;
  return `${size / 1_000_000n}.${String(size % 1_000_000n).padStart(6, "0")}` as Intl.StringNumericLiteral;
}
