/**
 * The caller's own time-outs, by the header `x-gateway-timeout`: seconds for all attempts together, or for each part of an attempt,
 * as `total=30, connect=2, first_byte=10, idle=5`. They can only shorten the time-outs of the upstream's configuration.
 */
import type { AnswerWaiting, Call } from "../../call/call.ts";
import { invalidValue } from "../../call/refusals.ts";
import type { Timeouts } from "../../providers/upstream/timeouts.ts";

const parts: ReadonlyMap<string, keyof Timeouts> = new Map([
  ["connect", "connectMs"],
  ["first_byte", "firstByteMs"],
  ["idle", "idleMs"],
  ["total", "totalMs"],
]);

const none: Partial<Timeouts> = {};

/** endless is the deadline of a call without a total time-out. */
export const endless = Number.POSITIVE_INFINITY;

/** timeoutsOf throws a Refusal. */
export function timeoutsOf(header: Call["header"]): Partial<Timeouts> {
  const text = header("x-gateway-timeout");
  if (text === undefined) return none;
  const timeouts: { -readonly [name in keyof Timeouts]?: number } = {};
  for (const word of text.split(",")) {
    const [, name = "total", seconds = ""] = /^\s*(?:([a-z_]+)\s*=\s*)?(\d{1,6}(?:\.\d{1,6})?)\s*$/.exec(word) ?? [];
    const part = parts.get(name);
    const ms = Number(seconds) * 1000;
    if (part === undefined || seconds === "" || ms === 0 || timeouts[part] !== undefined)
      throw invalidValue("x-gateway-timeout", expected);
    timeouts[part] = ms;
  }
  return timeouts;
}

const expected = "expected seconds, or some of total=30, connect=2, first_byte=10, idle=5";

/** deadlineOf returns when all attempts must be over, in milliseconds since 1970. */
export function deadlineOf({ totalMs }: Partial<Timeouts>, arrivedAt: number): number {
  return arrivedAt + (totalMs ?? endless);
}

/**
 * callerWaiting returns how long an answer that no attempt brings, as one of the cache, may wait for memory: as long as its caller waits. Throws
 * a Refusal.
 */
export function callerWaiting({ header, signal }: Pick<Call, "header" | "signal">): AnswerWaiting {
  return { signal, until: performance.now() + (timeoutsOf(header).totalMs ?? endless) };
}
