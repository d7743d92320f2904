/**
 * Tells the generation of a Claude model by its name, and what the vendor refuses from one on. A name without a generation, as an
 * alias, hides it: then the upstream decides, as for other vendors' models.
 */

const named = /claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i;

const budgetModels = /claude-(?:instant|[123]\b|(?:opus|sonnet|haiku)-4(?![-.](?:[6-9]|[1-9]\d)(?!\d)))/;

/** Generation is the family of a model, such as `opus`, and its generation in hundredths: 407 for 4.7. */
export interface Generation {
  readonly family: string;
  readonly number: number;
}

/** generationOf returns undefined where the name does not tell the generation. */
export function generationOf(model: string): Generation | undefined {
  const [, family, major, minor = "0"] = named.exec(model) ?? [];
  return family === undefined
    ? undefined
    : { family: family.toLowerCase(), number: Number(major) * 100 + Number(minor) };
}

/** isClaude reports a model of Claude's by its name, whatever its generation. */
export function isClaude(model: string): boolean {
  return /claude/i.test(model);
}

/** refusesSampling reports whether the model is known to refuse temperature, top_p and top_k: Haiku after 4.5, all others after 4.6. */
export function refusesSampling(model: string): boolean {
  const { family, number = 0 } = generationOf(model) ?? {};
  return number > (family === "haiku" ? 405 : 406);
}

/** refusesBoth reports whether the model is known to refuse temperature and top_p together: from 4.1. */
export function refusesBoth(model: string): boolean {
  const { number = 0 } = generationOf(model) ?? {};
  return number > 400;
}

/** refusesPrefill reports whether the model is known to refuse a conversation that ends with its own turn: from 4.6. */
export function refusesPrefill(model: string): boolean {
  const { number = 0 } = generationOf(model) ?? {};
  return number >= 406;
}

/** takesLateInstructions reports whether the model is known to take instructions in mid-conversation: Opus from 4.8, others from 5. */
export function takesLateInstructions(model: string): boolean {
  const { family, number = 0 } = generationOf(model) ?? {};
  return number >= 500 || (family === "opus" && number >= 408);
}

/** takesTurnEfforts reports whether the model is known to take an effort in mid-conversation. */
export function takesTurnEfforts(model: string): boolean {
  const { family = "", number = 0 } = generationOf(model) ?? {};
  return number >= (firstWithTurnEfforts.get(family) ?? Number.POSITIVE_INFINITY);
}

/** firstWithTurnEfforts has the first generation of each family that takes efforts in mid-conversation. */
const firstWithTurnEfforts: ReadonlyMap<string, number> = new Map([
  ["opus", 500],
  ["fable", 501],
  ["mythos", 501],
  ["sonnet", 505],
  ["haiku", 505],
]);

/** thinksByBudget reports whether the model thinks within a token budget (up to 4.5), and not adaptively, by effort (from 4.6). */
export function thinksByBudget(model: string): boolean {
  return budgetModels.test(model);
}

/** neverThinks reports whether the model is known not to think: those before 3.7. */
export function neverThinks(model: string): boolean {
  return /claude-(?:instant|[12]|3(?![-.]7))\b/.test(model);
}

/** refusesBudget reports whether the model is known to refuse a token budget for its thinking (from 4.7). */
export function refusesBudget(model: string): boolean {
  const { number = 0 } = generationOf(model) ?? {};
  return number > 406;
}

/** takesXhigh reports whether the model takes the effort `xhigh`: those of 4.6 are known not to. */
export function takesXhigh(model: string): boolean {
  return generationOf(model)?.number !== 406;
}

/** takesEffort reports whether the model takes an effort: of those that think within a budget, Opus 4.5 alone. */
export function takesEffort(model: string): boolean {
  const { family, number } = generationOf(model) ?? {};
  return !thinksByBudget(model) || (family === "opus" && number === 405);
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

/** refusesForcing reports whether the model is known to refuse to be forced to call a tool, whether it thinks or not. */
export function refusesForcing(model: string): boolean {
  const { family = "", number = 0 } = generationOf(model) ?? {};
  return alwaysThinks(family, number) || (family === "sonnet" && number >= 505);
}
