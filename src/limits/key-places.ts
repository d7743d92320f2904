/**
 * Places of keys: how many calls a key may have running at a time, of this process or of all that share its places. A call takes a place
 * at once or not at all: none waits, so that a place is never kept for a call that may come.
 *
 * Processes that share places tell the keeper how many calls of a key each runs, before one begins and after one has ended. The keeper is asked
 * one question a key at a time: calls that come meanwhile go with the next one, and what has ended is never told too early. While the
 * keeper is away each process has its part, the places divided by the processes that lived last, and one at least.
 */
import { Deferred, isPromise, type MaybePromise } from "../runtime/maybe-promise.ts";
import { type PlaceKeeper, type PlacesGrant, partOf } from "./places.ts";

export interface KeyPlaces {
  /** Takes one of the places of a key. Returns false, now or later, where all are taken. */
  tryTake(id: string, places: number): MaybePromise<boolean>;
  /** Gives back a place that was taken. */
  release(id: string): void;
  /** Returns how many places of a key this process has taken. */
  running(id: string): number;
  /** Returns how many places are taken, of all keys. */
  taken(): number;
  /** Tells nothing more to the keeper. */
  close(): void;
}

export interface KeyPlacesOptions {
  /** Undefined for a process that shares its places with no other. */
  readonly keeper?: PlaceKeeper | undefined;
  /** Returns what a call fails with while the keeper is away. Without it the places are divided. */
  readonly whenAway?: (() => Error) | undefined;
}

/** renewMs is how often a process says again how many run: what it has not said for some seconds counts as ended. */
const renewMs = 1_000;

/** Waiting is a call that the keeper is asked for. */
type Waiting = Deferred<boolean>;

interface Places {
  readonly id: string;
  places: number;
  running: number;
  /** Calls that the keeper is to be asked for. */
  readonly waiting: Waiting[];
  isAsking: boolean;
  /** isUntold is whether the keeper came back while it was asked: it may know nothing of what runs. */
  isUntold: boolean;
  timer: NodeJS.Timeout | undefined;
}

interface State extends KeyPlacesOptions {
  /** The places of keys with calls that run or wait. */
  readonly byKey: Map<string, Places>;
  taken: number;
  isClosed: boolean;
}

export function createKeyPlaces(options: KeyPlacesOptions = {}): KeyPlaces {
  const state: State = { ...options, byKey: new Map(), taken: 0, isClosed: false };
  const endReturns = options.keeper?.onReturn(() => tellAgain(state));
  return {
    tryTake(id, places) {
      const of = state.byKey.get(id) ?? add(state, id);
      of.places = places;
      if (!state.keeper || state.isClosed) return takeHere(state, of, places);
      if (state.keeper.isAway()) return takePart(state, of);
      const turn: Waiting = new Deferred();
      of.waiting.push(turn);
      ask(state, of);
      return turn;
    },
    release(id) {
      const of = state.byKey.get(id);
      if (!of) return;
      of.running--;
      state.taken--;
      ask(state, of);
      forgetIdle(state, of);
    },
    running: (id) => state.byKey.get(id)?.running ?? 0,
    taken: () => state.taken,
    close() {
      state.isClosed = true;
      endReturns?.();
      for (const { timer } of state.byKey.values()) clearTimeout(timer);
    },
  };
}

function add({ byKey }: State, id: string): Places {
  const of: Places = { id, places: 0, running: 0, waiting: [], isAsking: false, isUntold: false, timer: undefined };
  byKey.set(id, of);
  return of;
}

function takeHere(state: State, of: Places, places: number): boolean {
  const isFree = of.running < places;
  if (isFree) run(state, of);
  else forgetIdle(state, of);
  return isFree;
}

/** takePart takes a place of this process's part, while the keeper is away. Throws where that is not wanted. */
function takePart(state: State, of: Places): boolean {
  if (!state.whenAway) return takeHere(state, of, partOf(of.places, state.keeper));
  forgetIdle(state, of);
  throw state.whenAway();
}

function run(state: State, of: Places): void {
  of.running++;
  state.taken++;
  if (state.keeper) arm(state, of);
}

/** ask asks the keeper for the calls that wait, or tells it how many run. */
function ask(state: State, of: Places): void {
  const { keeper, isClosed } = state;
  if (!keeper || of.isAsking) return;
  const waiting = of.waiting.splice(0);
  const { id, places, running } = of;
  // The keeper tells nothing any more: this process decides on the calls that still wait, by its own part of the places.
  if (isClosed || keeper.isAway()) {
    of.isUntold = false;
    failed(state, of, waiting);
    return;
  }
  // A flood of calls beyond what runs here already costs the keeper nothing.
  if (waiting.length > 0 && running >= places && !of.isUntold) {
    answer(state, of, waiting, 0);
    return;
  }
  of.isAsking = true;
  of.isUntold = false;
  const wanted = Math.max(running, Math.min(places, running + waiting.length));
  const answered = ({ granted }: PlacesGrant) => receive(state, of, waiting, { before: running, granted });
  try {
    const grant = keeper.ask({ name: `key:${id}`, places, running, wanted, isTrial: true });
    if (isPromise(grant)) grant.then(answered, () => failed(state, of, waiting));
    else answered(grant);
  } catch {
    failed(state, of, waiting);
  }
}

interface Granted {
  /** before is how many ran when the keeper was asked. */
  readonly before: number;
  readonly granted: number;
}

/** tellAgain tells a keeper that has come back what runs, at once: until it knows, others get the same places. */
function tellAgain(state: State): void {
  for (const of of state.byKey.values()) {
    of.isUntold = of.isAsking;
    ask(state, of);
  }
}

/** receive gives what was granted to the calls that were asked for, and refuses the others. */
function receive(state: State, of: Places, waiting: readonly Waiting[], { before, granted }: Granted): void {
  of.isAsking = false;
  const taken = Math.min(waiting.length, Math.max(0, granted - before));
  for (let i = 0; i < taken; i++) run(state, of);
  // Some may have ended while the keeper was asked, and calls may have come.
  if (of.waiting.length > 0 || of.running !== granted || of.isUntold) ask(state, of);
  answer(state, of, waiting, taken);
}

/** failed decides by this process's part, since the keeper does not answer. */
function failed(state: State, of: Places, asked: readonly Waiting[]): void {
  of.isAsking = false;
  const waiting = [...asked, ...of.waiting.splice(0)];
  if (state.whenAway) {
    const error = state.whenAway();
    for (const turn of waiting) turn.reject(error);
    forgetIdle(state, of);
    return;
  }
  const taken = Math.min(waiting.length, Math.max(0, partOf(of.places, state.keeper) - of.running));
  for (let i = 0; i < taken; i++) run(state, of);
  if (of.isUntold) ask(state, of);
  answer(state, of, waiting, taken);
}

/** answer tells calls whether they may go: the first ones, whose places are counted already, and no others. */
function answer(state: State, of: Places, waiting: readonly Waiting[], taken: number): void {
  for (const [i, turn] of waiting.entries()) turn.resolve(i < taken);
  forgetIdle(state, of);
}

function arm(state: State, of: Places): void {
  if (!state.isClosed) of.timer ??= setTimeout(renew, renewMs, state, of).unref();
}

/** renew says again how many run, as long as any do or the keeper believes so. */
function renew(state: State, of: Places): void {
  of.timer = undefined;
  if (of.running > 0) arm(state, of);
  ask(state, of);
  forgetIdle(state, of);
}

/** forgetIdle forgets a key of which nothing runs, waits or is asked: its places are all free, as of one that is not known. */
function forgetIdle(state: State, of: Places): void {
  if (of.running > 0 || of.waiting.length > 0 || of.isAsking) return;
  clearTimeout(of.timer);
  of.timer = undefined;
  if (state.byKey.get(of.id) === of) state.byKey.delete(of.id);
}
