/**
 * Tells what a Claude model supports, by its name, where generations differ.
 *
 * Known older generations are treated as such; every other name counts as a new model. An alias hides its model's
 * generation: then the upstream decides.
 */
import { generationOf, refusesForcing } from "../../providers/anthropic/generation.ts";

const withoutSchemas = /claude-(?:instant|[123]\b|(?:opus|sonnet)-4(?![-.](?:[1-9]|[1-9]\d)(?!\d)))/;

/**
 * Reports whether the model supports JSON Schemas, for its output and, with `strict`, for its tools' input (from
 * 4.1).
 */
export function supportsSchemas(model: string): boolean {
  return !withoutSchemas.test(model);
}

/**
 * takesForcing reports whether the model is known to let itself be forced to call a tool while it thinks adaptively. With a budget none
 * does; of the newest only Haiku does at all.
 */
export function takesForcing(model: string): boolean {
  const { number = 0 } = generationOf(model) ?? {};
  return number >= 406 && !refusesForcing(model);
}
