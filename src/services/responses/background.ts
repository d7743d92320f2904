/**
 * Background runs the background responses of this process. Their number is limited in total and for each account, and
 * so are the bytes of their requests and events.
 *
 * While a run is active, its deadline is renewed and cancellations from other processes are polled. Others take a run of a
 * process that lives for active, so an end that could not be stored is stored later. Without runs and such ends there are
 * no timers. The events of finished runs are kept for some minutes, and dropped earlier if active runs need the room.
 */
import { backgroundInterrupted, backgroundTooMany } from "../../call/refusals.ts";
import type { BackgroundResponse, BackgroundStore } from "../../storage/answers/background-responses.ts";
import { knownEnd } from "../../storage/answers/node-deadlines.ts";
import { holdMs, sweepMs } from "../../storage/money/books.ts";
import type { MayLive } from "../../storage/processes.ts";
import type { JsonObject } from "../../wire/json.ts";
import { parseExactly } from "../../wire/scan/parse-exactly.ts";
import { type BackgroundCall, BackgroundRun } from "./background-run.ts";
import type { Room } from "./event-log.ts";
import { cancelledJson, failedJson } from "./response-ends.ts";

export interface BackgroundOptions {
  readonly store: BackgroundStore;
  /** node identifies this process among those that share the database. */
  readonly node: string;
  readonly mayLive: MayLive;
  readonly limits: BackgroundLimits;
  readonly rooms: { open(accountId: string): Room };
  /** settings returns the limits of stored responses (`responses.ts`). */
  readonly settings: () => {
    readonly responses: { readonly keepMs: number; readonly maxBytes: number; readonly maxPerAccount: number };
  };
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** onError gets errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

/** BackgroundLimits is the most concurrent runs. */
export interface BackgroundLimits {
  readonly max: number;
  readonly maxPerAccount: number;
}

/** cancelPollMs is the interval of polling for cancellations from other processes. */
const cancelPollMs = 1_000;
/** keepEventsMs is how long the events of a finished run can be resumed. */
const keepEventsMs = 600_000;

interface Ended {
  readonly run: BackgroundRun;
  readonly room: Room;
  readonly late: NodeJS.Timeout;
}

export class Background {
  readonly #options: BackgroundOptions;
  readonly #runs = new Map<string, BackgroundRun>();
  /** #ended are finished runs whose events are kept, oldest first. */
  readonly #ended = new Map<string, Ended>();
  /** #unstored are the last states of runs whose ends could not be stored, by their ids. */
  readonly #unstored = new Map<string, string>();
  #pollTimer: NodeJS.Timeout | undefined;
  #renewTimer: NodeJS.Timeout | undefined;

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** count is the number of active runs. */
  get count(): number {
    return this.#runs.size;
  }

  /** begin starts a run. Throws a Refusal if the limits are reached, or the run cannot begin. */
  async begin(of: BackgroundCall): Promise<BackgroundRun> {
    const { caller, request } = of.call;
    this.#checkLimits(caller.accountId);
    const room = this.#options.rooms.open(caller.accountId);
    const { store, node, settings, clock, onError } = this.#options;
    const own = { store, node, clock, onError, ...settings().responses };
    const run = new BackgroundRun(of, { ...own, aliveMs: holdMs, room, takeRoom: this.#takeRoom });
    this.#runs.set(run.id, run);
    this.#startTimers();
    try {
      this.#takeRoom(room, request.bytes().length);
      await run.begin();
    } catch (error) {
      this.#forget(run);
      room.release();
      throw error;
    }
    void run.over.then(() => {
      if (run.unstoredEnd !== undefined) this.#unstored.set(run.id, run.unstoredEnd);
      this.#forget(run);
      room.releaseAnswers();
      if (run.log) this.#keepEvents(run, room);
      else room.release();
    });
    return run;
  }

  /** find returns the account's run whose events can be resumed. */
  find(accountId: string, id: string): BackgroundRun | undefined {
    const run = this.#runs.get(id) ?? this.#ended.get(id)?.run;
    return run?.accountId === accountId ? run : undefined;
  }

  /**
   * stateOf resolves to the current state of the account's background response, in whichever process it runs; undefined if
   * there is none, or it is complete.
   */
  async stateOf(accountId: string, id: string): Promise<JsonObject | undefined> {
    const now = this.#options.clock();
    const row = await this.#options.store.find(accountId, id, now);
    return row && responseStateOf(row, await this.#isMade(row, now));
  }

  /**
   * delete deletes a background response that is over. Resolves to false if it still runs, or the account has none
   * with the id.
   */
  async delete(accountId: string, id: string): Promise<boolean> {
    const { store, clock } = this.#options;
    const now = clock();
    const row = await store.find(accountId, id, now);
    if (row && (await this.#isMade(row, now))) return false;
    return store.delete(accountId, id, now);
  }

  /** #isMade reports whether a process makes the response, for all that is known. */
  async #isMade({ is_over, alive_until, node }: BackgroundResponse, now: number): Promise<boolean> {
    if (is_over === 1 || alive_until === knownEnd) return false;
    return alive_until > now || this.#options.mayLive(node);
  }

  /** cancel cancels a run, in whichever process it runs. */
  async cancel(accountId: string, id: string): Promise<void> {
    await this.#options.store.cancel(accountId, id);
    const run = this.#runs.get(id);
    run?.cancel();
    await run?.over;
  }

  /** close waits until all runs are over, at most `ms`, then fails the rest. Resolves when that is stored. */
  async close(ms: number): Promise<void> {
    const late = setTimeout(() => {
      for (const run of this.#runs.values()) run.fail(backgroundInterrupted());
    }, ms);
    while (this.#runs.size > 0) await Promise.all([...this.#runs.values()].map(({ over }) => over));
    clearTimeout(late);
    while (this.#dropOldest());
  }

  #checkLimits(accountId: string): void {
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
    this.#stopIdleTimers();
  }

  async #storeEnds(): Promise<void> {
    for (const [id, response] of this.#unstored) {
      await this.#options.store.end(id, response);
      this.#unstored.delete(id);
    }
    this.#stopIdleTimers();
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

  #startTimers(): void {
    const { store, node, clock, onError } = this.#options;
    const listen = async () => {
      for (const id of await store.cancelled(node)) this.#runs.get(id)?.cancel();
    };
    const renew = () => {
      void store.renew([...this.#runs.keys()], clock() + holdMs).catch(onError);
      void this.#storeEnds().catch(onError);
    };
    this.#pollTimer ??= setInterval(() => void listen().catch(onError), cancelPollMs).unref();
    this.#renewTimer ??= setInterval(renew, sweepMs).unref();
  }

  #stopIdleTimers(): void {
    if (this.#runs.size + this.#unstored.size > 0) return;
    clearInterval(this.#pollTimer);
    clearInterval(this.#renewTimer);
    this.#pollTimer = this.#renewTimer = undefined;
  }
}

/** responseStateOf returns a background response's current state: it has failed if its process died. */
function responseStateOf(row: BackgroundResponse, isMade: boolean): JsonObject {
  const response = parseExactly(row.response) as JsonObject;
  if (row.is_over === 1) return response;
  if (row.is_cancelled === 1) return cancelledJson(response);
  return isMade ? response : failedJson(response, backgroundInterrupted());
}
