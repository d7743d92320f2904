/**
 * One response that is made in the background: a model call that nobody waits for, with a signal of its own. It is asked for as a
 * stream, whoever wanted it whole: so what its model has put out is known, and charged, when it is ended early.
 *
 * How it stands is written down when it begins, when its first event comes, and at its end. A call is charged before its last
 * event comes; what cannot be written then is told as failed once its deadline has passed.
 */
import { ResponseStreamEventSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Call } from "../../call/call.ts";
import { asRefusal, backgroundTooLarge, type Refusal, upstreamFailed } from "../../call/refusals.ts";
import { CallerAbort } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { BackgroundStore } from "../../storage/answers/background-responses.ts";
import type { StoredResponse } from "../../storage/answers/responses.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { EventLog, type Room } from "./event-log.ts";
import { cancelledJson, failedJson } from "./response-ends.ts";

/** What a response in the background is made of. */
export interface BackgroundCall {
  /** As its caller made it, with a request that refers to nothing any more. */
  readonly call: Call;
  /** The response before anything is made of it. */
  readonly response: JsonObject;
  readonly isStreamed: boolean;
  /** Asks the model. Throws a Refusal, now or later. */
  readonly ask: (call: Call) => MaybePromise<Answer<typeof ResponseStreamEventSchema>>;
  /** Returns what is kept of it when it is complete, with this text. */
  readonly keptAs: (id: string, text: string) => StoredResponse;
}

export interface BackgroundRunOptions {
  readonly store: BackgroundStore;
  /** The process that makes it. */
  readonly node: string;
  readonly keepMs: number;
  readonly aliveMs: number;
  readonly maxBytes: number;
  readonly maxPerAccount: number;
  readonly room: Room;
  /** Takes bytes of the room, and lets go of other events for that. Throws a Refusal where there is none. */
  readonly takeRoom: (room: Room, bytes: number) => void;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

const endings: ReadonlySet<JsonValue | undefined> = new Set(["response.completed", "response.incomplete"]);

export class BackgroundRun {
  readonly id: string;
  readonly accountId: string;
  /** Undefined where nobody wanted a stream. */
  readonly log: EventLog | undefined;
  readonly #of: BackgroundCall;
  readonly #options: BackgroundRunOptions;
  readonly #signal = new CallerAbort();
  /** As it stands. */
  #response: JsonObject;
  #stopped: Refusal | "cancelled" | undefined;
  #failure: unknown;
  readonly #over = Promise.withResolvers<void>();

  constructor(of: BackgroundCall, options: BackgroundRunOptions) {
    const { room, takeRoom } = options;
    this.#of = of;
    this.#options = options;
    this.id = of.response.id as string;
    this.accountId = of.call.caller.accountId;
    this.#response = of.response;
    this.log = of.isStreamed ? new EventLog(this.id, room, (bytes) => takeRoom(room, bytes)) : undefined;
  }

  /** Is there when its end has been written, or it could not be begun. It never rejects. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  get response(): JsonObject {
    return this.#response;
  }

  /** Asks the model, and returns when the call is reserved and noted. Throws a Refusal where it cannot be begun. */
  async begin(): Promise<void> {
    const { call, ask } = this.#of;
    const { store, node, room, clock, keepMs, aliveMs, maxPerAccount } = this.#options;
    const reserved = Promise.withResolvers<void>();
    const leave = () => this.#signal.abort();
    // Of one who leaves before being told of it nothing is made.
    call.signal.addEventListener("abort", leave, { once: true });
    if (call.signal.aborted) leave();
    const own: Call = { ...call, signal: this.#signal, body: room, onReserved: reserved.resolve };
    let answering: Promise<Answer<typeof ResponseStreamEventSchema>>;
    try {
      const response = this.#textOf(this.#response);
      answering = (async () => ask(own))();
      answering.catch(() => {});
      await Promise.race([reserved.promise, answering]);
      const now = clock();
      const row = { id: this.id, account_id: this.accountId, node, created_at: now, response };
      await store.insert({ ...row, expires_at: now + keepMs, alive_until: now + aliveMs }, maxPerAccount);
    } catch (error) {
      this.#signal.abort();
      this.#over.resolve();
      throw error;
    } finally {
      call.signal.removeEventListener("abort", leave);
    }
    this.#tell("response.created", {});
    this.#tell("response.queued", {});
    void this.#run(answering).then(this.#over.resolve);
    this.#settleWith(call);
  }

  /** The call is over, for those who tell of calls, when this is. */
  #settleWith({ record }: Call): void {
    const settling: Promise<void> = this.over.then(async () => {
      if (record.pendingCapture !== settling) await record.pendingCapture;
      if (this.#failure !== undefined) throw this.#failure;
    });
    settling.catch(() => {});
    record.pendingCapture = settling;
  }

  /** Ends it for its caller, who has asked for that. */
  cancel(): void {
    this.#stop("cancelled");
  }

  /** Ends it as failed. */
  fail(why: Refusal): void {
    this.#stop(why);
  }

  #stop(why: Refusal | "cancelled"): void {
    this.#stopped ??= why;
    this.#signal.abort();
  }

  async #run(answering: Promise<Answer<typeof ResponseStreamEventSchema>>): Promise<void> {
    try {
      await this.#follow(await answering);
    } catch (error) {
      // It has been told whole.
      if (this.#isComplete()) return;
      this.#failure = error;
      await this.#ended(error).catch(this.#options.onError);
    } finally {
      this.log?.end();
    }
  }

  async #follow(answer: Answer<typeof ResponseStreamEventSchema>): Promise<void> {
    if (answer.kind !== "stream") throw upstreamFailed("it answered whole");
    for await (const batch of answer.frames) {
      for (const event of batch) {
        const { type, response } = event.json();
        const standing = isObject(response) ? this.#own(response) : undefined;
        if (standing && endings.has(type)) await this.#complete(standing);
        else if (this.#response.status === "queued") await this.#began(standing ?? this.#response);
        // It has been told as queued.
        if (type === "response.created") continue;
        this.log?.add(
          event.with({ sequence_number: this.log?.next ?? 0, ...(standing ? { response: standing } : {}) }),
        );
      }
    }
    if (!this.#isComplete()) throw upstreamFailed("it broke off its answer");
  }

  /** Returns a response as this one is known. */
  #own(response: JsonObject): JsonObject {
    return { ...response, id: this.id, background: true, store: true };
  }

  #isComplete(): boolean {
    return this.#response.status === "completed" || this.#response.status === "incomplete";
  }

  async #began(response: JsonObject): Promise<void> {
    this.#response = { ...response, status: "in_progress" };
    const { store, onError } = this.#options;
    await store.update(this.id, JSON.stringify(this.#response)).catch(onError);
  }

  async #complete(response: JsonObject): Promise<void> {
    const { store, maxPerAccount } = this.#options;
    const text = this.#textOf(response);
    if (!(await store.complete(this.#of.keptAs(this.id, text), maxPerAccount))) this.#stopped ??= "cancelled";
    if (this.#stopped === "cancelled") throw upstreamFailed("nobody waits for it");
    this.#response = response;
  }

  /** Writes it as it is kept. Throws a Refusal where that is too much. */
  #textOf(response: JsonObject): string {
    const { maxBytes } = this.#options;
    const text = JSON.stringify(response);
    if (Buffer.byteLength(text) > maxBytes) throw backgroundTooLarge(maxBytes);
    return text;
  }

  /** Writes down how it ended that came to nothing. */
  async #ended(error: unknown): Promise<void> {
    const isCancelled = this.#stopped === "cancelled";
    const failure = this.#stopped && this.#stopped !== "cancelled" ? this.#stopped : asRefusal(error);
    this.#response = isCancelled ? cancelledJson(this.#response) : failedJson(this.#response, failure);
    this.#tell(isCancelled ? "response.cancelled" : "response.failed", {});
    await this.#options.store.end(this.id, JSON.stringify(this.#response));
  }

  #tell(type: string, more: JsonObject): void {
    const { next = 0 } = this.log ?? {};
    const json = { type, sequence_number: next, response: this.#response, ...more };
    this.log?.add(Wire.ofJson(ResponseStreamEventSchema, json));
  }
}
