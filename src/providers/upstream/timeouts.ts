/** The time bounds of an attempt, part by part. A caller may shorten the upstream's own, never lengthen them. */
import { type Refusal, upstreamTimeout } from "../../call/refusals.ts";

/** Timeouts are in milliseconds. */
export interface Timeouts {
  /** Until a connection is open. */
  readonly connectMs: number;
  /** From the request sent to the head of the answer. */
  readonly firstByteMs: number;
  /** Between two chunks of the answer. */
  readonly idleMs: number;
  /** From the beginning of the attempt to the last byte of its answer. */
  readonly totalMs: number;
}

/** Models may think for minutes before the first byte. The length of an answer is not bounded. */
export const defaultTimeouts: Timeouts = {
  connectMs: 10_000,
  firstByteMs: 600_000,
  idleMs: 300_000,
  totalMs: Number.POSITIVE_INFINITY,
};

/** Bound is kept by a timer of the exchange. */
export interface Bound {
  readonly ms: number;
  /** isCallers is whether the caller set it, and not the upstream's configuration. */
  readonly isCallers: boolean;
  /** spentMs is how much of it was used up before. */
  readonly spentMs?: number;
}

/** leftOf returns how much of a bound is left, in milliseconds. */
export function leftOf({ ms, spentMs = 0 }: Bound): number {
  return ms - spentMs;
}

/** Bounds leaves undefined what the connection's deadlines keep (`runtime/time/deadlines.ts`). */
export type Bounds = { readonly [part in keyof Timeouts]: Bound | undefined };

/** The connection's deadlines are up to half a second late, so shorter bounds have a timer of their own. */
const coarsestMs = 10_000;

/**
 * createBounds returns a function from the caller's bounds to those of an exchange: the shorter of both. `spentMs` is how much of the total
 * earlier exchanges of the same attempt have used.
 */
export function createBounds(own: Timeouts): (requested: Partial<Timeouts>, spentMs?: number) => Bounds {
  const mostly = boundsOf(own, {});
  return (requested, spentMs = 0) => {
    const bounds = isUnbounded(requested) ? mostly : boundsOf(own, requested);
    return spentMs > 0 && bounds.totalMs ? { ...bounds, totalMs: { ...bounds.totalMs, spentMs } } : bounds;
  };
}

function isUnbounded({ connectMs, firstByteMs, idleMs, totalMs = Number.POSITIVE_INFINITY }: Partial<Timeouts>) {
  return (connectMs ?? firstByteMs ?? idleMs) === undefined && totalMs === Number.POSITIVE_INFINITY;
}

function boundsOf(own: Timeouts, requested: Partial<Timeouts>): Bounds {
  return {
    connectMs: boundOf(own.connectMs, coarsestMs, requested.connectMs),
    firstByteMs: boundOf(own.firstByteMs, coarsestMs, requested.firstByteMs),
    idleMs: boundOf(own.idleMs, coarsestMs, requested.idleMs),
    totalMs: boundOf(own.totalMs, Number.POSITIVE_INFINITY, requested.totalMs),
  };
}

function boundOf(own: number, keptBelow: number, requested = Number.POSITIVE_INFINITY): Bound | undefined {
  if (requested < own) return { ms: requested, isCallers: true };
  return own < keptBelow ? { ms: own, isCallers: false } : undefined;
}

/** missing is what did not come in time, for each part. */
const missing: Readonly<Record<keyof Timeouts, string>> = {
  connectMs: "no connection",
  firstByteMs: "no answer",
  idleMs: "nothing more of its answer",
  totalMs: "no end of its answer",
};

export function timedOut(part: keyof Timeouts, { ms, isCallers }: Bound): Refusal {
  // The remaining milliseconds would tell the caller nothing: earlier attempts have used up the rest.
  if (part === "totalMs" && isCallers)
    return upstreamTimeout("no end of its answer within `x-gateway-timeout`", isCallers);
  return upstreamTimeout(`${missing[part]} in ${Math.max(0, Math.round(ms)) / 1000} s`, isCallers);
}
