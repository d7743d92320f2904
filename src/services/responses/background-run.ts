/**
 * BackgroundRun is one background response: a model call without a waiting caller, with an abort signal of its own. It
 * always asks for a stream, so that the output is known, and charged, if it is cancelled.
 *
 * Its state is stored when it begins, at its first event, and at its end. A call is charged before its last event: so
 * storing the complete response is tried again for a while. If it fails for good, the response is reported as failed.
 */
import { setTimeout as delay } from "node:timers/promises";
import { ResponseStreamEventSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Call } from "../../call/call.ts";
import { asRefusal, backgroundTooLarge, brokenOff, type Refusal, upstreamFailed } from "../../call/refusals.ts";
import { abortSignalOf, CallerAbort } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { BackgroundStore } from "../../storage/answers/background-responses.ts";
import type { StoredResponse } from "../../storage/answers/responses.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { EventLog, type Room } from "./event-log.ts";
import { cancelledJson, failedJson } from "./response-ends.ts";

/** BackgroundCall is the request of a background response. */
export interface BackgroundCall {
  /** call is the caller's call, with all references resolved. */
  readonly call: Call;
  /** response is the response without output. */
  readonly response: JsonObject;
  readonly isStreamed: boolean;
  /** ask calls the model. Throws or rejects with a Refusal. */
  readonly ask: (call: Call) => MaybePromise<Answer<typeof ResponseStreamEventSchema>>;
  /** keptAs returns the row of the complete response, given its JSON. */
  readonly keptAs: (id: string, text: string) => StoredResponse;
}

export interface BackgroundRunOptions {
  readonly store: BackgroundStore;
  /** node is the process that runs it. */
  readonly node: string;
  readonly keepMs: number;
  readonly aliveMs: number;
  readonly maxBytes: number;
  readonly maxPerAccount: number;
  readonly room: Room;
  /**
   * takeRoom takes bytes from the room; if there are too few, it drops events of other responses. Throws a Refusal if
   * there is still no room.
   */
  readonly takeRoom: (room: Room, bytes: number) => void;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** onError gets errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

/** pausesMs are the pauses after each failure to store a complete response: together less than its deadline. */
const pausesMs = [100, 1000, 5000, 15_000];

const finalEvents: ReadonlySet<JsonValue | undefined> = new Set(["response.completed", "response.incomplete"]);

export class BackgroundRun {
  readonly id: string;
  readonly accountId: string;
  /** log is undefined if the caller did not ask for a stream. */
  readonly log: EventLog | undefined;
  readonly #request: BackgroundCall;
  readonly #options: BackgroundRunOptions;
  readonly #signal = new CallerAbort();
  /** #response is the response's current state. */
  #response: JsonObject;
  #stopReason: Refusal | "cancelled" | undefined;
  #failure: unknown;
  #unstoredEnd: string | undefined;
  readonly #finished = Promise.withResolvers<void>();

  constructor(of: BackgroundCall, options: BackgroundRunOptions) {
    const { room, takeRoom } = options;
    this.#request = of;
    this.#options = options;
    this.id = of.response.id as string;
    this.accountId = of.call.caller.accountId;
    this.#response = of.response;
    this.log = of.isStreamed ? new EventLog(this.id, room, (bytes) => takeRoom(room, bytes)) : undefined;
  }

  /** over resolves when the end has been stored or could not be, or the run could not begin. It never rejects. */
  get over(): Promise<void> {
    return this.#finished.promise;
  }

  /** unstoredEnd is the last state of a run that is over, where that could not be stored. */
  get unstoredEnd(): string | undefined {
    return this.#unstoredEnd;
  }

  get response(): JsonObject {
    return this.#response;
  }

  /**
   * begin calls the model and resolves when the hold is placed and the run is stored. The model is asked once it is
   * stored: what nobody can ask for costs nothing. Throws a Refusal if it cannot begin.
   */
  async begin(): Promise<void> {
    const { call, ask } = this.#request;
    const { room } = this.#options;
    const leave = () => this.#signal.abort();
    // If the caller disconnects before it gets the id, the run is abandoned.
    call.signal.addEventListener("abort", leave, { once: true });
    if (call.signal.aborted) leave();
    const stored = Promise.withResolvers<void>();
    let storing: Promise<void> | undefined;
    let answer: Promise<Answer<typeof ResponseStreamEventSchema>>;
    try {
      const response = this.#textOf(this.#response);
      const onReserved = () => {
        storing ??= this.#storeQueued(response).then(stored.resolve);
        return storing;
      };
      answer = (async () => ask({ ...call, signal: this.#signal, body: room, onReserved }))();
      answer.catch(() => {});
      await Promise.race([stored.promise, answer]);
    } catch (error) {
      this.#signal.abort();
      this.#finished.resolve();
      throw error;
    } finally {
      call.signal.removeEventListener("abort", leave);
    }
    this.#emit("response.created", {});
    this.#emit("response.queued", {});
    void this.#run(answer).then(this.#finished.resolve);
    this.#deferCapture(call);
  }

  async #storeQueued(response: string): Promise<void> {
    const { store, node, clock, keepMs, aliveMs, maxPerAccount } = this.#options;
    const now = clock();
    const row = { id: this.id, account_id: this.accountId, node, created_at: now, response };
    await store.insert({ ...row, expires_at: now + keepMs, alive_until: now + aliveMs }, maxPerAccount);
  }

  /** #deferCapture delays the capture of the caller's call until the run is over. */
  #deferCapture({ record }: Call): void {
    const settling: Promise<void> = this.over.then(async () => {
      if (record.pendingCapture !== settling) await record.pendingCapture;
      if (this.#failure !== undefined) throw this.#failure;
    });
    settling.catch(() => {});
    record.pendingCapture = settling;
  }

  /** cancel ends the run at the caller's request. */
  cancel(): void {
    this.#stop("cancelled");
  }

  /** fail ends the run as failed. */
  fail(why: Refusal): void {
    this.#stop(why);
  }

  #stop(why: Refusal | "cancelled"): void {
    this.#stopReason ??= why;
    this.#signal.abort();
  }

  async #run(answer: Promise<Answer<typeof ResponseStreamEventSchema>>): Promise<void> {
    try {
      await this.#follow(await answer);
    } catch (error) {
      // The caller has the complete response: a later error changes nothing.
      if (this.#isComplete()) return;
      this.#failure = error;
      await this.#storeFailure(error);
    } finally {
      this.log?.end();
    }
  }

  async #follow(answer: Answer<typeof ResponseStreamEventSchema>): Promise<void> {
    if (answer.kind !== "stream") throw upstreamFailed("it answered whole");
    for await (const batch of answer.frames) {
      for (const event of batch) {
        const { type, response } = event.json();
        const state = isObject(response) ? this.#withOwnId(response) : undefined;
        if (state && finalEvents.has(type)) await this.#storeComplete(state);
        else if (this.#response.status === "queued") await this.#markStarted(state ?? this.#response);
        // The event was already sent, as queued.
        if (type === "response.created") continue;
        this.log?.add(event.with({ sequence_number: this.log?.next ?? 0, ...(state ? { response: state } : {}) }));
      }
    }
    if (!this.#isComplete()) throw brokenOff();
  }

  /** #withOwnId returns an upstream's response with this run's id and settings. */
  #withOwnId(response: JsonObject): JsonObject {
    return { ...response, id: this.id, background: true, store: true };
  }

  #isComplete(): boolean {
    return this.#response.status === "completed" || this.#response.status === "incomplete";
  }

  async #markStarted(response: JsonObject): Promise<void> {
    this.#response = { ...response, status: "in_progress" };
    const { store, onError } = this.#options;
    await store.update(this.id, JSON.stringify(this.#response)).catch(onError);
  }

  async #storeComplete(response: JsonObject): Promise<void> {
    const { store, maxPerAccount } = this.#options;
    const text = this.#textOf(response);
    const row = this.#request.keptAs(this.id, text);
    if (!(await this.#tryAgain(() => store.complete(row, maxPerAccount)))) this.#stopReason ??= "cancelled";
    if (this.#stopReason === "cancelled") throw upstreamFailed("nobody waits for it");
    this.#response = response;
  }

  /** #tryAgain stores what is paid for, after pauses where that fails, unless the run is stopped. */
  async #tryAgain<T>(write: () => Promise<T>): Promise<T> {
    for (const ms of pausesMs) {
      try {
        return await write();
      } catch (error) {
        if (this.#signal.aborted) throw error;
        this.#options.onError(error);
        await delay(ms, undefined, { signal: abortSignalOf(this.#signal) }).catch(() => {});
      }
    }
    return write();
  }

  /** #textOf returns the JSON to store. Throws a Refusal if it is too large. */
  #textOf(response: JsonObject): string {
    const { maxBytes } = this.#options;
    const text = JSON.stringify(response);
    if (Buffer.byteLength(text) > maxBytes) throw backgroundTooLarge(maxBytes);
    return text;
  }

  /** #storeFailure stores the end of a run that failed or was cancelled. It does not reject where that cannot be stored. */
  async #storeFailure(error: unknown): Promise<void> {
    const isCancelled = this.#stopReason === "cancelled";
    const failure = this.#stopReason && this.#stopReason !== "cancelled" ? this.#stopReason : asRefusal(error);
    this.#response = isCancelled ? cancelledJson(this.#response) : failedJson(this.#response, failure);
    this.#emit(isCancelled ? "response.cancelled" : "response.failed", {});
    const text = JSON.stringify(this.#response);
    try {
      await this.#options.store.end(this.id, text);
    } catch (failed) {
      this.#unstoredEnd = text;
      this.#options.onError(failed);
    }
  }

  #emit(type: string, more: JsonObject): void {
    const { next = 0 } = this.log ?? {};
    const json = { type, sequence_number: next, response: this.#response, ...more };
    this.log?.add(Wire.ofJson(ResponseStreamEventSchema, json));
  }
}
