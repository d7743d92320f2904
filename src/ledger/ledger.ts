/**
 * Holds and settlements, many at a time: all that come in one turn of the event loop are one transaction.
 *
 * What a promise here resolves with is committed. A settlement is safe to repeat, and is tried again while the database
 * is busy; one that fails for good is the caller's to tell. While this process lives it moves the deadlines of its holds
 * on; those of a process that died lapse, here or in whatever process looks first, and free what they reserved.
 */
import { setTimeout as delay } from "node:timers/promises";
import { newId } from "../ids.ts";
import type { Charged, Held, HoldInit, LedgerStore, Settlement } from "../storage/ledger.ts";

export type { Charged, Held, Settlement };

export interface LedgerOptions {
  readonly store: LedgerStore;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

export interface Ledger {
  hold(init: Omit<HoldInit, "node" | "expiresAt">): Promise<Held>;
  /** Gives back what a call has reserved, which may then reserve anew. */
  free(requestId: string): Promise<void>;
  /** Says that a call runs which will be settled. Returns what says that it has been. */
  begin(): () => void;
  /** Charges a call and frees its hold, once; undefined where that was done before. */
  settle(settlement: Settlement): Promise<Charged | undefined>;
  /** Notes that a key was used, at some time soon. */
  touch(keyId: string, now: number): void;
  /** Frees the holds of processes that died, and moves on those of this one. */
  sweep(): Promise<void>;
  /** Finishes what is begun: calls that were broken off are settled first. */
  close(): Promise<void>;
}

/** How long a hold outlives its process, and how often its deadline is moved on. */
export const holdMs = 90_000;
const sweepMs = 20_000;

/** How long closing waits for calls to be settled, which were all broken off before. */
const closeMs = 10_000;

/** How long after each failure a settlement is tried again, before it fails for good. */
const settleDelaysMs = [50, 200, 1000, 3000];

interface Step {
  readonly work: () => unknown;
  readonly done: (result: unknown) => void;
  readonly failed: (error: unknown) => void;
}

export function createLedger({ store, clock, onError }: LedgerOptions): Ledger {
  const node = newId("nod", clock());
  let steps: Step[] = [];
  let turn: Promise<void> | undefined;
  let running = 0;
  let idle = () => {};

  function inTurn<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      steps.push({ work, done: resolve as Step["done"], failed: reject });
      turn ??= new Promise((over) => setImmediate(() => over(flush())));
    });
  }

  function flush(): void {
    const batch = steps;
    steps = [];
    turn = undefined;
    let results: unknown[];
    let hasBegun = false;
    try {
      results = store.transact(() => {
        hasBegun = true;
        return batch.map(({ work }) => work());
      });
    } catch (error) {
      // One that fails must not take the others with it: each is tried alone. A database that is busy is waited for
      // once.
      for (const step of batch) hasBegun ? alone(step) : step.failed(error);
      return;
    }
    for (const [i, { done }] of batch.entries()) done(results[i]);
  }

  function alone({ work, done, failed }: Step): void {
    try {
      done(store.transact(work));
    } catch (error) {
      failed(error);
    }
  }

  async function settle(settlement: Settlement): Promise<Charged | undefined> {
    const entryId = newId("led", clock());
    for (const delayMs of settleDelaysMs) {
      try {
        return await inTurn(() => store.settle(settlement, entryId));
      } catch (error) {
        onError(error);
        await delay(delayMs);
      }
    }
    return inTurn(() => store.settle(settlement, entryId));
  }

  function begin(): () => void {
    running++;
    return () => {
      if (--running === 0) idle();
    };
  }

  /** Waits until no call runs, at most for as long as closing may take. */
  async function settled(): Promise<void> {
    if (running === 0) return;
    const waiting = new AbortController();
    const over = new Promise<void>((resolve) => (idle = resolve));
    await Promise.race([over, delay(closeMs, undefined, waiting).catch(() => {})]);
    waiting.abort();
  }

  async function sweep(): Promise<void> {
    const now = clock();
    await inTurn(() => store.renew(node, now + holdMs));
    while ((await inTurn(() => store.lapse(now))) > 0);
  }

  const sweeper = setInterval(() => void sweep().catch(onError), sweepMs);
  sweeper.unref();
  return {
    hold: (init) => inTurn(() => store.hold({ ...init, node, expiresAt: init.now + holdMs })),
    free: (requestId) => inTurn(() => store.free(requestId)),
    begin,
    settle,
    touch: (keyId, now) => void inTurn(() => store.touch(keyId, now)).catch(onError),
    sweep,
    async close() {
      clearInterval(sweeper);
      await settled();
      while (turn) await turn;
    },
  };
}
