/**
 * `reasoning_effort`, `reasoning` as other servers of chat have it, or the caller's own `thinking` in the Messages API's words → thinking,
 * effort, and the output bound.
 *
 * A model up to generation 4.5 thinks within a token budget, set by effort; every other thinks adaptively, gets the
 * effort itself, and is asked for a summary of its thoughts, which newer ones leave out otherwise. The caller's bound is
 * a promise about money and is never raised: a budget that does not fit shrinks, and where even the minimum does not
 * fit, or the model does not think, thinking is dropped and named. The effort `none` switches thinking off, or down to
 * the least, where the model thinks unasked.
 */
import {
  type CreateChatCompletionRequest,
  ReasoningEffort,
  ReasoningEffortSchema,
} from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { ThinkingConfigSchema } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import {
  neverThinks,
  refusesBudget,
  takesXhigh,
  thinksByBudget,
  withoutThinking,
} from "../../../providers/anthropic/generation.ts";
import { besideEffort, budgetIn, budgetOfEffort, effortIn } from "../../../providers/profile/reasoning-object.ts";
import { definedFields, isObject, type JsonObject } from "../../../wire/json.ts";
import { enumWords } from "../../../wire/plan.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { fitsSchema } from "../fits-schema.ts";

/** The output bound where neither the caller nor the catalogue has one. */
const defaultMaxTokens = 4096;
const leastBudget = 1024;
const mostTokens = 2 ** 32 - 1;

const { words, numbers } = enumWords(ReasoningEffortSchema);

/** effortWord returns the effort in the words of the Messages API, whose least is low; undefined where there is none. */
function effortWord(effort: ReasoningEffort): string | undefined {
  return effort <= ReasoningEffort.NONE ? undefined : words.get(Math.max(effort, ReasoningEffort.LOW));
}

export interface Thinking {
  readonly json: JsonObject | undefined;
  /** The value of `output_config.effort`. */
  readonly effort: string | undefined;
  readonly maxTokens: number;
}

interface RequestedThinking {
  readonly json: JsonObject;
  /** Public path of the setting that asked for it. */
  readonly path: string;
}

/**
 * thinkingOf returns the thinking that a request asks for. `model` is the upstream's name of it; `resumes` says that the answer continues a
 * turn that did not begin with thinking: then no budget is allowed.
 */
export function thinkingOf(
  request: CreateChatCompletionRequest,
  model: string,
  maxOutputTokens: number | undefined,
  resumes: boolean,
  dropped: Dropped,
): Thinking {
  const byBudget = thinksByBudget(model);
  const effort = askedEffort(request, byBudget, dropped);
  const own = ownThinking(request, model, dropped) ?? budgetedThinking(request, byBudget);
  const requested = own ?? thinkingForEffort(effort, byBudget, request);
  const off = own === undefined && isSwitchedOff(request) ? withoutThinking(model) : {};
  const word = byBudget ? undefined : (off.effort ?? effortWord(takenEffort(effort, model)));
  if (own && byBudget && effortWord(effort) !== undefined) dropped.add("reasoning_effort");
  const asked = request.maxCompletionTokens ?? request.maxTokens;
  const bound = (whereUnknown: number) =>
    Math.min(asked ?? maxOutputTokens ?? whereUnknown, maxOutputTokens ?? mostTokens, mostTokens);
  const plain = { effort: word, maxTokens: bound(defaultMaxTokens) };
  if (off.thinking !== undefined) return { ...plain, json: { type: off.thinking } };
  if (requested?.json.type !== "enabled") return { ...plain, json: requested?.json };
  const requestedBudget = Math.max(Number(requested.json.budget_tokens), leastBudget);
  const maxTokens = bound(defaultMaxTokens + requestedBudget);
  const budget = requestedBudget < maxTokens ? requestedBudget : Math.max(maxTokens >> 1, leastBudget);
  if (resumes || budget >= maxTokens || neverThinks(model)) {
    dropped.add(requested.path);
    return { ...plain, json: undefined };
  }
  return { ...plain, json: { ...requested.json, budget_tokens: budget }, maxTokens };
}

function takenEffort(effort: ReasoningEffort, model: string): ReasoningEffort {
  return effort === ReasoningEffort.XHIGH && !takesXhigh(model) ? ReasoningEffort.HIGH : effort;
}

/** isSwitchedOff reports a request that asks for no reasoning, and does not only leave it to the model. */
function isSwitchedOff({ reasoningEffort, extra }: CreateChatCompletionRequest): boolean {
  if (reasoningEffort !== undefined) return reasoningEffort === ReasoningEffort.NONE;
  return effortIn(extra?.reasoning) === "none";
}

export function isThinkingOn(thinking: JsonObject | undefined): boolean {
  return thinking !== undefined && thinking.type !== "disabled";
}

/** askedEffort reads the effort, also from `reasoning`, of which it names what it does not read. */
function askedEffort({ reasoningEffort, extra }: CreateChatCompletionRequest, byBudget: boolean, dropped: Dropped) {
  const reasoning = extra?.reasoning ?? null;
  const word = effortIn(reasoning ?? undefined);
  const named = typeof word === "string" ? (numbers.get(word) as ReasoningEffort | undefined) : undefined;
  const isSpare = reasoningEffort !== undefined && word !== undefined;
  const isUnknown = reasoning !== null && (!isObject(reasoning) || (word !== undefined && named === undefined));
  if (isSpare || isUnknown) dropped.add("reasoning");
  else for (const path of besideEffort(reasoning ?? undefined)) dropped.add(path);
  if (reasoningEffort !== undefined) return reasoningEffort;
  // A model that thinks within a budget gets the caller's.
  const isBudget = byBudget && budgetIn(reasoning ?? undefined) !== undefined;
  return isBudget ? ReasoningEffort.NONE : (named ?? ReasoningEffort.NONE);
}

/** budgetedThinking reads the budget in `reasoning`, for a model that thinks within one. */
function budgetedThinking(
  { reasoningEffort, extra }: CreateChatCompletionRequest,
  byBudget: boolean,
): RequestedThinking | undefined {
  const budget = byBudget && reasoningEffort === undefined ? budgetIn(extra?.reasoning) : undefined;
  return budget === undefined
    ? undefined
    : { json: { type: "enabled", budget_tokens: Math.floor(budget) }, path: "reasoning" };
}

function thinkingForEffort(
  effort: ReasoningEffort,
  byBudget: boolean,
  { reasoningEffort }: CreateChatCompletionRequest,
): RequestedThinking | undefined {
  const budget = budgetOfEffort(effortWord(effort));
  if (budget === undefined) return undefined;
  const json = byBudget ? { type: "enabled", budget_tokens: budget } : adaptive;
  return { json, path: reasoningEffort === undefined ? "reasoning" : "reasoning_effort" };
}

const adaptive: JsonObject = { type: "adaptive", display: "summarized" };

/** ownThinking reads the caller's `thinking`. Other vendors send `{"type":"enabled"}` alone: the budget is then the default one. */
function ownThinking(
  request: CreateChatCompletionRequest,
  model: string,
  dropped: Dropped,
): RequestedThinking | undefined {
  const json = request.extra?.thinking ?? null;
  if (json === null) return undefined;
  if (!fitsSchema(ThinkingConfigSchema, json) || (json as JsonObject).type === undefined) {
    dropped.add("thinking");
    return undefined;
  }
  const { type, display, budget_tokens: budget = null, ...others } = json as JsonObject;
  dropped.addExtra(others, "thinking");
  const rest = definedFields({ type, display });
  if (rest.type === "enabled" && budget !== null && refusesBudget(model)) {
    dropped.add("thinking.budget_tokens");
    return { json: { ...adaptive, ...rest, type: "adaptive" }, path: "thinking" };
  }
  if (rest.type !== "enabled" || budget !== null) {
    return { json: definedFields({ ...rest, budget_tokens: budget ?? undefined }), path: "thinking" };
  }
  const completed = thinksByBudget(model)
    ? { ...rest, budget_tokens: budgetOfEffort("medium") as number }
    : { ...adaptive, ...rest, type: "adaptive" };
  return { json: completed, path: "thinking" };
}
