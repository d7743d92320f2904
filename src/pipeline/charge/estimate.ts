/**
 * Estimates what a call may cost: at most, and at least for it to be worth sending. Both follow from the request, the model and
 * its price alone; the ledger is not asked.
 */
import type { Operation } from "../../call/operations.ts";
import type { Price, Rates } from "../../call/price.ts";
import { beyondAnyHold, modelUnpriced, otherModelUnpriced, wayUnpriced } from "../../call/refusals.ts";
import { continuesThread } from "../../call/request/stored-thread.ts";
import { maxHold } from "../../ledger/contract.ts";
import { isFree, outputFor, worstCost } from "../../ledger/price.ts";
import { type Asked, type Holding, heldFees, heldRates, isPlain, isUnpriced, unpricedKey } from "../../ledger/rates.ts";
import {
  answersAskedFor,
  defaultCompletionTokens,
  defaultOutputTokens,
  hasAttachments,
  inputBound,
  isBoundUnusual,
  minOutputFor,
  outputBound,
  promptsOf,
  zeroBoundOf,
} from "../../ledger/worst-case.ts";
import {
  requestedManner,
  toolFee,
  toolOfOtherModels,
  unaskedSearchesOf,
  usualSearches,
} from "../../providers/usage/manner.ts";
import { formatAmount } from "../../runtime/decimal.ts";
import type { Model } from "../../targets/catalog.ts";
import type { JsonObject } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import { mayCallUnpriced } from "../admit/authorize.ts";
import type { Candidate } from "../complete/candidates.ts";
import type { CallSettings, ModelCall } from "../complete/model-call.ts";

/** EstimatedCall is what an estimate reads of a call. */
export interface EstimatedCall extends Pick<ModelCall, "call" | "operation"> {
  readonly settings: Pick<CallSettings, "unit">;
}

/** Estimate is what a call may use and cost. Money is in millionths of the unit; output is in tokens. */
export interface Estimate {
  /** The most that the call may cost. */
  readonly max: number;
  /** The least credit that it is sent for: its input, and some output. */
  readonly min: number;
  /** The part of `max` that the input may cost. */
  readonly inputCost: number;
  readonly answers: number;
  /** The most and the least output of one answer. */
  readonly maxOutput: number;
  readonly minOutput: number;
  /** needsBound is whether the upstream must be told a bound of the output even where all of `max` is held. */
  readonly needsBound: boolean;
  /** The highest rates that the call may be charged by. */
  readonly rates: Rates;
}

/**
 * refuseUnpriced throws a Refusal where a request, in its upstream's dialect, asks for a service tier, speed, region or tool without a
 * price.
 */
export function refuseUnpriced({ id, price }: Model, request: Wire): Asked {
  const json = request.outline();
  const asked = requestedManner(json);
  const isPriced = price !== undefined && !isFree(price);
  const ofOthers = isPriced ? toolOfOtherModels(json) : undefined;
  if (ofOthers !== undefined) throw otherModelUnpriced(id, ofOthers);
  const key = isPriced ? unpricedKey(price, asked) : undefined;
  if (key) throw wayUnpriced(id, key);
  return asked;
}

/** unpricedToolsOf returns the test for vendors' tools that have no price; undefined where the model is free or has no price itself. */
export function unpricedToolsOf({ price }: Model): ((tool: JsonObject) => boolean) | undefined {
  return price && !isFree(price) ? (tool) => isUnpriced(price, toolFee(tool)) : undefined;
}

/**
 * estimateOf returns the estimate for a candidate that is sent `request`; undefined where nothing is to be held. Throws a Refusal where the
 * cost cannot be known and the payer must cover it beforehand.
 */
export function estimateOf(
  modelCall: EstimatedCall,
  { model, operation }: Pick<Candidate, "model" | "operation">,
  request: Wire,
): Estimate | undefined {
  const { call, operation: asked, settings } = modelCall;
  const { price } = model;
  if (!price) {
    if (!mayCallUnpriced(call.caller)) throw modelUnpriced(model.id);
    return undefined;
  }
  if (isFree(price)) return undefined;
  const manner = refuseUnpriced(model, request);
  const json = call.request.outline();
  const sentJson = request.outline();
  const answers = answersAskedFor(asked, json);
  const zero = zeroBoundOf(operation, sentJson);
  const hasOwnBound = (outputBound(asked, json) ?? 0) > 0 || zero === "doubted";
  const sentBound = zero === "raised" ? 1 : outputBound(operation, sentJson);
  const maxOutput = zero === "doubted" ? ownOutputOf(model) : maxOutputOf(operation, sentBound, model);
  const minOutput = minOutputFor(operation, sentJson);
  const [input, characters] = [maxInputOf(asked, call.request, model), charactersOf(asked, call.request)];
  const { rates, fees } = highestRates(price, manner, input, model, modelCall);
  const costOf = (tokens: number) => fees + worstCost(rates, input, characters, tokens);
  const max = costOf(maxOutput * answers);
  const min = hasOwnBound ? max : Math.min(max, costOf(minOutput * answers));
  if (min > maxHold) throw beyondAnyHold(formatAmount(min, settings.unit), formatAmount(maxHold, settings.unit));
  const needsBound = zero === "raised" || mayExceed(operation, sentBound, model) || isBoundUnusual(operation, sentJson);
  return { max, min, inputCost: costOf(0), answers, maxOutput, minOutput, needsBound, rates };
}

/** highestRates returns the highest rates that the call may be charged by, and what its searches and requests cost at most. */
function highestRates(price: Price, sent: Asked, prompt: number, model: Model, { call, operation }: EstimatedCall) {
  if (isPlain(price)) return { rates: price, fees: 0 };
  // Another target of the model may be sent what the dialect of this one cannot express.
  const own = requestedManner(call.request.outline());
  const holding: Holding = {
    asked: {
      tier: sent.tier || own.tier,
      speed: sent.speed || own.speed,
      region: sent.region || own.region,
      searches: Math.max(
        sent.searches,
        own.searches,
        ...model.targets.map((target) => unaskedSearchesOf(target.model)),
        // Its tools are those with which it began.
        continuesThread(call.request.outline()) ? usualSearches : 0,
      ),
    },
    prompt,
    hasAttachments: hasAttachments(call.request),
    isRegional: model.targets.some(({ isRegional = false }) => isRegional),
  };
  const requests = promptsOf(operation, call.request.outline());
  return { rates: heldRates(price, holding), fees: heldFees(price, holding) * requests };
}

/**
 * affordableOutput returns the bound of each answer's output that so much held credit pays for, in tokens; undefined where none is needed.
 */
export function affordableOutput(held: number, estimate: Estimate): number | undefined {
  const { rates, max, inputCost, answers, maxOutput, minOutput, needsBound } = estimate;
  if (held === max && !needsBound) return undefined;
  // The hold always covers `minOutput`; rounding must not take that away.
  const affordable = Math.max(minOutput, Math.floor(outputFor(rates, held - inputCost) / answers));
  return Math.min(affordable, maxOutput);
}

/** maxInputOf returns the most input tokens. Each prompt may fill the whole context, and so may each of several texts to embed. */
function maxInputOf(asked: Operation, request: Wire, { contextWindow, targets }: Model): number {
  if (asked === "speech") return 0;
  const isOne = asked !== "embeddings" && asked !== "completions";
  const names = targets.map(({ model }) => model);
  return inputBound(request, isOne ? contextWindow : undefined, promptsOf(asked, request.outline()), names);
}

/**
 * mayExceed reports whether the model may generate more than the estimate without a bound: its own maximum is unknown, or the caller's
 * bound lies above it.
 */
function mayExceed(operation: Operation, sentBound: number | undefined, { maxOutputTokens }: Model): boolean {
  if (sentBound === undefined) return operation === "completions" || maxOutputTokens === undefined;
  return sentBound > (maxOutputTokens ?? Number.POSITIVE_INFINITY);
}

/** maxOutputOf returns the most output tokens of one answer, for the bound that the request has in its upstream's dialect. */
export function maxOutputOf(operation: Operation, sentBound: number | undefined, { maxOutputTokens }: Model): number {
  const asked = sentBound ?? (operation === "completions" ? defaultCompletionTokens : undefined);
  const own = maxOutputTokens ?? (asked === undefined ? defaultOutputTokens : Number.POSITIVE_INFINITY);
  return Math.min(asked ?? own, own);
}

/** ownOutputOf returns the most output tokens of a model, where nothing bounds them. */
function ownOutputOf({ maxOutputTokens }: Model): number {
  return maxOutputTokens ?? defaultOutputTokens;
}

/** charactersOf returns the characters that speech is charged by: the Unicode code points of its input. */
export function charactersOf(asked: Operation, request: Wire): number {
  if (asked !== "speech") return 0;
  const { input } = request.json();
  return typeof input === "string" ? [...input].length : 0;
}
