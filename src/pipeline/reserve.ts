/**
 * Reserves what a call may cost, before anything is sent.
 *
 * A call whose cost cannot be known is refused to who must pay for it beforehand. Where the caller set no bound to the
 * output, it is bounded to what the remaining credit affords; a bound of the caller's own is lowered to what the model
 * can put out at most, and else never changed. A call that costs nothing reserves nothing.
 */
import type { Call } from "../call.ts";
import type { Model } from "../catalog.ts";
import { formatDecimal } from "../decimal.ts";
import { insufficientCredit, modelUnpriced } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { costOf, dearestInput, isFree, nothingUsed, outputFor, type Price } from "../ledger/price.ts";
import {
  answersAskedFor,
  defaultCompletionTokens,
  defaultOutputTokens,
  inputBound,
  leastOutput,
  outputBound,
  promptsOf,
  withOutputBound,
} from "../ledger/worst-case.ts";
import type { Operation } from "../providers/operations.ts";
import type { Wire } from "../wire/wire.ts";

/** A call as it is asked, and as it goes to its upstream. */
export interface Need {
  readonly call: Call;
  /** What the caller asks. Counting tokens is free. */
  readonly asked: Operation;
  readonly model: Model;
  /** What the upstream is asked, once or for each prompt. */
  readonly operation: Operation;
  readonly request: Wire;
  readonly arrivedAt: number;
}

/** One reservation for all that a call asks of its upstream. */
export interface Reservation {
  /**
   * Reserves at the first request, and returns each, in the words of its operation, with the bound that the credit sets.
   * Throws a Refusal where the call may not, or cannot, be paid for.
   */
  bound<W extends Wire>(operation: Operation, request: W): Promise<W>;
  isMade(): boolean;
}

export function createReservation(ledger: Ledger, need: Omit<Need, "operation" | "request">): Reservation {
  let reserved: Promise<Bound> | undefined;
  let isMade = false;
  return {
    async bound(operation, request) {
      if (need.asked === "count_tokens") return request;
      reserved ??= reserve(ledger, { ...need, operation, request });
      const bound = await reserved;
      isMade = true;
      return bound(operation, request);
    },
    isMade: () => isMade,
  };
}

/** Bounds what goes to the upstream. */
type Bound = <W extends Wire>(operation: Operation, request: W) => W;

const unbounded: Bound = (_, request) => request;

async function reserve(ledger: Ledger, need: Need): Promise<Bound> {
  const { call, model, asked, operation, request, arrivedAt } = need;
  const { caller } = call;
  const { price } = model;
  if (!price) {
    if (caller.mustPay) throw modelUnpriced(model.id);
    return unbounded;
  }
  if (isFree(price)) return unbounded;
  const json = call.request.json();
  const answers = answersAskedFor(asked, json);
  const isOwn = (outputBound(asked, json) ?? 0) > 0;
  const most = outputOf(need) * answers;
  const input = { input: inputOf(need), characters: charactersOf(asked, call.request) };
  const worst = (output: number) => worstCost(price, { ...input, output });
  const wanted = worst(most);
  const fewest = leastOutput(operation, request.json());
  const least = isOwn ? wanted : Math.min(wanted, worst(fewest * answers));
  const held = await ledger.hold({
    requestId: call.id,
    accountId: caller.accountId,
    keyId: caller.keyId,
    operation: asked,
    model: model.id,
    wanted,
    least,
    now: arrivedAt,
  });
  if (held.kind === "short") throw insufficientCredit(held.of, formatDecimal(least), formatDecimal(held.available));
  if (held.amount === wanted && !isUnknown(need) && !isBeyond(need)) return unbounded;
  // What is held is never less than the fewest cost, which rounding must not take away.
  const affordable = Math.max(fewest, Math.floor(outputFor(price, held.amount - worst(0)) / answers));
  const tokens = Math.min(affordable, outputOf(need));
  return (spoken, sent) => withOutputBound(spoken, sent, tokens, model.vendor);
}

/** The most input, in tokens: each prompt has the whole context, and of a list of texts to embed each has it too. */
function inputOf({ asked, call, model }: Need): number {
  if (asked === "speech") return 0;
  const { contextWindow } = model;
  const isOne = asked !== "embeddings" && asked !== "completions";
  return inputBound(call.request, isOne ? contextWindow : undefined, promptsOf(asked, call.request.json()));
}

/** Whether the model may put out more than is known unless it is told a bound. */
function isUnknown({ operation, request, model }: Need): boolean {
  if (outputBound(operation, request.json()) !== undefined) return false;
  return operation === "completions" || model.maxOutputTokens === undefined;
}

/** Whether more is asked for than the model can put out. */
function isBeyond({ operation, request, model }: Need): boolean {
  return (outputBound(operation, request.json()) ?? 0) > (model.maxOutputTokens ?? Number.POSITIVE_INFINITY);
}

/** The most output of one answer, in tokens. */
function outputOf({ operation, request, model }: Need): number {
  const byDefault = operation === "completions" ? defaultCompletionTokens : undefined;
  const sent = outputBound(operation, request.json()) ?? byDefault;
  const own = model.maxOutputTokens ?? (sent === undefined ? defaultOutputTokens : Number.POSITIVE_INFINITY);
  return Math.min(sent ?? own, own);
}

/** Speech is paid by the character: Unicode code points of its input. */
export function charactersOf(asked: Operation, request: Wire): number {
  if (asked !== "speech") return 0;
  const { input } = request.json();
  return typeof input === "string" ? [...input].length : 0;
}

function worstCost(price: Price, used: { input: number; output: number; characters: number }): number {
  return costOf({ ...price, input: dearestInput(price) }, { ...nothingUsed, ...used });
}
