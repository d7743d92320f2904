/**
 * Decides anew what was short while other nodes had idle leases, for as long as those may take to come back. All that waits is decided
 * together, again and again, and holds up nothing else: an account that is dry delays no other.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { DecidedHold, Decision, Granted } from "../../../money/books.ts";
import type { Asked, Decided } from "./turn.ts";

export interface RecallingOptions {
  readonly decideItems: (asked: Asked) => Promise<Decided>;
  /** Asks other nodes for their idle leases of accounts. */
  readonly recall: (accounts: readonly string[]) => Promise<void>;
}

/**
 * recallMs is how long a hold waits for the idle leases of other nodes; the first pause between two looks, and the longest; in
 * milliseconds.
 */
const recallMs = 1000;
const [firstLookMs, maxLookMs] = [8, 64];
/** againMs is how soon an account's leases are asked for again. */
const againMs = 250;

interface Waiting {
  readonly hold: DecidedHold;
  readonly until: number;
  readonly resolve: (decision: Decision<Granted>) => void;
  readonly reject: (error: unknown) => void;
}

/** createRecalling returns what decides a hold anew. It resolves with the last decision where the leases do not come back in time. */
export function createRecalling({
  decideItems,
  recall,
}: RecallingOptions): (hold: DecidedHold) => Promise<Decision<Granted>> {
  const askedAt = new Map<string, number>();
  let waiting: Waiting[] = [];
  let pauseMs = firstLookMs;
  let isLooking = false;

  async function askForLeases(): Promise<void> {
    const now = performance.now();
    const accounts = new Set(waiting.map(({ hold }) => hold.accountId));
    const due = [...accounts].filter((id) => now - (askedAt.get(id) ?? Number.NEGATIVE_INFINITY) >= againMs);
    for (const id of due) askedAt.set(id, now);
    if (due.length > 0) await recall(due);
  }

  async function look(): Promise<void> {
    await askForLeases();
    await delay(pauseMs);
    pauseMs = Math.min(2 * pauseMs, maxLookMs);
    const some = waiting;
    waiting = [];
    try {
      // Where credit is short nothing is leased: each call has a hold of its own.
      const holds = some.map(({ hold }) => ({ ...hold, lease: undefined }));
      const now = await decideItems({ captures: [], releases: [], leases: [], holds });
      const isOpen = ({ until }: Waiting, place: number) => now.recallable.has(place) && performance.now() < until;
      waiting = [...some.filter(isOpen), ...waiting];
      for (const [place, one] of some.entries())
        if (!waiting.includes(one)) one.resolve(now.holds[place] as Decision<Granted>);
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }

  async function run(): Promise<void> {
    isLooking = true;
    while (waiting.length > 0) {
      await look().catch((error: unknown) => {
        for (const { reject } of waiting.splice(0)) reject(error);
      });
    }
    isLooking = false;
    askedAt.clear();
  }

  return (hold) =>
    new Promise((resolve, reject) => {
      waiting.push({ hold, until: performance.now() + recallMs, resolve, reject });
      pauseMs = firstLookMs;
      if (!isLooking) void run();
    });
}
