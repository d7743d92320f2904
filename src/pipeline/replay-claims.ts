/**
 * Calls under an Idempotency-Key that run: one at a time under each key. In this process who comes second waits for the
 * first; in another it is refused for the moment.
 *
 * A claim outlives its process for as long as a hold does. While any call runs its deadline is moved on; no timer runs
 * where none does.
 */
import { cancelled, idempotencyConflict, idempotencyRunning, replayTooLarge } from "../errors.ts";
import { holdMs } from "../ledger/ledger.ts";
import type { Signal } from "../signal.ts";
import type { Claim, ReplayStore } from "../storage/replays.ts";

/** What was kept of a call, and which call that was. */
export interface Kept {
  readonly requestId: string;
  readonly answer: Buffer;
}

/** A call that is this one's to make. */
export interface Turn {
  /** Keeps its answer; undefined where it is too long. */
  keep(answer: Buffer | undefined): void;
  /** Says that it is over, once: where no answer was kept, the key is given back. */
  end(): void;
}

export interface ClaimsOptions {
  readonly store: ReplayStore;
  /** This process, among those that share the database. */
  readonly node: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

export type Asking = Pick<Claim, "accountId" | "keyHash" | "requestHash" | "requestId">;

/** Waits until it is the call's turn, or its answer is there. Throws a Refusal. */
export type TakeTurn = (asking: Asking, signal: Signal) => Promise<Turn | Kept>;

const renewMs = 20_000;

interface First {
  readonly requestHash: string;
  readonly over: Promise<void>;
}

export function createClaims({ store, node, clock, onError }: ClaimsOptions): TakeTurn {
  const running = new Map<string, First>();
  let renewing: NodeJS.Timeout | undefined;

  function renew(): void {
    try {
      store.renew(node, clock() + holdMs);
    } catch (error) {
      onError(error);
    }
  }

  function begin(claim: Claim, place: string): Turn {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    running.set(place, { requestHash: claim.requestHash, over });
    renewing ??= setInterval(renew, renewMs).unref();
    let isKept = false;
    let isOver = false;
    return {
      keep(answer) {
        isKept = store.keep(claim, answer);
      },
      end() {
        if (isOver) return;
        isOver = true;
        try {
          if (!isKept) store.free(claim);
        } catch (error) {
          onError(error);
        }
        running.delete(place);
        if (running.size === 0) {
          clearInterval(renewing);
          renewing = undefined;
        }
        resolve();
      },
    };
  }

  return async (asking, signal) => {
    const place = `${asking.accountId} ${asking.keyHash}`;
    for (let first = running.get(place); first; first = running.get(place)) {
      if (first.requestHash !== asking.requestHash) throw idempotencyConflict();
      await unlessLeft(first.over, signal);
    }
    const now = clock();
    const claim: Claim = { ...asking, node, now, expiresAt: now + holdMs };
    const claimed = store.claim(claim);
    if (claimed.kind === "claimed") return begin(claim, place);
    if (claimed.kind === "answered") return claimed;
    if (claimed.kind === "running") throw idempotencyRunning();
    throw claimed.kind === "conflict" ? idempotencyConflict() : replayTooLarge();
  };
}

/** Waits, and no longer than the caller does. */
function unlessLeft(over: Promise<void>, signal: Signal): Promise<void> {
  return new Promise((resolve, reject) => {
    const left = () => reject(cancelled());
    if (signal.aborted) return left();
    signal.addEventListener("abort", left, { once: true });
    void over.then(() => {
      signal.removeEventListener("abort", left);
      resolve();
    });
  });
}
