/**
 * Claims idempotency keys for running calls: one call at a time under each key. A second call in the same process waits for the
 * first; in another process it is refused, and may be repeated in a moment.
 *
 * The claim of a process that died expires when its holds do, and no claim of a process that lives does. So a process ends each claim that it
 * has made: one that the database did not let end is ended later, and an answer that it did not take is stored later, for its call is charged.
 * While there are calls or such claims, a timer extends those of calls that run or are charged, and ends what is left.
 */
import { answerNotKept, cancelled, idempotencyConflict, idempotencyRunning } from "../../call/refusals.ts";
import { holdMs, sweepMs } from "../../ledger/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { Claim, Claimed, ReplayStore } from "../../storage/answers/replays.ts";
import type { MayLive } from "../../storage/processes.ts";
import { maxReplayBytes } from "./replay-text.ts";

/** StoredAnswer is the stored answer of an earlier call, and the id of that call. */
export interface StoredAnswer {
  readonly requestId: string;
  readonly answer: Buffer;
}

/** HeldClaim is the claim of a key by one running call. */
export interface HeldClaim {
  /** Stores the answer of the call, which is charged; undefined where it is too long. It never rejects: it is stored now or later. */
  keep(answer: Buffer | undefined): Promise<unknown>;
  /** Ends the claim. Where no answer was to be stored, the key is free again. Later calls have no effect. */
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
      await running.endOf(asking);
      const now = clock();
      const claim: Claim = { ...asking, node, now, expiresAt: now + holdMs };
      const claimed = await claimUnlessLives(claim, options).catch((error: unknown): never => {
        // The key may be claimed all the same, where the connection broke.
        running.freeLater(claim);
        throw error;
      });
      if (claimed.kind !== "claimed") return claimed;
      return held(claim, call, running, () => running.leave(place));
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
    throw claimed.kind === "conflict" ? idempotencyConflict() : answerNotKept();
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

/** mostKeptLater is how many bytes of answers wait to be stored, at most. An answer beyond that counts as too long. */
const mostKeptLater = maxReplayBytes;

/** LeftClaim is the claim of a call that is over, which the database did not let end. */
interface LeftClaim {
  /** Frees the key, or stores the answer. */
  end(): Promise<unknown>;
  /** How many bytes of an answer it has. */
  readonly bytes: number;
  /** Whether the call is charged: then the claim is extended until the answer is stored. Others expire. */
  readonly isCharged: boolean;
}

type RunningCalls = ReturnType<typeof createRunningCalls>;

/** createRunningCalls keeps the calls of this process that claim keys or have claimed them, by account and key, and extends or ends their claims. */
function createRunningCalls(options: ClaimsOptions) {
  const { store, node, clock, onError } = options;
  const calls = new Map<string, RunningCall>();
  const left = createLeftClaims(options, start);
  let timer: NodeJS.Timeout | undefined;
  function start(): void {
    timer ??= setInterval(renew, sweepMs).unref();
  }
  function renew(): void {
    const requestIds = Array.from([...calls.values(), ...left.charged()], ({ requestId }) => requestId);
    void store.renew(node, requestIds, clock() + holdMs).catch(onError);
    void left.endAll().then(stop);
  }
  function stop(): void {
    if (calls.size > 0 || left.isAny()) return;
    clearInterval(timer);
    timer = undefined;
  }
  return {
    ...left,
    at: (place: string) => calls.get(place),
    enter(place: string, call: RunningCall): void {
      calls.set(place, call);
      start();
    },
    leave(place: string): void {
      calls.delete(place);
      stop();
    },
  };
}

/** createLeftClaims ends claims, at once or later. `onLeft` is called where one is left: `endAll` has to be called from time to time. */
function createLeftClaims({ store, clock, onError }: ClaimsOptions, onLeft: () => void) {
  const left = new Map<Claim, LeftClaim>();
  const keepNow = (claim: Claim, answer: Buffer | undefined) => store.keep({ ...claim, now: clock() }, answer);
  const freeing = (claim: Claim): LeftClaim => ({ end: () => store.free(claim), bytes: 0, isCharged: false });
  const keeping = (claim: Claim, answer: Buffer | undefined): LeftClaim => {
    const waiting = left.values().reduce((sum, { bytes }) => sum + bytes, 0);
    const kept = waiting + (answer?.length ?? 0) > mostKeptLater ? undefined : answer;
    return { end: () => keepNow(claim, kept), bytes: kept?.length ?? 0, isCharged: true };
  };
  const leave = (claim: Claim, how: LeftClaim) => {
    left.set(claim, how);
    onLeft();
  };
  const end = async (claim: Claim, how: LeftClaim) => {
    await how.end();
    left.delete(claim);
  };
  return {
    /** Returns the claims that are to be extended. */
    charged: () => Array.from(left).flatMap(([claim, { isCharged }]) => (isCharged ? [claim] : [])),
    isAny: () => left.size > 0,
    /** Ends the claim of a call that was not answered, now or later. It never rejects. */
    free: (claim: Claim): Promise<void> =>
      store.free(claim).catch((error: unknown) => {
        onError(error);
        leave(claim, freeing(claim));
      }),
    /** Stores the answer of a call that is charged, now or later. It never rejects. */
    keep: (claim: Claim, answer: Buffer | undefined): Promise<unknown> =>
      keepNow(claim, answer).catch((error: unknown) => {
        onError(error);
        leave(claim, keeping(claim, answer));
      }),
    /** Ends a claim of which nobody knows whether it was made. */
    freeLater(claim: Claim): void {
      // Few claims suffice: only those under way when the connection broke may have been made. Later ones are not.
      if (left.size < mostUnknown) leave(claim, freeing(claim));
    },
    /** Ends what is left of a key before it is claimed anew. Rejects where the database does not let it end. */
    async endOf({ accountId, keyHash }: Asking): Promise<void> {
      for (const [claim, how] of left)
        if (claim.keyHash === keyHash && claim.accountId === accountId) await end(claim, how);
    },
    /** Ends all that the database lets end. It never rejects. */
    async endAll(): Promise<void> {
      try {
        for (const [claim, how] of left) await end(claim, how);
      } catch (error) {
        // The database does not let the others end either.
        onError(error);
      }
    },
  };
}

function held(claim: Claim, call: RunningCall, running: RunningCalls, leave: () => void): HeldClaim {
  const { promise, resolve } = Promise.withResolvers<void>();
  call.over = promise;
  let isAnswered = false;
  let isOver = false;
  return {
    keep(answer) {
      isAnswered = true;
      return running.keep(claim, answer);
    },
    end() {
      if (isOver) return;
      isOver = true;
      if (!isAnswered) void running.free(claim);
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
