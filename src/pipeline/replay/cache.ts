/**
 * Answers requests from memory that were answered before: the same bytes, of the same account, to the same model. Off unless
 * the configuration asks for it.
 *
 * What was answered in full is kept, whole or streamed, and told again as it was told at first; never what failed, broke off
 * or was left. Who may not use the model gets nothing from here, and `Cache-Control` of the request is honoured: who wants
 * only what is kept would not pay for more, also where nothing is. Of two same requests at once both are sent: neither waits
 * for the other, which may take minutes and fail.
 */
import { createHash } from "node:crypto";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call, Frames } from "../../call/call.ts";
import type { Form, Input, Operation } from "../../call/operations.ts";
import { modelUnpriced, notCached } from "../../call/refusals.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { forEach, pushStream } from "../../runtime/push-stream.ts";
import type { Catalog, Model } from "../../targets/catalog.ts";
import { mayCallUnpriced } from "../admit/authorize.ts";
import { modelsOf } from "../complete/candidates.ts";
import type { Complete } from "../complete/complete.ts";
import type { CacheState } from "../complete/explain.ts";
import type { AnswerCache, KeptAnswer } from "./answer-cache.ts";
import { cacheControlOf } from "./cache-control.ts";
import { type CacheHitOptions, createCacheHit } from "./cache-hit.ts";
import { createRecording } from "./recorded-answer.ts";

export interface CacheOptions extends CacheHitOptions {
  /** Undefined where no answer is kept. */
  readonly cache: AnswerCache | undefined;
  readonly catalog: Catalog;
}

/** Responses have ids of their own, and are kept by them; counting tokens is free. */
const kept: ReadonlySet<Operation> = new Set(["chat", "messages", "completions", "embeddings", "speech"]);

/** The headers that change an answer. */
const headers = ["x-gateway-strict", "anthropic-version", "anthropic-beta"];

export function withCache(complete: Complete, options: CacheOptions): Complete {
  const answerHit = createCacheHit(options);
  const answer = async ({ hit, model, place }: Found, asked: Operation, form: Form, call: Call) => {
    if (hit) {
      if (!hit.isPriced && !mayCallUnpriced(call.caller)) throw modelUnpriced(hit.model);
      return answerHit(hit, asked, form, call);
    }
    if (!place) {
      Object.assign(call.record, { operation: asked, form, model });
      throw notCached();
    }
    return keeping(await forward(complete, asked, form, call), call, options, place);
  };
  // Most calls have nothing to do with it, and wait for nothing here.
  return ((asked: Operation, form: Form, call: Call) => {
    const found = lookUp(asked, form, call, options);
    return found ? answer(found, asked, form, call) : forward(complete, asked, form, call);
  }) as Complete;
}

/** Says beforehand whether a call would be answered from here; empty where no answer to it is kept. Throws a Refusal. */
export function createCacheState(options: CacheOptions) {
  return (asked: Operation, form: Form, call: Call): CacheState => {
    const found = lookUp(asked, form, call, options);
    if (!found) return "";
    if (found.hit) return "hit";
    if (!found.place) throw notCached();
    return "miss";
  };
}

/** What the cache has for a call, and where an answer to it would stand. */
interface Found {
  readonly hit: KeptAnswer | undefined;
  /** The model that is asked first. */
  readonly model: string;
  /** Undefined where the caller wants no other answer. */
  readonly place: Place | undefined;
}

/** Returns undefined for a call that the cache is not for. Throws a Refusal where its key may not use its models. */
function lookUp(asked: Operation, form: Form, call: Call, { catalog, cache, clock }: CacheOptions): Found | undefined {
  const { mayRead, mayKeep, maxAgeMs, onlyKept } = cacheControlOf(call.header("cache-control"));
  const within = kept.has(asked) ? cache : undefined;
  if (!onlyKept && !(within && mayKeep)) return undefined;
  const models = modelsOf(asked, call as Call<Input<Operation>>, catalog);
  const [first] = models;
  const model = first.id;
  if (!within) return { hit: undefined, model, place: undefined };
  const key = keyOf(asked, form, call, models);
  const found = mayRead ? within.find(key) : undefined;
  const hit = found && isFresh(found, maxAgeMs, clock()) ? found : undefined;
  return { hit, model, place: onlyKept ? undefined : { cache: within, key, model: first } };
}

function forward(complete: Complete, asked: Operation, form: Form, call: Call): MaybePromise<Answer> {
  return complete(asked, form, call as Call<Input<Operation>>) as MaybePromise<Answer>;
}

/** Nothing is as fresh as what is asked for anew, which is what an age of 0 means. */
function isFresh({ at }: KeptAnswer, maxAgeMs: number, now: number): boolean {
  return maxAgeMs > 0 && now - at <= maxAgeMs;
}

function keyOf(
  asked: Operation,
  form: Form,
  { caller, header, request }: Pick<Call, "caller" | "header" | "request">,
  models: readonly Model[],
): string {
  const names = [
    caller.accountId,
    asked,
    form,
    models.map(({ id }) => id),
    headers.map((name) => header(name) ?? null),
  ];
  const hash = createHash("sha256").update(JSON.stringify(names)).update("\n");
  return hash.update(request.bytes()).digest("base64");
}

/** Where and under which key an answer is kept, and the model that has to have given it. */
interface Place {
  readonly cache: AnswerCache;
  readonly key: string;
  readonly model: Model;
}

/**
 * Passes the answer on, and keeps it if it is answered in full. What a further model answered, because the first one failed,
 * is not what callers get when that is well again.
 */
function keeping(answer: Answer, call: Call, { clock }: CacheOptions, place: Place): Answer {
  const { cache } = place;
  const told: AnswerHeaders = { ...answer.headers, "x-gateway-cache": "miss" };
  const recording = createRecording(cache.mostBytes, cache.room);
  const keep = () => {
    const { outcome, gaveUp, model = "", cost = 0 } = call.record;
    const mayKeep = outcome === Outcome.ANSWERED && !gaveUp && !isCut(call) && model === place.model.id;
    const packed = mayKeep ? recording.packed() : undefined;
    if (!packed) return;
    const isPriced = place.model.price !== undefined;
    cache.keep(place.key, { packed, model, isPriced, cost, dropped: told["x-gateway-dropped"], at: clock() });
  };
  if (answer.kind === "stream") return { ...answer, headers: told, frames: recorded(answer.frames, recording, keep) };
  recording.add([answer.body]);
  keep();
  recording.end();
  return { ...answer, headers: told };
}

/** Whether it may have ended where its credit did: the next who asks may have more. */
function isCut({ record: { outputBound, used } }: Call): boolean {
  return outputBound !== undefined && used !== undefined && used.output >= outputBound;
}

/** What a batch is made of is looked at when it has been handed over: nobody waits for that. */
function recorded(frames: Frames, recording: ReturnType<typeof createRecording>, over: () => void): Frames {
  return pushStream((take) => {
    const told = forEach(frames, (batch) => {
      const taken = take(batch);
      recording.add(batch);
      return taken;
    });
    return told.then(over).finally(() => recording.end());
  });
}
