/**
 * Tells what a Claude model supports, by its name, where generations differ.
 *
 * Known older generations are treated as such; every other name counts as a new model. An alias hides its model's
 * generation: then the upstream decides.
 */
import { generationOf } from "../../providers/anthropic/generation.ts";

const budgetModels = /claude-(?:instant|[123]\b|(?:opus|sonnet|haiku)-4(?![-.](?:[6-9]|[1-9]\d)(?!\d)))/;
const withoutSchemas = /claude-(?:instant|[123]\b|(?:opus|sonnet)-4(?![-.](?:[1-9]|[1-9]\d)(?!\d)))/;

/** thinksByBudget reports whether the model thinks within a token budget (up to 4.5), and not adaptively, by effort (from 4.6). */
export function thinksByBudget(model: string): boolean {
  return budgetModels.test(model);
}

/** refusesBudget reports whether the model is known to refuse a token budget for its thinking (from 4.7). */
export function refusesBudget(model: string): boolean {
  const { number = 0 } = generationOf(model) ?? {};
  return number > 406;
}

/**
 * Reports whether the model supports JSON Schemas, for its output and, with `strict`, for its tools' input (from
 * 4.1).
 */
export function supportsSchemas(model: string): boolean {
  return !withoutSchemas.test(model);
}
