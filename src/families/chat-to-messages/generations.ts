/**
 * Tells what a Claude model supports, by its name, where generations differ.
 *
 * Known older generations are treated as such; every other name counts as a new model. An alias hides its model's
 * generation: then the upstream decides.
 */
import { generationOf } from "../../providers/anthropic/generation.ts";

const withoutSchemas = /claude-(?:instant|[123]\b|(?:opus|sonnet)-4(?![-.](?:[1-9]|[1-9]\d)(?!\d)))/;

/**
 * Reports whether the model supports JSON Schemas, for its output and, with `strict`, for its tools' input (from
 * 4.1).
 */
export function supportsSchemas(model: string): boolean {
  return !withoutSchemas.test(model);
}

/** Unthinking is how a model is told not to think. */
interface Unthinking {
  /** The type of `thinking`. */
  readonly thinking?: string;
  /** The least effort, of a model that always thinks. */
  readonly effort?: string;
}

/** withoutThinking returns nothing for models that think only when asked, as those before 5, and for unknown ones. */
export function withoutThinking(model: string): Unthinking {
  const { family = "", number = 0 } = generationOf(model) ?? {};
  if (number < 500) return {};
  if (alwaysThinks(family, number)) return { effort: "low" };
  return { thinking: family === "sonnet" && number >= 505 ? "between_tools" : "disabled" };
}

function alwaysThinks(family: string, number: number): boolean {
  return family === "fable" || family === "mythos" || (family === "opus" && number >= 505);
}

/**
 * takesForcing reports whether the model is known to let itself be forced to call a tool while it thinks adaptively. With a budget none
 * does; of the newest only Haiku does at all.
 */
export function takesForcing(model: string): boolean {
  const { number = 0 } = generationOf(model) ?? {};
  return number >= 406 && !refusesForcing(model);
}

/** refusesForcing reports whether the model is known to refuse to be forced to call a tool, whether it thinks or not. */
export function refusesForcing(model: string): boolean {
  const { family = "", number = 0 } = generationOf(model) ?? {};
  return alwaysThinks(family, number) || (family === "sonnet" && number >= 505);
}
