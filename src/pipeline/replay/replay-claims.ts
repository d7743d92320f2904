/**
 * Claims idempotency keys for running calls: one call at a time under each key. A second call in the same process waits for the
 * first; in another process it is refused, and may be repeated in a moment.
 *
 * The claim of a process that died expires when its holds do, unless the process may live. While calls run, a timer extends their claims, and no others: one that
 * the database did not let end expires too. Without calls there is no timer.
 */
import { cancelled, idempotencyConflict, idempotencyRunning, replayTooLarge } from "../../call/refusals.ts";
import { holdMs, sweepMs } from "../../ledger/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { Claim, Claimed, ReplayStore } from "../../storage/answers/replays.ts";
import type { MayLive } from "../../storage/processes.ts";

/** StoredAnswer is the stored answer of an earlier call, and the id of that call. */
export interface StoredAnswer {
  readonly requestId: string;
  readonly answer: Buffer;
}

/** HeldClaim is the claim of a key by one running call. */
export interface HeldClaim {
  /** Stores the call's answer; undefined where it is too long. */
  keep(answer: Buffer | undefined): Promise<void>;
  /** Ends the claim. Where no answer was stored, the key is free again. Later calls have no effect. */
  end(): void;
}

export interface ClaimsOptions {
  readonly store: ReplayStore;
  /** The id of this process among those that share the database. */
  readonly node: string;
  readonly mayLive: MayLive;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Called with errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

export type Asking = Pick<Claim, "accountId" | "keyHash" | "requestHash" | "requestId">;

/** ClaimKey waits until the key is free, and claims it, or returns the answer that was stored meanwhile. Rejects with a Refusal. */
export type ClaimKey = (asking: Asking, signal: Signal) => Promise<HeldClaim | StoredAnswer>;

/** RunningCall is a call that claims its key, or has claimed it. */
interface RunningCall {
  readonly requestId: string;
  readonly requestHash: string;
  /** Resolves once the database has decided on the claim. */
  readonly decided: Promise<void>;
  /** Resolves once the call is over; undefined until it has claimed the key. */
  over: Promise<void> | undefined;
}

export function createClaims(options: ClaimsOptions): ClaimKey {
  const { node, clock } = options;
  const running = createRunningCalls(options);

  /** Claims a key that no call of this process claims or has claimed. From its first moment on no other does. */
  async function claimNow(asking: Asking, place: string) {
    const { promise: decided, resolve } = Promise.withResolvers<void>();
    const { requestId, requestHash } = asking;
    const call: RunningCall = { requestId, requestHash, decided, over: undefined };
    running.enter(place, call);
    try {
      const now = clock();
      const claim: Claim = { ...asking, node, now, expiresAt: now + holdMs };
      const claimed = await claimUnlessLives(claim, options);
      return claimed.kind === "claimed" ? held(claim, call, () => running.leave(place), options) : claimed;
    } finally {
      if (!call.over) running.leave(place);
      resolve();
    }
  }

  return async (asking, signal) => {
    const place = `${asking.accountId} ${asking.keyHash}`;
    for (let first = running.at(place); first; first = running.at(place)) {
      // Until it is decided whose the key is, neither of two requests is known to be the wrong one.
      if (first.over && first.requestHash !== asking.requestHash) throw idempotencyConflict();
      await unlessAborted(first.over ?? first.decided, signal);
    }
    const claimed = await claimNow(asking, place);
    if ("end" in claimed || claimed.kind === "answered") return claimed;
    if (claimed.kind === "running" || claimed.kind === "expired") throw idempotencyRunning();
    throw claimed.kind === "conflict" ? idempotencyConflict() : replayTooLarge();
  };
}

/** claimUnlessLives claims a key, also that of a process which does not live any more. */
async function claimUnlessLives(claim: Claim, { store, mayLive }: ClaimsOptions): Promise<Claimed> {
  const claimed = await store.claim(claim);
  if (claimed.kind !== "expired") return claimed;
  const { node, ifLives } = claimed;
  return (await mayLive(node)) ? ifLives : store.claim({ ...claim, endedNode: node });
}

/** The calls of this process that claim keys or have claimed them, by account and key. While there are any, their claims are extended. */
function createRunningCalls({ store, node, clock, onError }: ClaimsOptions) {
  const calls = new Map<string, RunningCall>();
  let renewing: NodeJS.Timeout | undefined;
  const renew = () => {
    const requestIds = Array.from(calls.values(), ({ requestId }) => requestId);
    void store.renew(node, requestIds, clock() + holdMs).catch(onError);
  };
  return {
    at: (place: string) => calls.get(place),
    enter(place: string, call: RunningCall): void {
      calls.set(place, call);
      renewing ??= setInterval(renew, sweepMs).unref();
    },
    leave(place: string): void {
      calls.delete(place);
      if (calls.size > 0) return;
      clearInterval(renewing);
      renewing = undefined;
    },
  };
}

function held(claim: Claim, call: RunningCall, leave: () => void, { store, onError }: ClaimsOptions): HeldClaim {
  const { promise, resolve } = Promise.withResolvers<void>();
  call.over = promise;
  let isKept = false;
  let isOver = false;
  return {
    async keep(answer) {
      isKept = await store.keep(claim, answer);
    },
    end() {
      if (isOver) return;
      isOver = true;
      if (!isKept) void store.free(claim).catch(onError);
      leave();
      resolve();
    },
  };
}

/** unlessAborted waits for another call. Rejects with a Refusal where the caller disconnects before. */
function unlessAborted(over: Promise<void>, signal: Signal): Promise<void> {
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
