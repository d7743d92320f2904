/**
 * Failed credentials, counted by the address that they come from and by its neighbourhood. Whoever fails again and again is
 * told so later each time, and beyond the bound is told only to come back. What is right is never counted, and works at once:
 * many people may share an address, and one of them must not lock the others out. The same credential again is no new guess but
 * a program with an old key: it counts a quarter, and is told at once.
 *
 * What waits to be told is bounded, and so is what is remembered of addresses.
 */
import { LRUCache } from "lru-cache";
import type { Signal } from "../runtime/caller-abort.ts";
import type { Limiter, Rate } from "./limiter.ts";
import { neighbourhoodOf, networkOf } from "./networks.ts";

export interface Guesses {
  /**
   * Counts a failed credential, and resolves when it may be answered, at once where the caller leaves: with 0, or in how many
   * milliseconds the address may fail again, where it is beyond its bound. `credential` is a hash of what was shown; unset where
   * each counts in full.
   */
  failed(address: string, credential: string | undefined, gone: Signal | undefined): Promise<number>;
  /** Counts one for the reports alone. */
  note(address: string): void;
  /** Returns how often an address has failed that was not reported yet; undefined where one was reported a moment ago. */
  report(address: string): Promise<number | undefined>;
}

export interface GuessOptions {
  readonly limiter: Limiter;
  /** How many may fail at once from an address, and come back in a minute. */
  readonly perMinute: number;
  /** Resolves after so many milliseconds. */
  readonly wait?: (ms: number, gone: Signal | undefined) => Promise<void>;
}

/** What a guess counts; one that was made before from there counts 1. */
const guess = 4;

/** How many credentials are remembered. */
const mostSeen = 20_000;

/** Neighbours may fail so many times as often together as one of them. */
const neighbours = 4;

/** So many are told at once: people mistype, and programs that start together have the same old key. */
const free = 5;
const stepMs = 50;
const longestMs = 2_000;

/** How many answers wait at most. Each holds a connection of its client's. */
const mostWaiting = 1_000;

/** Reports are rows of the audit log: one for an address in a minute, and so many for all. */
const reportEach: Rate = { capacity: 1, windowMs: 60_000 };
const reportAll: Rate = { capacity: 60, windowMs: 60_000 };

/** Of how many addresses failures are counted for the reports. */
const mostCounted = 10_000;

export function createGuesses({ limiter, perMinute, wait = waitFor }: GuessOptions): Guesses {
  const own: Rate = { capacity: perMinute * guess, windowMs: 60_000 };
  const ofAll: Rate = { capacity: own.capacity * neighbours, windowMs: 60_000 };
  const seen = new LRUCache<string, true>({ max: mostSeen });
  const unreported = new Map<string, number>();
  let waiting = 0;

  function note(address: string): void {
    const network = networkOf(address);
    if (unreported.size >= mostCounted) unreported.clear();
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
      const delayMs = isKnown ? 0 : Math.min(longestMs, stepMs * Math.max(0, failures - free));
      if (delayMs > 0 && waiting < mostWaiting) {
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
