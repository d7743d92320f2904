/**
 * Explains what would become of a call at this moment, by the stages that it would go through: validated, put to its candidates,
 * translated for their upstreams, its cost estimated. Nothing is sent, held or recorded.
 *
 * The limits that count are looked at, too: by the rates of its caller a call is refused before anything is read of it.
 *
 * Equal targets are chosen at random when a call is made, so that the next call may go elsewhere. What upstreams would answer is
 * not known.
 */

import type { Call, Caller } from "../../call/call.ts";
import { newCallRecord } from "../../call/call-record.ts";
import type { Form, Operation } from "../../call/operations.ts";
import type { Rates } from "../../call/price.ts";
import { asRefusal, Reason, type Refusal, upstreamResting, wouldBeDropped } from "../../call/refusals.ts";
import type { Translated } from "../../families/translation.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Available, BudgetLeft } from "../../storage/money/contract.ts";
import type { Model } from "../../targets/catalog.ts";
import type { Targets } from "../../targets/targets.ts";
import { attachedTo } from "../../tokens/media/attachments.ts";
import { withDocuments } from "../../tokens/media/read-documents.ts";
import type { Wire } from "../../wire/wire.ts";
import { type LimitLeft, type LimitsLeft, limitOfBudget } from "../admit/limits-left.ts";
import { fitted, translateAlongPath } from "../attempt/translate.ts";
import { affordableOutput, type EstimatedCall, estimateOf } from "../charge/estimate.ts";
import { shortOf } from "../charge/hold.ts";
import { timeoutsOf } from "../check/deadline.ts";
import { isStrict } from "../check/strict.ts";
import type { Validate } from "../check/validate.ts";
import { validateLong } from "../check/validate-long.ts";
import { attemptOrder, shortestRest } from "./attempt-plan.ts";
import type { Candidate, CandidatesFor } from "./candidates.ts";
import type { CallSettings } from "./model-call.ts";
import { firstPart } from "./parts.ts";

/** Explaining is the operation that is explained, and the form of its answer. */
export interface Explaining {
  readonly asked: Operation;
  readonly form: Form;
}

/** Prepare prepares a request as its service does before the model call begins. Throws a Refusal. */
export type Prepare = (asked: Operation, call: Call) => Promise<Call>;

export interface Explained {
  /** In the order in which they would be tried. */
  readonly models: readonly ExplainedModel[];
  readonly cache: CacheState;
  /** The refusal that the call would get before anything is sent. */
  readonly refusal: Refusal | undefined;
  /** All that count for the call. */
  readonly limits: readonly LimitLeft[];
}

export interface ExplainedModel {
  readonly model: Model;
  readonly targets: readonly ExplainedTarget[];
  readonly hold: ExplainedHold | undefined;
}

export interface ExplainedTarget {
  readonly candidate: Candidate;
  readonly dropped: readonly string[];
  /** Milliseconds until its breaker lets a call through; 0 if closed. */
  readonly restMs: number;
  readonly refusal: Refusal | undefined;
  readonly hold: ExplainedHold | undefined;
}

/** ExplainedHold is what a call would hold. Money is in millionths of the unit. */
export interface ExplainedHold {
  readonly max: number;
  readonly min: number;
  /** available is undefined where the credit is unlimited. */
  readonly available: number | undefined;
  /** The output bound that the gateway would set, in tokens. */
  readonly outputBound: number | undefined;
  /** The highest rates that it may be charged by. */
  readonly rates: Rates;
}

/** CacheState is whether the answer would come from the cache; empty where the cache is not used for the call. */
export type CacheState = "hit" | "miss" | "";

export interface ExplainOptions {
  readonly validate: Validate;
  readonly candidatesFor: CandidatesFor;
  readonly targets: Targets;
  readonly available: (keyId: string) => MaybePromise<Available>;
  /** Returns what each budget of a caller leaves, the tightest first. */
  readonly budgetsLeft: (caller: Caller) => MaybePromise<readonly BudgetLeft[]>;
  readonly limitsLeft: LimitsLeft;
  /** Throws a Refusal where the caller accepts only a cached answer and there is none. */
  readonly cacheState: (asked: Operation, form: Form, call: Call) => CacheState;
  readonly settings: () => Pick<CallSettings, "unit">;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

export type Explain = (explaining: Explaining, call: Call, prepare: Prepare) => Promise<Explained>;

export function createExplain(options: ExplainOptions): Explain {
  const { limitsLeft, budgetsLeft } = options;
  return async (explaining, given, prepare) => {
    const { caller } = given;
    const [ofCaller, budgets] = [await limitsLeft.ofCaller(caller, given.method), await budgetsLeft(caller)];
    const limits = [...ofCaller, ...budgets.map(limitOfBudget)];
    // A call is refused by a rate before its request is looked at, and by calls that run before its targets are.
    const [running, rates] = [ofCaller.filter(isOfRunning), ofCaller.filter((limit) => !isOfRunning(limit))];
    const [byRate, byRunning] = [firstRefusal(rates), firstRefusal(running)];
    try {
      const { ofModels, ...explained } = await explainRequest(explaining, given, prepare, { ...options, budgets });
      const refusal = byRate ?? byRunning ?? explained.refusal;
      return { ...explained, refusal, limits: [...limits, ...ofModels] };
    } catch (error) {
      return { models: [], cache: "", refusal: byRate ?? refusalOf(error), limits };
    }
  };
}

const isOfRunning = ({ name }: LimitLeft) => name === "key-concurrency";

function firstRefusal(limits: readonly LimitLeft[]): Refusal | undefined {
  return limits.find(({ refusal }) => refusal)?.refusal;
}

interface RequestOptions extends ExplainOptions {
  /** budgets are what the caller's budgets leave, the tightest first. */
  readonly budgets: readonly BudgetLeft[];
}

/** Explains what follows from the request. Throws a Refusal. */
async function explainRequest(
  { asked, form }: Explaining,
  given: Call,
  prepare: Prepare,
  options: RequestOptions,
): Promise<Omit<Explained, "limits"> & { readonly ofModels: readonly LimitLeft[] }> {
  const { validate, candidatesFor, targets, clock, cacheState, limitsLeft, settings: settingsNow } = options;
  const own = { ...given, record: newCallRecord() };
  await (own.request.isLong ? validateLong(own.request, validate) : validate(own.request));
  const call = await prepare(asked, own);
  timeoutsOf(call.header);
  isStrict(call.header);
  const candidates = candidatesFor(asked, call);
  const order = attemptOrder(candidates, targets);
  const resting = candidates.filter((candidate) => !order.includes(candidate));
  const translateFor = createTranslator({ call, form, arrivedAt: clock() });
  await withDocuments(call.request, () => attachedTo(call.request), call.signal);
  const settings = settingsNow();
  const found: ExplainedTarget[] = [];
  const rates = new Map<Model, readonly LimitLeft[]>();
  for (const candidate of [...order, ...resting]) {
    const { model } = candidate;
    // Counting tokens takes nothing of a model's rate.
    const ofModel = rates.get(model) ?? (asked === "count_tokens" ? [] : await limitsLeft.ofModel(call.caller, model));
    rates.set(model, ofModel);
    const target = await explainTarget(candidate, translateFor, { call, operation: asked, settings }, options);
    found.push({ ...target, refusal: target.refusal ?? firstRefusal(ofModel) });
  }
  const cache = cacheState(asked, form, call);
  const refusal = cache === "hit" ? undefined : refusalBefore(found, candidates);
  return { models: byModel(found), cache, refusal, ofModels: distinct([...rates.values()].flat()) };
}

/** Models of a family share the limits of its entry. */
function distinct(limits: readonly LimitLeft[]): LimitLeft[] {
  return [...new Map(limits.map((limit) => [`${limit.name} ${limit.model}`, limit])).values()];
}

/** refusalBefore returns the refusal of the first target: where that refuses the call itself, no other is tried. */
function refusalBefore(found: readonly ExplainedTarget[], candidates: readonly Candidate[]) {
  const [first] = found;
  return first && first.restMs > 0 ? upstreamResting(shortestRest(candidates)) : first?.refusal;
}

/** Translates a call for a candidate. Rejects with a Refusal. */
type Translator = (candidate: Candidate) => Promise<Translated<Operation, Operation>>;

/** Long requests take long to translate: a translation is made once for all candidates for which it comes out alike. */
function createTranslator(translating: {
  readonly call: Call;
  readonly form: Form;
  readonly arrivedAt: number;
}): Translator {
  const { call } = translating;
  const done = new Map<string, Translated<Operation, Operation>>();
  return async (candidate) => {
    const { operation, path, model, target, fitting } = candidate;
    const items = operation === "responses" ? [model.id, path.length, target.upstream, fitting?.reasoningItems] : [];
    const { maxOutputTokens, reasons } = model;
    const { customTools, cacheMarks } = fitting ?? {};
    const key = JSON.stringify([operation, maxOutputTokens, reasons, customTools, cacheMarks, target.model, ...items]);
    const translate = () => translateAlongPath(candidate, firstPart(path, call), translating);
    const translated = done.get(key) ?? (await runCooperatively(translate(), call.request.isLong));
    done.set(key, translated);
    return runCooperatively(fitted(candidate, translated), call.request.isLong);
  };
}

async function explainTarget(
  candidate: Candidate,
  translateFor: Translator,
  estimated: EstimatedCall,
  { available, budgets, clock }: RequestOptions,
): Promise<ExplainedTarget> {
  const { header, caller } = estimated.call;
  const restMs = candidate.state.breaker.restMs();
  const explained = { candidate, dropped: [], restMs, refusal: undefined, hold: undefined };
  let translated: Translated<Operation, Operation>;
  try {
    translated = await translateFor(candidate);
  } catch (error) {
    return { ...explained, refusal: refusalOf(error) };
  }
  const { dropped, request } = translated;
  if (dropped.length > 0 && isStrict(header)) return { ...explained, dropped, refusal: wouldBeDropped(dropped) };
  const credit = { ...(await available(caller.keyId)), budget: budgets[0], now: clock() };
  return { ...explained, dropped, ...explainHold(candidate, request, estimated, credit) };
}

/** ExplainedCredit is what is left for a call: of the credit, and of a budget where there is any. */
interface ExplainedCredit extends Available {
  readonly budget: BudgetLeft | undefined;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

/** Explains what would be held, and whether the credit suffices for it. */
function explainHold(
  candidate: Candidate,
  request: Wire,
  estimated: EstimatedCall,
  { budget, now, ...credit }: ExplainedCredit,
): Pick<ExplainedTarget, "hold" | "refusal"> {
  try {
    const estimate = estimated.operation === "count_tokens" ? undefined : estimateOf(estimated, candidate, request);
    if (!estimate) return { hold: undefined, refusal: undefined };
    const { max, min, rates } = estimate;
    const isOfBudget = budget !== undefined && budget.left < credit.available;
    const least = isOfBudget ? Math.max(0, budget.left) : credit.available;
    const isShort = least < min;
    const available = least === Number.POSITIVE_INFINITY ? undefined : least;
    const outputBound = isShort ? undefined : affordableOutput(Math.min(max, least), estimate);
    const short = isOfBudget ? ({ of: "budget", available: least, budget } as const) : credit;
    return {
      hold: { max, min, available, outputBound, rates },
      refusal: isShort ? shortOf(min, short, estimated.settings.unit, now) : undefined,
    };
  } catch (error) {
    return { hold: undefined, refusal: refusalOf(error) };
  }
}

/** Groups targets by model. The hold of a model is that of its first target that can be asked. */
function byModel(found: readonly ExplainedTarget[]): ExplainedModel[] {
  const models = [...new Set(found.map(({ candidate }) => candidate.model))];
  return models.map((model) => {
    const targets = found.filter(({ candidate }) => candidate.model === model);
    return { model, targets, hold: targets.find(({ hold }) => hold !== undefined)?.hold };
  });
}

/** refusalOf returns what the call would be refused with. Throws where that would be an internal error, which explains nothing. */
function refusalOf(error: unknown): Refusal {
  const refusal = asRefusal(error);
  if (refusal.reason === Reason.INTERNAL) throw refusal;
  return refusal;
}
