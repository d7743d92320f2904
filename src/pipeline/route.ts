/**
 * Puts the targets of a model in the order in which a call tries them: the lowest priority number first, and among equals
 * by weight, so that each is first as often as its weight says. One that is coming back has a part of its weight.
 */
import type { Model, Target } from "../catalog.ts";
import type { Targets } from "../targets/targets.ts";

/** `random` is from 0 (inclusive) to 1 (exclusive). */
export function route({ targets: all }: Model, random: () => number, targets: Targets): readonly Target[] {
  if (all.length === 1) return all;
  const priorities = [...new Set(all.map(({ priority }) => priority))].sort((a, b) => a - b);
  return priorities.flatMap((wanted) =>
    byWeight(
      all.filter(({ priority }) => priority === wanted),
      random,
      targets,
    ),
  );
}

function byWeight(equals: readonly Target[], random: () => number, targets: Targets): Target[] {
  const left = equals.map((target) => ({ target, weight: target.weight * targets.of(target).breaker.share() }));
  const order: Target[] = [];
  while (left.length > 1) {
    let rest = random() * left.reduce((sum, { weight }) => sum + weight, 0);
    const place = left.findIndex(({ weight }) => {
      rest -= weight;
      return rest < 0;
    });
    const [chosen] = left.splice(place === -1 ? left.length - 1 : place, 1);
    if (chosen) order.push(chosen.target);
  }
  return [...order, ...left.map(({ target }) => target)];
}
