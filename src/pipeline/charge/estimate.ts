/**
 * What a call needs of its payer's credit: the most that it may cost, and what it cannot do with less than. Known from the
 * request, the model and its price alone; nothing is asked and nothing held.
 */
import type { Call } from "../../call/call.ts";
import type { Operation } from "../../call/operations.ts";
import type { Price, Rates } from "../../call/price.ts";
import { modelUnpriced, wayUnpriced } from "../../call/refusals.ts";
import { isFree, outputFor, worstCost } from "../../ledger/price.ts";
import { type Asked, type Holding, heldFees, heldRates, isPlain, isUnpriced, unpricedKey } from "../../ledger/rates.ts";
import {
  answersAskedFor,
  defaultCompletionTokens,
  defaultOutputTokens,
  hasAttachments,
  inputBound,
  leastOutput,
  outputBound,
  promptsOf,
} from "../../ledger/worst-case.ts";
import { requestedManner, toolFee } from "../../providers/usage/manner.ts";
import type { Model } from "../../targets/catalog.ts";
import type { JsonObject } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import { mayCallUnpriced } from "../admit/authorize.ts";

/** A call as it is asked, and as it goes to its upstream. */
export interface Asking {
  readonly call: Call;
  /** What the caller asks. Counting tokens is free. */
  readonly asked: Operation;
  readonly model: Model;
  /** What the upstream is asked, once or for each prompt. */
  readonly operation: Operation;
  readonly request: Wire;
}

/** Money is in millionths of the unit. */
export interface Estimate {
  /** The most that the call may cost. */
  readonly max: number;
  /** What it cannot do with less than. */
  readonly min: number;
  /** What its input may cost of that. */
  readonly ofInput: number;
  readonly answers: number;
  /** The most output of one answer, in tokens. */
  readonly output: number;
  /** The least output that each answer needs room for, in tokens. */
  readonly fewest: number;
  /** Whether the upstream is told a bound even where all that is wanted is held. */
  readonly isTold: boolean;
  /** The dearest that it may be charged by. */
  readonly rates: Rates;
}

/** Throws a Refusal where a request, as its upstream is to get it, asks for a way of being served that has no price. */
export function refuseUnpriced({ id, price }: Model, request: Wire): Asked {
  const asked = requestedManner(request.outline());
  const key = price && !isFree(price) ? unpricedKey(price, asked) : undefined;
  if (key) throw wayUnpriced(id, key);
  return asked;
}

/** Returns which tools of vendors' have no price; undefined where nothing needs one. */
export function unpricedToolsOf({ price }: Model): ((tool: JsonObject) => boolean) | undefined {
  return price && !isFree(price) ? (tool) => isUnpriced(price, toolFee(tool)) : undefined;
}

/** Returns undefined where nothing is to be reserved. Throws a Refusal where the cost cannot be known and must be. */
export function estimateOf(asking: Asking): Estimate | undefined {
  const { call, model, asked, operation, request } = asking;
  const { price } = model;
  if (!price) {
    if (!mayCallUnpriced(call.caller)) throw modelUnpriced(model.id);
    return undefined;
  }
  if (isFree(price)) return undefined;
  const manner = refuseUnpriced(model, request);
  const json = call.request.outline();
  const spoken = request.outline();
  const answers = answersAskedFor(asked, json);
  const isOwn = (outputBound(asked, json) ?? 0) > 0;
  const sent = outputBound(operation, spoken);
  const output = outputOf(operation, sent, model);
  const fewest = leastOutput(operation, spoken);
  const [input, characters] = [inputOf(asked, call.request, model), charactersOf(asked, call.request)];
  const { rates, fees } = dearest(price, manner, input, asking);
  const costOf = (tokens: number) => fees + worstCost(rates, input, characters, tokens);
  const wanted = costOf(output * answers);
  const least = isOwn ? wanted : Math.min(wanted, costOf(fewest * answers));
  return {
    max: wanted,
    min: least,
    ofInput: costOf(0),
    answers,
    output,
    fewest,
    isTold: isTold(operation, sent, model),
    rates,
  };
}

/** Returns the dearest rates that the call may be charged by, and what its searches and requests cost at most. */
function dearest(price: Price, spoken: Asked, prompt: number, { call, asked, model }: Asking) {
  if (isPlain(price)) return { rates: price, fees: 0 };
  // Another target of the model may get what this one's dialect has no word for.
  const own = requestedManner(call.request.outline());
  const holding: Holding = {
    asked: {
      tier: spoken.tier || own.tier,
      speed: spoken.speed || own.speed,
      region: spoken.region || own.region,
      searches: Math.max(spoken.searches, own.searches),
    },
    prompt,
    hasAttachments: hasAttachments(call.request),
    isRegional: model.targets.some(({ isRegional = false }) => isRegional),
  };
  const requests = promptsOf(asked, call.request.outline());
  return { rates: heldRates(price, holding), fees: heldFees(price, holding) * requests };
}

/** Returns the bound of each answer's output that is set where so much is held, in tokens; undefined where none is. */
export function boundWith(held: number, need: Estimate): number | undefined {
  const { rates, max, ofInput, answers, output, fewest } = need;
  if (held === max && !need.isTold) return undefined;
  // What is held is never less than the fewest cost, which rounding must not take away.
  const affordable = Math.max(fewest, Math.floor(outputFor(rates, held - ofInput) / answers));
  return Math.min(affordable, output);
}

/** The most input, in tokens: each prompt has the whole context, and of a list of texts to embed each has it too. */
function inputOf(asked: Operation, request: Wire, { contextWindow }: Model): number {
  if (asked === "speech") return 0;
  const isOne = asked !== "embeddings" && asked !== "completions";
  return inputBound(request, isOne ? contextWindow : undefined, promptsOf(asked, request.outline()));
}

/** Whether the model may put out more than is known unless it is told a bound, or is asked for more than it can put out. */
function isTold(operation: Operation, sent: number | undefined, { maxOutputTokens }: Model): boolean {
  if (sent === undefined) return operation === "completions" || maxOutputTokens === undefined;
  return sent > (maxOutputTokens ?? Number.POSITIVE_INFINITY);
}

/** The most output of one answer of which so much is sent as its bound, in tokens. */
export function outputOf(operation: Operation, sent: number | undefined, { maxOutputTokens }: Model): number {
  const asked = sent ?? (operation === "completions" ? defaultCompletionTokens : undefined);
  const own = maxOutputTokens ?? (asked === undefined ? defaultOutputTokens : Number.POSITIVE_INFINITY);
  return Math.min(asked ?? own, own);
}

/** Speech is paid by the character: Unicode code points of its input. */
export function charactersOf(asked: Operation, request: Wire): number {
  if (asked !== "speech") return 0;
  const { input } = request.json();
  return typeof input === "string" ? [...input].length : 0;
}
