/**
 * Calls under an Idempotency-Key that run: one at a time under each key. In this process who comes second waits for the
 * first; in another it is refused for the moment.
 *
 * A claim outlives its process for as long as a hold does. While any call runs its deadline is moved on; no timer runs
 * where none does.
 */
import { cancelled, idempotencyConflict, idempotencyRunning, replayTooLarge } from "../../call/refusals.ts";
import { holdMs } from "../../ledger/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { Claim, ReplayStore } from "../../storage/answers/replays.ts";

/** What was kept of a call, and which call that was. */
export interface Kept {
  readonly requestId: string;
  readonly answer: Buffer;
}

/** A call that is this one's to make. */
export interface Turn {
  /** Keeps its answer; undefined where it is too long. */
  keep(answer: Buffer | undefined): Promise<void>;
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

  const writeLater = (work: () => void) => void store.whenFree(work).catch(onError);
  const renew = () => writeLater(() => store.renew(node, clock() + holdMs));

  function begin(claim: Claim, place: string): Turn {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    running.set(place, { requestHash: claim.requestHash, over });
    renewing ??= setInterval(renew, renewMs).unref();
    let isKept = false;
    let isOver = false;
    return {
      async keep(answer) {
        isKept = await store.whenFree(() => store.keep(claim, answer));
      },
      end() {
        if (isOver) return;
        isOver = true;
        if (!isKept) writeLater(() => store.free(claim));
        running.delete(place);
        if (running.size === 0) {
          clearInterval(renewing);
          renewing = undefined;
        }
        resolve();
      },
    };
  }

  function claimNow(claim: Claim, place: string) {
    const claimed = store.claim(claim);
    return claimed.kind === "claimed" ? begin(claim, place) : claimed;
  }

  const takeTurn: TakeTurn = async (asking, signal) => {
    const place = `${asking.accountId} ${asking.keyHash}`;
    for (let first = running.get(place); first; first = running.get(place)) {
      if (first.requestHash !== asking.requestHash) throw idempotencyConflict();
      await unlessLeft(first.over, signal);
    }
    const now = clock();
    const claim: Claim = { ...asking, node, now, expiresAt: now + holdMs };
    // What was waited for at the database may have been claimed here meanwhile.
    const claimed = await store.whenFree(() => (running.has(place) ? undefined : claimNow(claim, place)));
    if (!claimed) return takeTurn(asking, signal);
    if ("end" in claimed || claimed.kind === "answered") return claimed;
    if (claimed.kind === "running") throw idempotencyRunning();
    throw claimed.kind === "conflict" ? idempotencyConflict() : replayTooLarge();
  };
  return takeTurn;
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
