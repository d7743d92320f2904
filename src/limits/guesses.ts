/**
 * Counts failed credentials by the address that they come from, and by its neighbourhood. The more an address fails, the longer
 * the answer is delayed; beyond the limit it says only when to come back. A right credential is never counted and works at once:
 * many people may share an address, and one of them must not lock the others out. The same wrong credential again is no new guess,
 * but a program with an old key: it counts a quarter, and its answer is not delayed.
 *
 * The number of delayed answers is bounded, and so is what is remembered of addresses.
 */
import type { Signal } from "../runtime/caller-abort.ts";
import { createGrownCache } from "../runtime/memory/grown-cache.ts";
import { neighbourhoodOf, networkOf } from "../runtime/net/networks.ts";
import type { Limiter, Rate } from "./limiter.ts";

export interface Guesses {
  /**
   * Counts a failed credential, and resolves when it may be answered, or at once when the caller disconnects: with 0, or beyond
   * the limit with the milliseconds until the address may fail again. `credential` is a hash of what was sent; undefined where
   * each failure counts in full.
   */
  failed(address: string, credential: string | undefined, gone: Signal | undefined): Promise<number>;
  /** Counts a failure for the reports only. */
  note(address: string): void;
  /** Returns how many failures of an address are not reported yet; undefined where a report was made a moment ago. */
  report(address: string): Promise<number | undefined>;
}

export interface GuessOptions {
  readonly limiter: Limiter;
  /** Returns the failures that an address is allowed: at once, and again each minute. */
  readonly settings: () => { readonly failedCredentials: { readonly perMinute: number } };
  /** Resolves after so many milliseconds. */
  readonly wait?: (ms: number, gone: Signal | undefined) => Promise<void>;
}

/** The cost of a new guess. A repeated one costs 1. */
const guess = 4;

/** The number of wrong credentials that are remembered. */
const maxSeen = 20_000;

/** A neighbourhood is allowed so many times the failures of one address. */
const neighbours = 4;

/** The first failures are not delayed: people mistype, and programs that start together have the same old key. */
const undelayed = 5;
const stepMs = 50;
const maxDelayMs = 2_000;

/** The number of answers that are delayed at a time. Each holds its client's connection. */
const maxWaiting = 1_000;

/** Reports are rows of the audit log. These rates bound those of one address, and those of all. */
const reportEach: Rate = { capacity: 1, windowMs: 60_000 };
const reportAll: Rate = { capacity: 60, windowMs: 60_000 };

/** The number of addresses whose failures are counted for the reports. */
const maxCounted = 10_000;

export function createGuesses({ limiter, settings, wait = waitFor }: GuessOptions): Guesses {
  const seen = createGrownCache<true>(maxSeen);
  const unreported = new Map<string, number>();
  let waiting = 0;

  function note(address: string): void {
    const network = networkOf(address);
    if (unreported.size >= maxCounted) unreported.clear();
    unreported.set(network, (unreported.get(network) ?? 0) + 1);
  }

  return {
    note,
    async report(address) {
      const network = networkOf(address);
      if (!(await limiter.take(`report ${network}`, reportEach, 1)).allowed) return undefined;
      if (!(await limiter.take("reports", reportAll, 1)).allowed) return undefined;
      const count = unreported.get(network);
      unreported.delete(network);
      return count;
    },
    async failed(address, credential, gone) {
      note(address);
      const { perMinute } = settings().failedCredentials;
      const own: Rate = { capacity: perMinute * guess, windowMs: 60_000 };
      const ofAll: Rate = { capacity: own.capacity * neighbours, windowMs: 60_000 };
      const network = networkOf(address);
      const shown = credential && `${network} ${credential}`;
      const isKnown = shown !== undefined && seen.has(shown);
      const cost = isKnown ? 1 : guess;
      const { allowed, remaining, retryAfterMs } = await limiter.take(`guess ${network}`, own, cost);
      const near = await limiter.take(`guess near ${neighbourhoodOf(network)}`, ofAll, allowed ? cost : 0);
      if (!allowed || !near.allowed) {
        return Math.max(1, retryAfterMs, near.retryAfterMs);
      }
      if (shown !== undefined) seen.set(shown, true);
      const failures = perMinute - Math.floor(remaining / guess);
      const delayMs = isKnown ? 0 : Math.min(maxDelayMs, stepMs * Math.max(0, failures - undelayed));
      if (delayMs > 0 && waiting < maxWaiting) {
        waiting++;
        await wait(delayMs, gone).finally(() => waiting--);
      }
      return 0;
    },
  };
}

function waitFor(ms: number, gone: Signal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      gone?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    gone?.addEventListener("abort", end, { once: true });
    if (gone?.aborted) end();
  });
}
