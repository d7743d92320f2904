/**
 * How long an upstream may take, in each part of an attempt. Whoever makes a call may ask for less, and never for more.
 */
import { type Refusal, upstreamTimeout } from "../../call/refusals.ts";

/** In milliseconds. */
export interface Timeouts {
  /** For a connection. */
  readonly connectMs: number;
  /** From the request's being sent to the head of the answer. */
  readonly firstByteMs: number;
  /** Between two pieces of the answer. */
  readonly idleMs: number;
  /** From the beginning of the attempt to the last byte of its answer. */
  readonly totalMs: number;
}

/** Models may think for minutes before they say anything; nothing bounds how long they speak. */
export const defaultTimeouts: Timeouts = {
  connectMs: 10_000,
  firstByteMs: 600_000,
  idleMs: 300_000,
  totalMs: Number.POSITIVE_INFINITY,
};

/** A bound that an exchange keeps by a timer of its own. */
export interface Bound {
  readonly ms: number;
  /** Whether it is the caller's, and not the upstream's. */
  readonly isCallers: boolean;
}

/** Undefined is what the connection's own deadlines keep (`http1/deadlines.ts`). */
export type Bounds = { readonly [part in keyof Timeouts]: Bound | undefined };

/** Those deadlines are half a second late: what is shorter than this has a timer of its own. */
const coarsestMs = 10_000;

/** Returns what gives the bounds of an exchange, the shorter ones of the upstream's own and the caller's. */
export function createBounds(own: Timeouts): (wanted: Partial<Timeouts>) => Bounds {
  const mostly = boundsOf(own, {});
  return (wanted) => (isUnbounded(wanted) ? mostly : boundsOf(own, wanted));
}

function isUnbounded({ connectMs, firstByteMs, idleMs, totalMs = Number.POSITIVE_INFINITY }: Partial<Timeouts>) {
  return (connectMs ?? firstByteMs ?? idleMs) === undefined && totalMs === Number.POSITIVE_INFINITY;
}

function boundsOf(own: Timeouts, wanted: Partial<Timeouts>): Bounds {
  return {
    connectMs: boundOf(own.connectMs, coarsestMs, wanted.connectMs),
    firstByteMs: boundOf(own.firstByteMs, coarsestMs, wanted.firstByteMs),
    idleMs: boundOf(own.idleMs, coarsestMs, wanted.idleMs),
    totalMs: boundOf(own.totalMs, Number.POSITIVE_INFINITY, wanted.totalMs),
  };
}

function boundOf(own: number, keptBelow: number, wanted = Number.POSITIVE_INFINITY): Bound | undefined {
  if (wanted < own) return { ms: wanted, isCallers: true };
  return own < keptBelow ? { ms: own, isCallers: false } : undefined;
}

/** What did not come in time, by the part of an attempt. */
const missing: Readonly<Record<keyof Timeouts, string>> = {
  connectMs: "no connection",
  firstByteMs: "no answer",
  idleMs: "nothing more of its answer",
  totalMs: "no end of its answer",
};

export function timedOut(part: keyof Timeouts, { ms, isCallers }: Bound): Refusal {
  // What earlier attempts have left of the caller's time would tell it nothing.
  if (part === "totalMs" && isCallers)
    return upstreamTimeout("no end of its answer within `x-gateway-timeout`", isCallers);
  return upstreamTimeout(`${missing[part]} in ${Math.max(0, Math.round(ms)) / 1000} s`, isCallers);
}
