/**
 * What a model of this name can be told, where generations differ.
 *
 * The rule is small: the Claude generations that are known to be older are treated as such; every other name, known or
 * not, is taken for a new model. An alias hides its model's generation: then the upstream has the last word.
 */

const budgetModels = /claude-(?:instant|[123]\b|(?:opus|sonnet|haiku)-4(?![-.](?:[6-9]|[1-9]\d)(?!\d)))/;
const withoutSchemas = /claude-(?:instant|[123]\b|(?:opus|sonnet)-4(?![-.](?:[1-9]|[1-9]\d)(?!\d)))/;

/** Whether it thinks within a budget of tokens (up to 4.5), and not adaptively, by effort (from 4.6). */
export function thinksByBudget(model: string): boolean {
  return budgetModels.test(model);
}

/** Whether it can be held to a JSON Schema: its output and, by `strict`, its tools' input (from 4.1). */
export function supportsSchemas(model: string): boolean {
  return !withoutSchemas.test(model);
}
