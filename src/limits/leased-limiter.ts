/**
 * The limiter over slices: decides calls from the slice at hand, and asks for all buckets that need one in a turn of the event loop
 * together. What is left of a slice goes back after a tenth of a second, and what was drawn is told within 50 ms.
 *
 * While the keeper of the buckets is away, each process takes its share of every rate: the rate divided by the processes that last
 * lived. When it is back it is told what was used. Where that is not wanted, `whenAway` makes the error that calls fail with.
 */
import { Deferred, isPromise, type MaybePromise } from "../runtime/maybe-promise.ts";
import { type Ask, type Slice, type Slices, sliceMs } from "./contract.ts";
import {
  askOf,
  decideAnswered,
  decideHeld,
  decideShare,
  drawHeld,
  drawShare,
  endShare,
  type HeldBucket,
  isShareFull,
  isStale,
  newHeldBucket,
  receive,
} from "./held-bucket.ts";
import type { Decision, Limiter, Rate } from "./limiter.ts";
import { createRotating } from "./rotating.ts";

export interface LeasedLimiterOptions {
  readonly slices: Slices;
  /** Returns milliseconds that never go back. */
  readonly clock?: () => number;
  /** Returns what a call fails with that would take something while slices are away. Without it the rate is divided. */
  readonly whenAway?: (() => Error) | undefined;
  readonly counts?: DecisionCounts;
  /** Returns the name of an id's bucket in slices, where that is not the id itself. */
  readonly nameOf?: (id: string) => string;
}

/** DecisionCounts counts decisions by how they were made. */
export interface DecisionCounts {
  /** From the slice at hand, or what was just heard of the bucket. */
  slice: number;
  /** After a round trip. */
  asked: number;
  /** While slices were away. */
  away: number;
}

export interface LeasedLimiter extends Limiter {
  /** Gives everything back. Nothing is taken after that. */
  close(): void;
}

const awayTickMs = 1_000;

export function createLeasedLimiter(options: LeasedLimiterOptions): LeasedLimiter {
  const { slices, whenAway, counts = { slice: 0, asked: 0, away: 0 } } = options;
  const clock = options.clock ?? performance.now.bind(performance);
  const time = () => Math.floor(clock());
  const onUnused = (id: string, rate: Rate, units: number) => slices.giveBack([{ id, rate, units }]);
  const buckets = createHeldBuckets(options.nameOf ?? ((id) => id), onUnused);
  const state: State = {
    ...{ slices, whenAway, counts, time },
    ...{ due: [], owing: new Set(), timer: undefined, isClosed: false },
  };
  return {
    take(id, rate, cost): MaybePromise<Decision> {
      const now = time();
      const held = buckets.find(id, rate, now);
      if (slices.isAway()) return decideAway(state, held, cost, now);
      if (held.share) endShare(held, now);
      const decision = decideHeld(held, cost, now);
      if (!decision) return wait(state, held, cost);
      counts.slice++;
      return decision;
    },
    draw(id, rate, cost) {
      const now = time();
      const held = buckets.find(id, rate, now, true);
      if (slices.isAway() && !whenAway) drawShare(held, cost, now, slices.nodes());
      else drawHeld(held, cost, now);
      owe(state, held);
    },
    close() {
      state.isClosed = true;
      clearTimeout(state.timer);
      const now = time();
      if (!slices.isAway()) for (const held of state.owing) askSoon(state, giveUp(held, now));
      state.owing.clear();
    },
  };
}

interface State extends Required<Pick<LeasedLimiterOptions, "slices" | "counts">> {
  readonly whenAway: LeasedLimiterOptions["whenAway"];
  /** Returns whole milliseconds. */
  readonly time: () => number;
  /** Buckets that are asked for at the end of this turn. */
  due: HeldBucket[];
  /** Buckets with a slice at hand, or with something to be told. */
  readonly owing: Set<HeldBucket>;
  timer: NodeJS.Timeout | undefined;
  isClosed: boolean;
}

/** wait has a call wait for the answer to the next ask of its bucket. */
function wait(state: State, held: HeldBucket, cost: number): Deferred<Decision> {
  const deferred = new Deferred<Decision>();
  const [resolve, reject] = [deferred.resolve.bind(deferred), deferred.reject.bind(deferred)];
  held.waiting.push({ cost, resolve, reject });
  askSoon(state, held);
  return deferred;
}

function askSoon(state: State, held: HeldBucket): void {
  if (held.isAsking) return;
  held.isAsking = true;
  if (state.due.push(held) === 1) queueMicrotask(() => askAll(state));
}

function askAll(state: State): void {
  const now = state.time();
  const batch = state.due.map((held): AskedBucket => {
    const { waiting } = held;
    const ask = askOf(held, now);
    held.waiting = [];
    return { held, ask, waiting };
  });
  state.due = [];
  const answered = (granted: readonly Slice[]) => {
    for (const [i, one] of batch.entries()) answer(state, one, granted[i] as Slice);
  };
  const failed = () => {
    for (const one of batch) fail(state, one);
  };
  try {
    const granted = state.slices.take(batch.map(({ ask }) => ask));
    if (isPromise(granted)) granted.then(answered, failed);
    else answered(granted);
  } catch {
    failed();
  }
}

interface AskedBucket {
  readonly held: HeldBucket;
  readonly ask: Ask;
  readonly waiting: HeldBucket["waiting"];
}

function answer(state: State, { held, ask, waiting }: AskedBucket, slice: Slice): void {
  const now = state.time();
  held.isAsking = false;
  if (!isSameRate(held.rate, ask.rate)) {
    if (slice.units > 0) state.slices.giveBack([{ ...ask, units: slice.units }]);
    held.waiting = [...waiting, ...held.waiting];
  } else {
    receive(held, slice, now);
    state.counts.asked += waiting.length;
    for (const { cost, resolve } of waiting) resolve(decideAnswered(held, cost, now));
  }
  answerLater(state, held, now);
  owe(state, held);
}

/** answerLater answers the calls that came meanwhile from what is at hand, and asks again for the others. */
function answerLater(state: State, held: HeldBucket, now: number): void {
  const later = held.waiting;
  held.waiting = [];
  for (const call of later) {
    const decision = decideHeld(held, call.cost, now);
    if (!decision) {
      held.waiting.push(call);
      continue;
    }
    state.counts.slice++;
    call.resolve(decision);
  }
  if (held.waiting.length > 0) askSoon(state, held);
}

/** fail decides what waited for an ask that failed as if slices had been away before. */
function fail(state: State, { held, ask, waiting }: AskedBucket): void {
  const now = state.time();
  held.isAsking = false;
  held.drawn += ask.drawn;
  const all = [...waiting, ...held.waiting];
  held.waiting = [];
  for (const { cost, resolve, reject } of all) {
    try {
      resolve(decideAway(state, held, cost, now));
    } catch (error) {
      reject(error);
    }
  }
  owe(state, held);
}

function decideAway(state: State, held: HeldBucket, cost: number, now: number): Decision {
  const { slices, whenAway, counts } = state;
  counts.away++;
  if (whenAway && cost > 0) throw whenAway();
  const decision = decideShare(held, cost, now, slices.nodes());
  owe(state, held);
  return decision;
}

function owe(state: State, held: HeldBucket): void {
  if (state.isClosed) return;
  if (held.left === 0 && held.drawn === 0 && !held.share) {
    state.owing.delete(held);
    return;
  }
  state.owing.add(held);
  state.timer ??= setTimeout(tell, state.slices.isAway() ? awayTickMs : sliceMs, state).unref();
}

/** tell has what is owed told, and stale slices given back. */
function tell(state: State): void {
  state.timer = undefined;
  const [now, isAway] = [state.time(), state.slices.isAway()];
  for (const held of state.owing) {
    if (isAway) {
      if (isShareFull(held, now)) held.share = undefined;
    } else {
      endShare(held, now);
      if (held.drawn !== 0 || isStale(held, now)) askSoon(state, held);
    }
    owe(state, held);
  }
}

/** giveUp makes what is owed of a bucket something to be told: what is at hand goes back. */
function giveUp(held: HeldBucket, now: number): HeldBucket {
  endShare(held, now);
  held.drawn -= held.left;
  held.left = 0;
  return held;
}

/**
 * createHeldBuckets keeps what is held of each bucket, and forgets what was not used for two windows: it would be full. `onUnused` is
 * called with what is at hand of a bucket whose rate has changed.
 */
function createHeldBuckets(nameOf: (id: string) => string, onUnused: (id: string, rate: Rate, units: number) => void) {
  const buckets = createRotating<HeldBucket>();
  return {
    find(id: string, rate: Rate, now: number, keepsRate = false): HeldBucket {
      const keptMs = 2 * rate.windowMs;
      const held = buckets.find(id, keptMs, now) ?? buckets.add(id, keptMs, newHeldBucket(nameOf(id), rate, now));
      if (!keepsRate && !isSameRate(held.rate, rate)) {
        if (held.left > 0) onUnused(held.id, held.rate, held.left);
        const { waiting, isAsking, drawn } = held;
        Object.assign(held, { ...newHeldBucket(held.id, rate, now), waiting, isAsking, drawn });
      }
      return held;
    },
  };
}

function isSameRate(one: Rate, other: Rate): boolean {
  return one.capacity === other.capacity && one.windowMs === other.windowMs;
}
