/**
 * Claims idempotency keys for running calls: one call at a time under each key. A second call in the same process waits for the
 * first; in another process it is refused, and may be repeated in a moment.
 *
 * The claim of a process that died expires when its holds do, and no claim of a process that lives does. So a process ends each claim that it
 * has made: one that the database did not let end is ended later. While there are calls or such claims, a timer extends the claims of calls,
 * and ends the others.
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
      const claimed = await claimUnlessLives(claim, options).catch((error: unknown): never => {
        // The key may be claimed all the same, where the connection broke.
        running.freeLater(claim);
        throw error;
      });
      if (claimed.kind !== "claimed") return claimed;
      const free = () => void running.free(claim);
      return held(claim, call, { store: options.store, free, leave: () => running.leave(place) });
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

/** mostUnknown is how many claims are ended later of which nobody knows whether they were made. */
const mostUnknown = 1000;

/** createRunningCalls keeps the calls of this process that claim keys or have claimed them, by account and key, and extends or ends their claims. */
function createRunningCalls({ store, node, clock, onError }: ClaimsOptions) {
  const calls = new Map<string, RunningCall>();
  /** left are claims of calls that are over, which the database did not let end. */
  const left = new Set<Claim>();
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer ??= setInterval(renew, sweepMs).unref();
  };
  const stop = () => {
    if (calls.size + left.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const leave = (claim: Claim) => {
    left.add(claim);
    start();
  };
  const free = async (claim: Claim): Promise<boolean> => {
    try {
      await store.free(claim);
      left.delete(claim);
      stop();
      return true;
    } catch (error) {
      onError(error);
      leave(claim);
      return false;
    }
  };
  const freeLeft = async () => {
    // The database does not let the others end either.
    for (const claim of left) if (!(await free(claim))) return;
  };
  const renew = () => {
    const requestIds = Array.from(calls.values(), ({ requestId }) => requestId);
    void store.renew(node, requestIds, clock() + holdMs).catch(onError);
    void freeLeft();
  };
  return {
    at: (place: string) => calls.get(place),
    enter(place: string, call: RunningCall): void {
      calls.set(place, call);
      start();
    },
    leave(place: string): void {
      calls.delete(place);
      stop();
    },
    /** Ends the claim of a call that was not answered, now or later. It never rejects. */
    free,
    /** Ends a claim of which nobody knows whether it was made. */
    freeLater(claim: Claim): void {
      // Few claims suffice: only those under way when the connection broke may have been made. Later ones are not.
      if (left.size < mostUnknown) leave(claim);
    },
  };
}

/** HeldParts ends the claim, and says that the call is over. */
interface HeldParts extends Pick<ClaimsOptions, "store"> {
  free(): void;
  leave(): void;
}

function held(claim: Claim, call: RunningCall, { store, free, leave }: HeldParts): HeldClaim {
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
      if (!isKept) free();
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
