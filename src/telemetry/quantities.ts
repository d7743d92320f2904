/** Converts durations, money and tokens to the units of logs and metrics; and the histogram buckets of durations. */
import type { CallRecord } from "../call/call-record.ts";

/** seconds is never negative: the machine's clock may be set back, and a histogram's sum may not decrease. */
export function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}

/** units converts millionths of the unit. */
export function units(millionths: number): number {
  return millionths / 1_000_000;
}

/** hundredths formats a duration with at most two decimals, as JSON writes numbers. */
export function hundredths(ms: number): string {
  const count = Math.round(ms * 100);
  return `${Math.floor(count / 100)}${fractions[count % 100]}`;
}

const fractions = Array.from({ length: 100 }, (_, count) => String(count / 100).slice(1));

/** inputTokens returns all input of a model, read anew or from a cache. */
export function inputTokens({ input, cacheRead, cacheWrite, cacheWriteHour }: NonNullable<CallRecord["used"]>): number {
  return input + cacheRead + cacheWrite + cacheWriteHour;
}

// The bounds of buckets are in seconds.

/** durationSeconds: from a call's beginning to the end of its answer. */
export const durationSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
/** firstByteSeconds: to the first byte of an answer. */
export const firstByteSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];
/** ownSeconds: the gateway's own time. */
export const ownSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1];
