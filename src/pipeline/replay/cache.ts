/**
 * The response cache: answers a request from memory if the same account has sent the same bytes to the same model before. It is
 * off unless the configuration asks for it.
 *
 * Only complete answers are cached, unary or streamed, and they are sent again as they were sent at first. A caller that may not
 * use the model gets nothing from the cache. `Cache-Control` of the request is honoured: a caller that accepts only a cached answer
 * is never charged for another, also where the cache is off. Of two equal requests at once both are sent: neither waits for the
 * other, which may take minutes and fail.
 */
import { createHash } from "node:crypto";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call, Frames } from "../../call/call.ts";
import type { Form, Input, Operation } from "../../call/operations.ts";
import { modelUnpriced, notCached } from "../../call/refusals.ts";
import { forEach, pushStream } from "../../runtime/push-stream.ts";
import type { Catalog, Model } from "../../targets/catalog.ts";
import { mayCallUnpriced } from "../admit/authorize.ts";
import { modelsOf } from "../complete/candidates.ts";
import { type Complete, forward } from "../complete/complete.ts";
import type { CacheState } from "../complete/explain.ts";
import type { AnswerCache, CachedAnswer } from "./answer-cache.ts";
import { cacheControlOf } from "./cache-control.ts";
import { type CacheHitOptions, createCacheHit } from "./cache-hit.ts";
import { createRecording } from "./recorded-answer.ts";

export interface CacheOptions extends CacheHitOptions {
  /** Returns undefined where the cache is off. */
  readonly cache: () => AnswerCache | undefined;
  readonly catalog: Catalog;
}

/** The operations that are cached. Responses are stored by their own ids, and counting tokens is free. */
const cached: ReadonlySet<Operation> = new Set(["chat", "messages", "completions", "embeddings", "speech"]);

/** The request headers that change an answer. */
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
  // Calls that do not use the cache wait for nothing here.
  return ((asked: Operation, form: Form, call: Call) => {
    const found = lookUp(asked, form, call, options);
    return found ? answer(found, asked, form, call) : forward(complete, asked, form, call);
  }) as Complete;
}

/** createCacheState returns a function that tells whether a call would be answered from the cache; empty where it would not be used. */
export function createCacheState(options: CacheOptions) {
  return (asked: Operation, form: Form, call: Call): CacheState => {
    const found = lookUp(asked, form, call, options);
    if (!found) return "";
    if (found.hit) return "hit";
    if (!found.place) throw notCached();
    return "miss";
  };
}

/** Found is what the cache has for a call, and the place of a new answer. */
interface Found {
  readonly hit: CachedAnswer | undefined;
  /** The id of the model that is tried first. */
  readonly model: string;
  /** place is undefined where the caller accepts only a cached answer. */
  readonly place: Place | undefined;
}

/** lookUp returns undefined for a call that does not use the cache. Throws a Refusal where its key may not use its models. */
function lookUp(asked: Operation, form: Form, call: Call, { catalog, cache, clock }: CacheOptions): Found | undefined {
  const { mayRead, mayKeep, maxAgeMs, onlyCached } = cacheControlOf(call.header("cache-control"));
  const within = cached.has(asked) ? cache() : undefined;
  if (!onlyCached && !(within && mayKeep)) return undefined;
  const models = modelsOf(asked, call as Call<Input<Operation>>, catalog);
  const [first] = models;
  const model = first.id;
  if (!within) return { hit: undefined, model, place: undefined };
  const key = keyOf(asked, form, call, models);
  const found = mayRead ? within.find(key) : undefined;
  const hit = found && isFresh(found, maxAgeMs, clock()) ? found : undefined;
  return { hit, model, place: onlyCached ? undefined : { cache: within, key, model: first } };
}

/** isFresh reports whether an answer is fresh enough. With a maximum age of 0 none is. */
function isFresh({ at }: CachedAnswer, maxAgeMs: number, now: number): boolean {
  return maxAgeMs > 0 && now - at <= maxAgeMs;
}

function keyOf(
  asked: Operation,
  form: Form,
  { caller, header, request }: Pick<Call, "caller" | "header" | "request">,
  models: readonly Model[],
): string {
  const parts = [caller.accountId, asked, form, models.map(nameOf), headers.map((name) => header(name) ?? null)];
  const hash = createHash("sha256").update(JSON.stringify(parts)).update("\n");
  return hash.update(request.bytes()).digest("base64");
}

/** nameOf names a model by where it is asked: answers of a target that it has no more are not found. */
function nameOf(model: Model): readonly string[] {
  let name = names.get(model);
  if (!name) {
    name = [model.id, ...model.targets.map((target) => `${target.upstream} ${target.model}`)];
    names.set(model, name);
  }
  return name;
}

const names = new WeakMap<Model, readonly string[]>();

/** The place of a new answer, and the model that must have given it. */
interface Place {
  readonly cache: AnswerCache;
  readonly key: string;
  readonly model: Model;
}

/**
 * keeping passes the answer on, and caches it if it is complete. The answer of a fallback model is not cached: the next caller shall get
 * the first model's again.
 */
function keeping(answer: Answer, call: Call, { clock }: CacheOptions, place: Place): Answer {
  const { cache } = place;
  const headers: AnswerHeaders = { ...answer.headers, "x-gateway-cache": "miss" };
  const recording = createRecording(cache.maxAnswerBytes, cache.room);
  const keep = () => {
    const { outcome, gaveUp, model = "", cost = 0 } = call.record;
    const mayKeep = outcome === Outcome.ANSWERED && !gaveUp && !isCut(call) && model === place.model.id;
    const recorded = mayKeep ? recording.answer() : undefined;
    if (!recorded) return;
    const isPriced = place.model.price !== undefined;
    cache.keep(place.key, { recorded, model, isPriced, cost, dropped: headers["x-gateway-dropped"], at: clock() });
  };
  if (answer.kind === "stream") return { ...answer, headers, frames: recordFrames(answer.frames, recording, keep) };
  recording.add([answer.body]);
  keep();
  recording.end();
  return { ...answer, headers };
}

/** isCut reports whether the answer may have been cut short by the caller's credit: the next caller may have more. */
function isCut({ record: { outputBound, used } }: Call): boolean {
  return outputBound !== undefined && used !== undefined && used.output >= outputBound;
}

/** recordFrames records each batch after it was passed on, so that the caller does not wait for that. */
function recordFrames(frames: Frames, recording: ReturnType<typeof createRecording>, over: () => void): Frames {
  return pushStream((take) => {
    const passed = forEach(frames, (batch) => {
      const taken = take(batch);
      recording.add(batch);
      return taken;
    });
    return passed.then(over).finally(() => recording.end());
  });
}
