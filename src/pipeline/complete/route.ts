/**
 * Orders the targets of a model for a call: the lowest priority number first, and within a priority at random by weight, so that
 * each target is first in proportion to its weight. A target that recovers from failures has a share of its weight.
 *
 * Of two targets that are drawn, the one with the clearly lower expected latency goes first. A conversation that should find its
 * prompt cache is placed by rendezvous hashing instead: it goes to the same target each time, and each target gets conversations in
 * proportion to its weight.
 */
import { hash } from "node:crypto";
import type { Model, Target } from "../../targets/catalog.ts";
import type { Targets } from "../../targets/targets.ts";

export interface RouteOptions {
  readonly targets: Targets;
  /** random returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** Identifies the call's conversation; undefined where it may go to any target. */
  readonly conversation?: string | undefined;
}

export function route({ targets: all }: Pick<Model, "targets">, options: RouteOptions): readonly Target[] {
  if (all.length === 1) return all;
  const { conversation } = options;
  const priorities = [...new Set(all.map(({ priority }) => priority))].sort((a, b) => a - b);
  return priorities.flatMap((level) => {
    const equals = all.filter(({ priority }) => priority === level).map((target) => weighed(target, options));
    return conversation === undefined ? byChance(equals, options) : byConversation(equals, conversation);
  });
}

interface Weighed {
  readonly target: Target;
  readonly weight: number;
}

function weighed(target: Target, { targets }: RouteOptions): Weighed {
  return { target, weight: target.weight * targets.of(target).breaker.share() };
}

function byChance(equals: readonly Weighed[], { targets, random }: RouteOptions): Target[] {
  const left = [...equals];
  const order: Target[] = [];
  while (left.length > 0) {
    let index = drawn(left, random());
    if (order.length === 0 && left.length > 1) index = better(left, index, drawn(left, random()), targets);
    const [chosen] = left.splice(index, 1);
    if (chosen) order.push(chosen.target);
  }
  return order;
}

/** drawn returns the index at which a share of the total weight falls. */
function drawn(left: readonly Weighed[], share: number): number {
  let rest = share * left.reduce((sum, { weight }) => sum + weight, 0);
  const index = left.findIndex(({ weight }) => {
    rest -= weight;
    return rest < 0;
  });
  return index === -1 ? left.length - 1 : index;
}

/** A target is preferred if its expected latency is below this share of the other's. Otherwise the draw stands. */
const clearlyBetter = 0.8;

function better(left: readonly Weighed[], first: number, second: number, targets: Targets): number {
  const expected = (index: number) => targets.of((left[index] as Weighed).target).load.expected();
  const [one, other] = [expected(first), expected(second)];
  return one !== undefined && other !== undefined && other < one * clearlyBetter ? second : first;
}

/** Rendezvous hashing: a target that is added or removed moves no conversations but its own. */
function byConversation(equals: readonly Weighed[], conversation: string): Target[] {
  const score = ({ target, weight }: Weighed) => {
    const digest = hash("sha256", `${target.upstream}\n${target.model}\n${conversation}`, "hex");
    const share = (Number.parseInt(digest.slice(0, 12), 16) + 1) / (2 ** 48 + 1);
    return -weight / Math.log(share);
  };
  const scored = equals.map((one) => ({ target: one.target, score: score(one) }));
  return scored.sort((a, b) => b.score - a.score).map(({ target }) => target);
}
