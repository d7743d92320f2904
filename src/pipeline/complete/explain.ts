/**
 * What would become of a call at this moment, by the same steps that it would take: held to its contract, sent to leads,
 * put into the words of their upstreams, its need worked out. Nothing is sent, held or written down.
 *
 * Chance decides between equal targets when a call is made, and may decide otherwise the next time. What upstreams would
 * say nobody knows.
 */

import type { Call } from "../../call/call.ts";
import { newCallRecord } from "../../call/call-record.ts";
import type { Form, Input, Operation } from "../../call/operations.ts";
import type { Rates } from "../../call/price.ts";
import { asRefusal, Reason, type Refusal, upstreamResting, wouldBeDropped } from "../../call/refusals.ts";
import type { Translated } from "../../families/translation.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import type { LedgerStore } from "../../storage/money/contract.ts";
import type { Model } from "../../targets/catalog.ts";
import type { Targets } from "../../targets/targets.ts";
import { fitted, inWordsOf } from "../attempt/translate.ts";
import { boundWith, estimateOf } from "../charge/estimate.ts";
import { shortOf } from "../charge/reserve.ts";
import { timeoutsOf } from "../check/deadline.ts";
import { isStrict } from "../check/strict.ts";
import { type Validate, validateLong } from "../check/validate.ts";
import { attemptOrder, shortestRest } from "./attempt-plan.ts";
import type { Candidate, CandidatesFor } from "./candidates.ts";
import { firstPart } from "./each-prompt.ts";

/** What is asked, and in which form. */
export interface Explaining {
  readonly asked: Operation;
  readonly form: Form;
}

/** What a service puts into a request before the model call begins. Throws a Refusal. */
export type Prepare = (asked: Operation, call: Call) => Promise<Call>;

export interface Explained {
  /** In the order in which they would be asked. */
  readonly models: readonly ExplainedModel[];
  readonly cache: CacheState;
  /** What the call would meet before anything is sent. */
  readonly refusal: Refusal | undefined;
}

export interface ExplainedModel {
  readonly model: Model;
  readonly targets: readonly ExplainedTarget[];
  readonly hold: ExplainedHold | undefined;
}

export interface ExplainedTarget {
  readonly lead: Candidate;
  readonly dropped: readonly string[];
  /** For how long it is left alone yet, in milliseconds. */
  readonly restMs: number;
  readonly refusal: Refusal | undefined;
  readonly hold: ExplainedHold | undefined;
}

/** Money is in millionths of the unit. */
export interface ExplainedHold {
  readonly wanted: number;
  readonly least: number;
  /** Undefined where nothing bounds it. */
  readonly available: number | undefined;
  /** The bound that would be set, in tokens. */
  readonly outputBound: number | undefined;
  /** The dearest that it may be charged by. */
  readonly rates: Rates;
}

/** Whether the answer is kept; empty where none is for such a call. */
export type CacheState = "hit" | "miss" | "";

export interface ExplainOptions {
  readonly validate: Validate;
  readonly leadsOf: CandidatesFor;
  readonly targets: Targets;
  readonly left: LedgerStore["available"];
  /** Says whether the answer is kept. Throws a Refusal where the caller wants only one that is. */
  readonly cacheState: (asked: Operation, form: Form, call: Call) => CacheState;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export type Explain = (explaining: Explaining, call: Call, prepare: Prepare) => Promise<Explained>;

export function createExplain(options: ExplainOptions): Explain {
  const { validate, leadsOf, targets, clock, cacheState } = options;
  return async (explaining, given, prepare) => {
    const { asked, form } = explaining;
    try {
      const own = { ...given, facts: newCallRecord() };
      await (own.request.isLong ? validateLong(own.request, validate) : validate(own.request));
      const call = await prepare(asked, own);
      timeoutsOf(call.header);
      isStrict(call.header);
      const leads = leadsOf(asked, call as Call<Input<Operation>>);
      const course = attemptOrder(leads, targets);
      const resting = leads.filter((lead) => !course.includes(lead));
      const words = translator({ ...explaining, call, arrivedAt: clock() });
      const at = (lead: Candidate) => explainedAt(lead, words, { ...explaining, call }, options);
      const found: ExplainedTarget[] = [];
      for (const lead of [...course, ...resting]) found.push(await at(lead));
      const cache = cacheState(asked, form, call);
      const refusal = cache === "hit" ? undefined : refusalBefore(found, leads);
      return { models: byModel(found), cache, refusal };
    } catch (error) {
      return { models: [], cache: "", refusal: refusalOf(error) };
    }
  };
}

/** The first that is asked decides: where it refuses the call itself, no other is. */
function refusalBefore(found: readonly ExplainedTarget[], leads: readonly Candidate[]) {
  const [first] = found;
  return first && first.restMs > 0 ? upstreamResting(shortestRest(leads)) : first?.refusal;
}

/** Puts a call into the words of a lead's upstream. Fails by a Refusal. */
type Translator = (lead: Candidate) => Promise<Translated<Operation, Operation>>;

/** What is long takes long to translate: it is done once for all leads that are asked in the same words. */
function translator(explaining: Explaining & { readonly call: Call; readonly arrivedAt: number }): Translator {
  const { form, call, arrivedAt } = explaining;
  const done = new Map<string, Translated<Operation, Operation>>();
  return async (lead) => {
    const { operation, way, model, target, fitting } = lead;
    const items = operation === "responses" ? [model.id, way.length, target.upstream, fitting?.reasoningItems] : [];
    const { maxOutputTokens, reasons } = model;
    const words = JSON.stringify([operation, maxOutputTokens, reasons, fitting?.customTools, target.model, ...items]);
    const translating = () => inWordsOf(lead, firstPart(lead.way, call), { form, arrivedAt });
    const translated = done.get(words) ?? (await runCooperatively(translating(), call.request.isLong));
    done.set(words, translated);
    return fitted(lead, translated);
  };
}

async function explainedAt(
  lead: Candidate,
  translateFor: Translator,
  { asked, call }: Explaining & { readonly call: Call },
  { left }: ExplainOptions,
): Promise<ExplainedTarget> {
  const told = { lead, dropped: [], restMs: lead.state.breaker.restMs(), refusal: undefined, hold: undefined };
  let translated: Translated<Operation, Operation>;
  try {
    translated = await translateFor(lead);
  } catch (error) {
    return { ...told, refusal: refusalOf(error) };
  }
  const { dropped, request } = translated;
  if (dropped.length > 0 && isStrict(call.header)) {
    return { ...told, dropped, refusal: wouldBeDropped(dropped) };
  }
  const asking = { call, asked, model: lead.model, operation: lead.operation, request };
  return { ...told, dropped, ...heldFor(asking, left(call.caller.keyId)) };
}

/** Says what would be held, and whether the credit reaches for it. */
function heldFor(
  asking: Parameters<typeof estimateOf>[0],
  left: ReturnType<LedgerStore["available"]>,
): Pick<ExplainedTarget, "hold" | "refusal"> {
  try {
    const need = asking.asked === "count_tokens" ? undefined : estimateOf(asking);
    if (!need) return { hold: undefined, refusal: undefined };
    const { max, min } = need;
    const isShort = left.available < min;
    const available = left.available === Number.POSITIVE_INFINITY ? undefined : left.available;
    const outputBound = isShort ? undefined : boundWith(Math.min(max, left.available), need);
    return {
      hold: { wanted: max, least: min, available, outputBound, rates: need.rates },
      refusal: isShort ? shortOf(min, left) : undefined,
    };
  } catch (error) {
    return { hold: undefined, refusal: refusalOf(error) };
  }
}

/** What is held for a model is what its first target needs that can be asked. */
function byModel(found: readonly ExplainedTarget[]): ExplainedModel[] {
  const models = [...new Set(found.map(({ lead }) => lead.model))];
  return models.map((model) => {
    const targets = found.filter(({ lead }) => lead.model === model);
    return { model, targets, hold: targets.find(({ hold }) => hold !== undefined)?.hold };
  });
}

/** What is the gateway's own fault is explained by nobody. */
function refusalOf(error: unknown): Refusal {
  const refusal = asRefusal(error);
  if (refusal.reason === Reason.INTERNAL) throw refusal;
  return refusal;
}
