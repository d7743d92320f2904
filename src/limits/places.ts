/**
 * Places that several processes share: how many calls an upstream may have at a time. A process leases places from their keeper, as
 * many as it has calls for, and hands one from call to call by itself as long as no other process wants more. Where more is wanted
 * than there is, each gets an equal part of what it can use, and what cannot be divided goes round: a place that becomes free is
 * given up, and the process that has waited longest gets it.
 *
 * A lease expires after some seconds without a word: the places of a process that died are there again. While the keeper is away each
 * process has its part, the places divided by the processes that lived last, and one at least.
 */
import { Deferred, isPromise, type MaybePromise } from "../runtime/maybe-promise.ts";

/** PlacesAsk says how many places a process wants of those that `name` stands for. It replaces what the process said before. */
export interface PlacesAsk {
  readonly name: string;
  /** places is how many there are. */
  readonly places: number;
  /** running is how many calls of the process have one now. They keep it, whatever is granted. */
  readonly running: number;
  /** wanted is how many it could use: `running` and those that wait. 0 gives all back. */
  readonly wanted: number;
  /**
   * isTrial is whether no call waits: what is not granted now is not wanted any more, and who asks first gets what is free. Nothing is
   * divided, and nothing kept for a process that got less than it wanted.
   */
  readonly isTrial?: boolean | undefined;
}

export interface PlacesGrant {
  /** granted is how many calls of the process may have a place: `running` at least. */
  readonly granted: number;
  /** isShort is whether more places are wanted than there are. */
  readonly isShort: boolean;
}

/** PlaceKeeper keeps places for several processes. */
export interface PlaceKeeper {
  ask(ask: PlacesAsk): MaybePromise<PlacesGrant>;
  isAway(): boolean;
  /** Returns how many processes share the places, as last known. */
  nodes(): number;
  /**
   * Calls `listener` whenever the keeper may know nothing of this process any more: it was away, or another has taken its place. Returns
   * what ends that.
   */
  onReturn(listener: () => void): () => void;
}

/** Places are what calls take before they go to an upstream. */
export interface Places {
  /** Takes a place, now or when one is there. First come, first served. */
  take(): MaybePromise<undefined>;
  release(): void;
  /** resize says how many places there are from now on. Calls that have one keep it. */
  resize(places: number): void;
  /** Gives up what is leased. Nothing waits any more. */
  close(): void;
}

/** renewMs is how often a lease is renewed. It lives for some times as long. */
const renewMs = 1_000;
/** waitMs is how often the keeper is asked while calls wait: nobody says when others have released a place. */
const waitMs = 20;

interface State {
  readonly keeper: PlaceKeeper;
  readonly name: string;
  places: number;
  granted: number;
  isShort: boolean;
  running: number;
  /** The most that ran since the last renewal: what is kept for the calls to come. */
  peak: number;
  readonly waiting: Deferred<undefined>[];
  /** told is how many ran when the keeper was asked what it has not answered yet; undefined where nothing is asked. */
  told: number | undefined;
  /** hasReleased is whether a place became free while the keeper was asked. */
  hasReleased: boolean;
  /** isUntold is whether the keeper came back while it was asked: it may know nothing of what runs. */
  isUntold: boolean;
  timer: NodeJS.Timeout | undefined;
  isClosed: boolean;
}

export function createPlaces(keeper: PlaceKeeper, name: string, places: number): Places {
  const state: State = {
    ...{ keeper, name, places, granted: 0, isShort: false, running: 0, peak: 0 },
    ...{ waiting: [], told: undefined, hasReleased: false, isUntold: false, timer: undefined, isClosed: false },
  };
  const endReturns = keeper.onReturn(() => tellAgain(state));
  return {
    take() {
      if (state.waiting.length === 0 && state.running < allowed(state)) return run(state);
      const turn = new Deferred<undefined>();
      state.waiting.push(turn);
      ask(state);
      return turn;
    },
    release() {
      state.running--;
      state.hasReleased = true;
      // Others wait: whoever has waited longest is asked for, and that may be this process.
      if (state.isShort) state.granted = Math.min(state.granted, state.running);
      serve(state);
      if (state.isShort) ask(state);
    },
    resize(next) {
      state.places = next;
      // What is granted is of another number, which the keeper is told now rather than at the next renewal.
      state.granted = Math.min(state.granted, Math.max(next, state.running));
      ask(state);
    },
    close() {
      state.isClosed = true;
      clearTimeout(state.timer);
      endReturns();
      const { places } = state;
      if (!keeper.isAway()) void Promise.resolve(keeper.ask({ name, places, running: 0, wanted: 0 })).catch(() => {});
    },
  };
}

function run(state: State): undefined {
  state.running++;
  state.peak = Math.max(state.peak, state.running);
  arm(state);
}

/**
 * allowed returns how many calls of this process may run now. The keeper may give to others what it was not told to run while it is asked.
 */
function allowed({ keeper, granted, places, told = granted }: State): number {
  return keeper.isAway() ? partOf(places, keeper) : Math.min(granted, told);
}

/** partOf returns a process's part of places whose keeper is away: one at least. */
export function partOf(places: number, keeper: Pick<PlaceKeeper, "nodes"> | undefined): number {
  return Math.max(1, Math.floor(places / (keeper?.nodes() ?? 1)));
}

function serve(state: State): void {
  while (state.waiting.length > 0 && state.running < allowed(state)) {
    run(state);
    state.waiting.shift()?.resolve(undefined);
  }
}

function ask(state: State): void {
  if (state.told !== undefined || state.isClosed) return;
  if (state.keeper.isAway()) {
    later(state);
    return;
  }
  const { keeper, name, places, running, waiting, isShort, peak } = state;
  state.told = running;
  state.hasReleased = false;
  const wanted = Math.min(places, Math.max(running + waiting.length, isShort ? 0 : peak));
  const failed = () => {
    state.told = undefined;
    if (state.isUntold) tellAgain(state);
    else later(state);
  };
  try {
    const grant = keeper.ask({ name, places, running, wanted });
    if (isPromise(grant)) grant.then((told) => receive(state, told, wanted), failed);
    else receive(state, grant, wanted);
  } catch {
    failed();
  }
}

/**
 * tellAgain tells a keeper that has come back what runs, at once: until it knows, it grants the same places to others. Nothing that was
 * granted before counts.
 */
function tellAgain(state: State): void {
  state.granted = Math.min(state.granted, state.running);
  state.isUntold = state.told !== undefined;
  if (state.running > 0 || state.waiting.length > 0) ask(state);
}

function receive(state: State, { granted, isShort }: PlacesGrant, wanted: number): void {
  state.told = undefined;
  const isStale = (state.hasReleased && isShort) || state.isUntold;
  state.isUntold = false;
  // The number may be smaller than it was when the keeper was asked.
  const most = Math.max(state.places, state.running);
  state.granted = Math.min(granted, isStale ? state.running : most);
  state.isShort = isShort;
  serve(state);
  const { running, waiting, places } = state;
  // Some came while the keeper was asked.
  const wantsMore = !isShort && running + waiting.length > wanted && wanted < places;
  if (isStale || wantsMore) ask(state);
  else arm(state);
}

/** later serves what this process's part allows, and looks again soon. */
function later(state: State): void {
  serve(state);
  arm(state);
}

/** arm asks again soon where calls wait, and now and then as long as a place is leased. */
function arm(state: State): void {
  if (state.isClosed) return;
  const waits = state.waiting.length > 0;
  if (waits) {
    clearTimeout(state.timer);
    state.timer = undefined;
  }
  if (!waits && state.granted === 0 && state.running === 0) return;
  state.timer ??= setTimeout(renew, waits ? waitMs : renewMs, state).unref();
}

function renew(state: State): void {
  state.timer = undefined;
  // What was not used since the last renewal but one goes back.
  if (state.waiting.length === 0) state.peak = state.running;
  ask(state);
}
