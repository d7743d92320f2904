/**
 * Asks each generation of Claude for thinking, effort and tools as it takes them. A client may know another generation than the
 * one behind a name, and Claude refuses the whole request for it.
 *
 * Up to 4.5 Claude thinks within a budget, from 4.7 on adaptively, between either way. A budget becomes adaptive thinking, of which a
 * summary is asked for: the newer leave it out otherwise. Adaptive thinking becomes a budget by its effort. Where that cannot be, by
 * the bound of the output, by the settings beside it, or in a turn that began without thinking, thinking is left out and named.
 * Thinking is switched off by the model's word for it; one that always thinks is asked for the least effort instead. An effort
 * that the model does not take is left out and named; one that only others have becomes `high`. A choice that forces a tool is
 * left to the model, and named, where it refuses that. Sampling settings are left out where it refuses them beside thinking or each other.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import type { Wire } from "../../wire/wire.ts";
import { budgetOfEffort } from "../profile/reasoning-object.ts";
import { resumesWithoutThinking, thinkingKeys } from "./conversation/unsigned-thinking.ts";
import {
  generationOf,
  isClaude,
  neverThinks,
  refusesBoth,
  refusesBudget,
  refusesForcing,
  takesEffort,
  takesXhigh,
  thinksByBudget,
  withoutThinking,
} from "./generation.ts";

interface Fitted {
  readonly changes: Changes;
  /** The public paths of what was left out. */
  readonly dropped: readonly string[];
}

interface FittedThinking extends Fitted {
  /** The effort for a request that sets none. */
  readonly effort?: string | undefined;
}

const unchanged: Fitted = { changes: {}, dropped: [] };

/** fitGeneration returns the changes to a request that its model takes; none for a model whose generation nobody knows. */
export function fitGeneration(request: Wire, model: string): Fitted {
  const json = request.outline();
  const { output_config: config, tool_choice: choice } = json;
  const thinking = fitThinking(json, model);
  const effort = isObject(config) ? (config.effort ?? null) : null;
  const taken = effort === null ? (thinking.effort ?? null) : takenEffort(effort, model, isOff(json.thinking));
  const isUnforced = isForcing(choice) && refusesForcing(model);
  if (thinking === unchanged && taken === effort && !isUnforced) return unchanged;
  const changes: Record<string, JsonValue | undefined> = { ...thinking.changes };
  const dropped = [...thinking.dropped];
  if (taken !== effort) {
    // An outline has fillers in place of long strings, as a schema may have.
    const { effort: _, ...others } = isObject(config) ? (request.json().output_config as JsonObject) : {};
    const kept = taken === null ? others : { ...others, effort: taken };
    changes.output_config = Object.keys(kept).length === 0 ? undefined : kept;
    if (taken === null) dropped.push("output_config.effort");
  }
  if (isUnforced) {
    const { name: _, ...others } = choice;
    changes.tool_choice = { ...others, type: "auto" };
    dropped.push("tool_choice");
  }
  return { changes, dropped };
}

/**
 * refusedSampling returns the sampling settings of a request that its model refuses beside others: beside thinking all but the defaults,
 * and top_p beside a temperature. `thinking` is what the model is asked for.
 */
export function refusedSampling(json: JsonObject, thinking: JsonValue | undefined, model: string): string[] {
  if (!isClaude(model)) return [];
  const { temperature = null, top_p = null, top_k = null } = json;
  const thinks = isObject(thinking) && (thinking.type === "enabled" || thinking.type === "adaptive");
  const isBoth = temperature !== null && top_p !== null && refusesBoth(model);
  const refused = {
    temperature: thinks && temperature !== null && temperature !== 1,
    top_p: isBoth || (thinks && typeof top_p === "number" && top_p < leastTopP),
    top_k: thinks && top_k !== null,
  };
  return Object.entries(refused).flatMap(([key, isRefused]) => (isRefused ? [key] : []));
}

/** leastTopP is the least top_p beside thinking. */
const leastTopP = 0.95;

function isForcing(choice: JsonValue | undefined): choice is JsonObject {
  return isObject(choice) && (choice.type === "any" || choice.type === "tool");
}

/** isOff reports whether thinking is switched off, by the word of either generation. */
function isOff(thinking: JsonValue | undefined): boolean {
  return isObject(thinking) && (thinking.type === "disabled" || thinking.type === "between_tools");
}

/** takenEffort returns the effort that the model takes instead; null for one that takes none. */
function takenEffort(effort: JsonValue, model: string, unthinking: boolean): JsonValue {
  if (!takesEffort(model)) return null;
  const { number = 0 } = generationOf(model) ?? {};
  // From 5 on the two highest efforts are for thinking alone.
  const highest = unthinking && number >= 500 ? ["xhigh", "max"] : takesXhigh(model) ? [] : ["xhigh"];
  const refused = number === 405 ? ["xhigh", "max"] : highest;
  return refused.some((one) => one === effort) ? "high" : effort;
}

function fitThinking(json: JsonObject, model: string): FittedThinking {
  const { thinking } = json;
  if (!isObject(thinking)) return unchanged;
  const { type, budget_tokens: _, ...rest } = thinking;
  if (isOff(thinking)) return switchedOff(json, thinking, model);
  if (type === "enabled" && refusesBudget(model)) {
    const summarized = { display: "summarized", ...rest, type: "adaptive" };
    return { changes: { thinking: summarized }, dropped: ["thinking.budget_tokens"] };
  }
  if (type !== "adaptive" || !thinksByBudget(model)) return unchanged;
  const budget = neverThinks(model) ? undefined : budgetFor(json);
  if (budget === undefined) return withoutAny(json);
  return { changes: { thinking: { ...rest, type: "enabled", budget_tokens: budget } }, dropped: [] };
}

function switchedOff(json: JsonObject, { type }: JsonObject, model: string): FittedThinking {
  if (generationOf(model) === undefined) return unchanged;
  const { thinking: word = "disabled", effort } = withoutThinking(model);
  if (effort !== undefined) return { ...withoutAny(json), effort };
  return word === type ? unchanged : { changes: { thinking: { type: word } }, dropped: [] };
}

function withoutAny(json: JsonObject): Fitted {
  const lost = thinkingKeys(json);
  return { changes: Object.fromEntries(lost.map((key) => [key, undefined])), dropped: lost };
}

const leastBudget = 1024;

/** budgetFor returns the budget of a request that asks for adaptive thinking; undefined where the model may not think within one. */
function budgetFor(json: JsonObject): number | undefined {
  const { output_config: config, max_tokens: bound, messages, tool_choice: choice } = json;
  const { temperature = null, top_p = null, top_k = null } = json;
  const isSampled = (temperature !== null && temperature !== 1) || top_p !== null || top_k !== null;
  if (isForcing(choice) || isSampled || (Array.isArray(messages) && resumesWithoutThinking(messages))) return undefined;
  const effort = isObject(config) ? config.effort : undefined;
  // A count of tokens has no bound. High is the effort of adaptive thinking that is given none.
  const wanted = budgetOfEffort(effort) ?? (budgetOfEffort("high") as number);
  if (typeof bound !== "number" || wanted < bound) return wanted;
  const half = Math.max(Math.floor(bound / 2), leastBudget);
  return half < bound ? half : undefined;
}
