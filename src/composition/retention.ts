/**
 * Has calls, refused ones and audit events forgotten that are older than they are kept: at the start, and then every hour, with room for
 * other writers in between.
 */
import { setTimeout as delay } from "node:timers/promises";
import { firstIdAt } from "../runtime/ids.ts";
import { dayMs, hourMs } from "../runtime/time/durations.ts";
import type { RetentionStore } from "../storage/calls/retention.ts";

export interface RetentionOptions {
  readonly store: RetentionStore;
  /** Returns for how long calls, audit events and refused calls are kept, in milliseconds; undefined: for good. */
  readonly settings: () => {
    readonly retention: {
      readonly requestsMs: number | undefined;
      readonly auditMs: number | undefined;
      readonly refusedMs?: number | undefined;
    };
  };
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  readonly onError: (error: unknown) => void;
}

export interface Retention {
  /** Deletes all that is older by now. Never rejects. */
  run(): Promise<void>;
  close(): Promise<void>;
}

/** spendingMs is how long spending by quarters is kept: twice the longest window of a budget, in case a clock is set back. */
const spendingMs = 70 * dayMs;
const betweenMs = 10;

export function createRetention({ store, settings, clock, onError }: RetentionOptions): Retention {
  const closing = new AbortController();
  let running: Promise<void> | undefined;

  async function all(forget: () => Promise<number>): Promise<void> {
    while (!closing.signal.aborted && (await forget()) > 0) {
      await delay(betweenMs, undefined, { signal: closing.signal }).catch(() => {});
    }
  }

  async function forgetAll(): Promise<void> {
    const now = clock();
    const { requestsMs, auditMs, refusedMs } = settings().retention;
    if (requestsMs !== undefined) {
      // Whole hours, as the sums of usage have them.
      const hour = Math.floor((now - requestsMs) / hourMs) * hourMs;
      await all(() => store.forgetRequests(hour, firstIdAt("req", hour)));
    }
    // Also where calls are kept for good by now: older versions may have left an entry for each that they had forgotten.
    await all(() => store.foldCharges());
    await all(() => store.foldRefused(now));
    if (refusedMs !== undefined)
      await all(() => store.forgetRefused(now - refusedMs, firstIdAt("req", now - refusedMs)));
    await all(() => store.forgetSpending(now - spendingMs));
    if (auditMs !== undefined) await all(() => store.forgetAuditEvents(firstIdAt("act", now - auditMs)));
  }

  const run = () => {
    running ??= forgetAll()
      .catch(onError)
      .finally(() => (running = undefined));
    return running;
  };
  const timer = setInterval(() => void run(), hourMs).unref();
  return {
    run,
    async close() {
      clearInterval(timer);
      closing.abort();
      await running;
    },
  };
}
