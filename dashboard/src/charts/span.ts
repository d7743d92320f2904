/** The time spans of the overview and their buckets: hours, or days of UTC. */
import { Bucket } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Language } from "../language/language.tsx";

export const spanNames = ["day", "week", "month"] as const;

export type SpanName = (typeof spanNames)[number];

interface Span {
  readonly bucket: Bucket;
  readonly bucketMs: number;
  readonly count: number;
}

const hourMs = 3_600_000;

export const spans: Readonly<Record<SpanName, Span>> = {
  day: { bucket: Bucket.HOUR, bucketMs: hourMs, count: 24 },
  week: { bucket: Bucket.DAY, bucketMs: 24 * hourMs, count: 7 },
  month: { bucket: Bucket.DAY, bucketMs: 24 * hourMs, count: 30 },
};

/** minutesOfHour is the last hour, by minutes. */
export const minutesOfHour: Span = { bucket: Bucket.MINUTE, bucketMs: hourMs / 60, count: 60 };

/** bucketsOf returns the beginning of each bucket, oldest first, in milliseconds since 1970; `now` is in the last. */
export function bucketsOf({ bucketMs, count }: Span, now: number): readonly number[] {
  const last = Math.floor(now / bucketMs) * bucketMs;
  return Array.from({ length: count }, (_, i) => last - (count - 1 - i) * bucketMs);
}

/** Buckets are the buckets of a span that the reader chose by dates. */
export interface Buckets {
  readonly bucket: Bucket;
  /** begins is the beginning of each bucket, oldest first, in milliseconds since 1970. */
  readonly begins: readonly number[];
}

/** bucketsBetween returns hours for up to two days, and days for more; of more than 400 days, the last. */
function bucketsBetween(from: number, to: number): Buckets {
  const isShort = to - from <= 48 * hourMs;
  const bucketMs = isShort ? hourMs : 24 * hourMs;
  const [first, last] = [from, to - 1].map((at) => Math.floor(at / bucketMs));
  const count = Math.min(400, Math.max(1, (last ?? 0) - (first ?? 0) + 1));
  const begins = Array.from({ length: count }, (_, i) => ((last ?? 0) - (count - 1 - i)) * bucketMs);
  return { bucket: isShort ? Bucket.HOUR : Bucket.DAY, begins };
}

/** chosenBuckets returns the buckets of chosen moments: by default seven days of UTC, the last of which is that of the end. */
export function chosenBuckets(from: number | undefined, to: number | undefined, now: number): Buckets {
  const ends = to === undefined ? now : Math.min(to, now);
  if (from !== undefined) return bucketsBetween(from, ends);
  return { bucket: Bucket.DAY, begins: bucketsOf(spans.week, to === undefined ? ends : ends - 1) };
}

/** spanMs returns the length of the whole span. */
function spanMs({ bucketMs, count }: Span): number {
  return bucketMs * count;
}

/**
 * beforeOf returns the span before, as far into it as it is now in this one, to the hour: so that what is compared is as long.
 */
export function beforeOf(span: Span, begins: readonly number[], now: number): { from: number; to: number } {
  const length = spanMs(span);
  return { from: (begins[0] ?? now) - length, to: (Math.floor((now - length) / hourMs) + 1) * hourMs };
}

/** bucketWriter formats hours and minutes in the reader's time zone, and days in UTC. */
export function bucketWriter({ bucket }: Pick<Span, "bucket">, language: Language): (at: number) => string {
  const format =
    bucket === Bucket.HOUR || bucket === Bucket.MINUTE
      ? new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
      : new Intl.DateTimeFormat(language, { month: "short", day: "numeric", timeZone: "UTC" });
  return (at) => format.format(at);
}
