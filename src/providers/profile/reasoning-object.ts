/**
 * `reasoning` of a chat request, as OpenRouter has it and clients send it to any server: an effort, a budget in tokens, or a switch. Most
 * servers know the effort only, as `reasoning_effort`.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** effortOfBudget returns the effort that stands for a budget of reasoning, in tokens. */
export function effortOfBudget(tokens: number): string {
  if (tokens >= 16_384) return "max";
  if (tokens >= 4096) return "high";
  if (tokens >= 2048) return "medium";
  return tokens >= 1024 ? "low" : "minimal";
}

const budgets: ReadonlyMap<JsonValue | undefined, number> = new Map([
  ["low", 1024],
  ["medium", 2048],
  ["high", 4096],
  ["xhigh", 8192],
  ["max", 16_384],
]);

/** budgetOfEffort returns the budget, in tokens, that stands for an effort; undefined for an unknown one. */
export function budgetOfEffort(effort: JsonValue | undefined): number | undefined {
  return budgets.get(effort);
}

/** budgetIn returns the budget in tokens; undefined without one, and beside an effort, which takes precedence. */
export function budgetIn(reasoning: JsonValue | undefined): number | undefined {
  if (!isObject(reasoning) || (reasoning.effort ?? null) !== null || reasoning.enabled === false) return undefined;
  const { max_tokens: budget } = reasoning;
  return typeof budget === "number" && budget > 0 ? budget : undefined;
}

/** effortIn returns the effort that `reasoning` asks for; undefined where it asks for none. Switched on alone it is OpenRouter's default. */
export function effortIn(reasoning: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(reasoning)) return undefined;
  const { effort = null, enabled } = reasoning;
  if (effort !== null) return effort;
  if (enabled === false) return "none";
  const budget = budgetIn(reasoning);
  if (budget !== undefined) return effortOfBudget(budget);
  return enabled === true ? "medium" : undefined;
}

/** besideEffort returns the paths of what `reasoning` says besides the effort. */
export function besideEffort(reasoning: JsonValue | undefined): string[] {
  if (!isObject(reasoning)) return [];
  const { effort: _, enabled: _e, max_tokens: budget, exclude = false, ...others } = reasoning;
  const isSpare = (budget ?? null) !== null && budgetIn(reasoning) === undefined && effortIn(reasoning) !== "none";
  const rest = { ...others, ...(isSpare ? { max_tokens: budget } : {}), ...(exclude === false ? {} : { exclude }) };
  return Object.entries(rest).flatMap(([key, value]) => ((value ?? null) === null ? [] : [`reasoning.${key}`]));
}
