/**
 * The responses that this process makes in the background: so many at a time and an account, and so many bytes of what they were
 * asked and have told.
 *
 * While any is made their deadlines are moved on, and callers who asked another process for the end of one are heard; no timer
 * runs where none is. Of those that are over the events are kept for some minutes, and make room for those that are made.
 */
import { backgroundInterrupted, backgroundTooMany } from "../../call/refusals.ts";
import type { BackgroundResponse, BackgroundStore } from "../../storage/answers/background-responses.ts";
import type { JsonObject } from "../../wire/json.ts";
import { type BackgroundCall, BackgroundRun } from "./background-run.ts";
import type { Room } from "./event-log.ts";
import { cancelledJson, failedJson } from "./response-ends.ts";

export interface BackgroundOptions {
  readonly store: BackgroundStore;
  /** This process, among those that share the database. */
  readonly node: string;
  readonly limits: BackgroundLimits;
  readonly rooms: { open(accountId: string): Room };
  /** Of those that are kept (`responses.ts`). */
  readonly kept: { readonly keepMs: number; readonly maxBytes: number; readonly maxPerAccount: number };
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

/** How many may be made at a time. */
export interface BackgroundLimits {
  readonly max: number;
  readonly maxPerAccount: number;
}

/** How long one outlives its process: as holds do. */
const aliveMs = 90_000;
const renewMs = 20_000;
/** How soon one ends that another process was asked to end. */
const listenMs = 1_000;
/** For how long the events of one that is over may be taken up. */
const keepEventsMs = 600_000;

interface Ended {
  readonly run: BackgroundRun;
  readonly room: Room;
  readonly late: NodeJS.Timeout;
}

export class Background {
  readonly #options: BackgroundOptions;
  readonly #runs = new Map<string, BackgroundRun>();
  /** Those that are over, and whose events are kept: the oldest first. */
  readonly #ended = new Map<string, Ended>();
  #listening: NodeJS.Timeout | undefined;
  #renewing: NodeJS.Timeout | undefined;

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** How many are made. */
  get count(): number {
    return this.#runs.size;
  }

  /** Begins one. Throws a Refusal where there is no place for it, or it cannot be begun. */
  async begin(of: BackgroundCall): Promise<BackgroundRun> {
    const { caller, request } = of.call;
    this.#checkPlaces(caller.accountId);
    const room = this.#options.rooms.open(caller.accountId);
    const { store, node, kept, clock, onError } = this.#options;
    const own = { store, node, clock, onError, ...kept };
    const run = new BackgroundRun(of, { ...own, aliveMs, room, takeRoom: this.#takeRoom });
    this.#runs.set(run.id, run);
    this.#watch();
    try {
      this.#takeRoom(room, request.bytes().length);
      await run.begin();
    } catch (error) {
      this.#forget(run);
      room.release();
      throw error;
    }
    void run.over.then(() => {
      this.#forget(run);
      if (run.log) this.#keepEvents(run, room);
      else room.release();
    });
    return run;
  }

  /** Returns one of the account's whose events may be taken up. */
  find(accountId: string, id: string): BackgroundRun | undefined {
    const run = this.#runs.get(id) ?? this.#ended.get(id)?.run;
    return run?.accountId === accountId ? run : undefined;
  }

  /** Returns one of the account's as it stands, wherever it is made; undefined where it has none such, or it is complete. */
  standing(accountId: string, id: string): JsonObject | undefined {
    const now = this.#options.clock();
    const row = this.#options.store.find(accountId, id, now);
    return row && standingOf(row, now);
  }

  /** Forgets one that is made no more. Returns false where it is still made, or the account has none such. */
  delete(accountId: string, id: string): Promise<boolean> {
    return this.#options.store.delete(accountId, id, this.#options.clock());
  }

  /** Asks for the end of one, wherever it is made. */
  async cancel(accountId: string, id: string): Promise<void> {
    await this.#options.store.cancel(accountId, id);
    const run = this.#runs.get(id);
    run?.cancel();
    await run?.over;
  }

  /** Waits until none is made, at most for so long; then those that are left are ended as failed. Resolves when that is written. */
  async close(ms: number): Promise<void> {
    const late = setTimeout(() => {
      for (const run of this.#runs.values()) run.fail(backgroundInterrupted());
    }, ms);
    while (this.#runs.size > 0) await Promise.all([...this.#runs.values()].map(({ over }) => over));
    clearTimeout(late);
    while (this.#dropOldest());
  }

  #checkPlaces(accountId: string): void {
    const { max, maxPerAccount } = this.#options.limits;
    if (this.#runs.size >= max) throw backgroundTooMany("the gateway");
    let own = 0;
    for (const run of this.#runs.values()) if (run.accountId === accountId) own++;
    if (own >= maxPerAccount) throw backgroundTooMany("the account");
  }

  readonly #takeRoom = (room: Room, bytes: number): void => {
    for (;;) {
      try {
        room.add(bytes);
        return;
      } catch (refusal) {
        if (!this.#dropOldest()) throw refusal;
      }
    }
  };

  #forget(run: BackgroundRun): void {
    this.#runs.delete(run.id);
    if (this.#runs.size === 0) this.#rest();
  }

  #keepEvents(run: BackgroundRun, room: Room): void {
    const late = setTimeout(() => this.#drop(run.id), keepEventsMs).unref();
    this.#ended.set(run.id, { run, room, late });
  }

  #drop(id: string): void {
    const ended = this.#ended.get(id);
    if (!ended) return;
    this.#ended.delete(id);
    clearTimeout(ended.late);
    ended.run.log?.drop();
    ended.room.release();
  }

  #dropOldest(): boolean {
    const [oldest] = this.#ended.keys();
    if (oldest === undefined) return false;
    this.#drop(oldest);
    return true;
  }

  #watch(): void {
    const { store, node, clock, onError } = this.#options;
    const listen = () => {
      for (const id of store.cancelled(node)) this.#runs.get(id)?.cancel();
    };
    const renew = () => void store.renew([...this.#runs.keys()], clock() + aliveMs).catch(onError);
    const guarded = () => {
      try {
        listen();
      } catch (error) {
        onError(error);
      }
    };
    this.#listening ??= setInterval(guarded, listenMs).unref();
    this.#renewing ??= setInterval(renew, renewMs).unref();
  }

  #rest(): void {
    clearInterval(this.#listening);
    clearInterval(this.#renewing);
    this.#listening = this.#renewing = undefined;
  }
}

/** Returns a response in the background as it stands: one whose process has died has failed. */
function standingOf(row: BackgroundResponse, now: number): JsonObject {
  const response = JSON.parse(row.response) as JsonObject;
  if (row.is_over === 1) return response;
  if (row.is_cancelled === 1) return cancelledJson(response);
  return row.alive_until <= now ? failedJson(response, backgroundInterrupted()) : response;
}
