/**
 * What a call needs of its payer's credit: the most that it may cost, and what it cannot do with less than. Known from the
 * request, the model and its price alone; nothing is asked and nothing held.
 */
import type { Call } from "../call.ts";
import type { Model } from "../catalog.ts";
import { modelUnpriced } from "../errors.ts";
import { isFree, outputFor, type Price, worstCost } from "../ledger/price.ts";
import {
  answersAskedFor,
  defaultCompletionTokens,
  defaultOutputTokens,
  inputBound,
  leastOutput,
  outputBound,
  promptsOf,
} from "../ledger/worst-case.ts";
import type { Operation } from "../providers/operations.ts";
import type { Wire } from "../wire/wire.ts";
import { mayCallUnpriced } from "./authorize.ts";

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
export interface Need {
  /** The most that the call may cost. */
  readonly wanted: number;
  /** What it cannot do with less than. */
  readonly least: number;
  /** What its input may cost of that. */
  readonly ofInput: number;
  readonly answers: number;
  /** The most output of one answer, in tokens. */
  readonly output: number;
  /** The least output that each answer needs room for, in tokens. */
  readonly fewest: number;
  /** Whether the upstream is told a bound even where all that is wanted is held. */
  readonly isTold: boolean;
  readonly price: Price;
}

/** Returns undefined where nothing is to be reserved. Throws a Refusal where the cost cannot be known and must be. */
export function needOf(asking: Asking): Need | undefined {
  const { call, model, asked, operation, request } = asking;
  const { price } = model;
  if (!price) {
    if (!mayCallUnpriced(call.caller)) throw modelUnpriced(model.id);
    return undefined;
  }
  if (isFree(price)) return undefined;
  const json = call.request.outline();
  const spoken = request.outline();
  const answers = answersAskedFor(asked, json);
  const isOwn = (outputBound(asked, json) ?? 0) > 0;
  const sent = outputBound(operation, spoken);
  const output = outputOf(operation, sent, model);
  const fewest = leastOutput(operation, spoken);
  const [input, characters] = [inputOf(asked, call.request, model), charactersOf(asked, call.request)];
  const wanted = worstCost(price, input, characters, output * answers);
  const least = isOwn ? wanted : Math.min(wanted, worstCost(price, input, characters, fewest * answers));
  const ofInput = worstCost(price, input, characters, 0);
  return { wanted, least, ofInput, answers, output, fewest, isTold: isTold(operation, sent, model), price };
}

/** Returns the bound of each answer's output that is set where so much is held, in tokens; undefined where none is. */
export function boundWith(held: number, need: Need): number | undefined {
  const { price, wanted, ofInput, answers, output, fewest } = need;
  if (held === wanted && !need.isTold) return undefined;
  // What is held is never less than the fewest cost, which rounding must not take away.
  const affordable = Math.max(fewest, Math.floor(outputFor(price, held - ofInput) / answers));
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
