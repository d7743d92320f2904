/**
 * Chooses the target of a model that a call goes to: among those of the lowest priority number, by weight.
 */
import type { Model, Target } from "../catalog.ts";

/** `random` is from 0 (inclusive) to 1 (exclusive). */
export function route(model: Model, random: () => number): Target {
  const first = Math.min(...model.targets.map(({ priority }) => priority));
  const candidates = model.targets.filter(({ priority }) => priority === first);
  let rest = random() * candidates.reduce((sum, { weight }) => sum + weight, 0);
  for (const target of candidates) {
    rest -= target.weight;
    if (rest < 0) return target;
  }
  return candidates.at(-1) as Target;
}
