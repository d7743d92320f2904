/**
 * Puts the targets of a model in the order in which a call tries them: the lowest priority number first, and among equals
 * by weight, so that each is first as often as its weight says. One that is coming back has a part of its weight.
 *
 * Chance takes two of the equals, and the one that is clearly less busy and quicker goes first. A conversation that is to
 * stay where its prompt cache is goes by its own hash instead: to the same target each time, as long as it is there, and of
 * conversations each target has as many as its weight says.
 */
import { hash } from "node:crypto";
import type { Model, Target } from "../../targets/catalog.ts";
import type { Targets } from "../../targets/targets.ts";

export interface RouteOptions {
  readonly targets: Targets;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** What tells the call's conversation from others; undefined where it need not stay anywhere. */
  readonly conversation?: string | undefined;
}

export function route({ targets: all }: Pick<Model, "targets">, options: RouteOptions): readonly Target[] {
  if (all.length === 1) return all;
  const { conversation } = options;
  const priorities = [...new Set(all.map(({ priority }) => priority))].sort((a, b) => a - b);
  return priorities.flatMap((wanted) => {
    const equals = all.filter(({ priority }) => priority === wanted).map((target) => weighed(target, options));
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

/** Returns the index at which a share of all weights falls. */
function drawn(left: readonly Weighed[], share: number): number {
  let rest = share * left.reduce((sum, { weight }) => sum + weight, 0);
  const index = left.findIndex(({ weight }) => {
    rest -= weight;
    return rest < 0;
  });
  return index === -1 ? left.length - 1 : index;
}

/** What is not clearly better changes nothing: chance keeps to the weights. */
const clearly = 0.8;

function better(left: readonly Weighed[], first: number, second: number, targets: Targets): number {
  const expected = (index: number) => targets.of((left[index] as Weighed).target).load.expected();
  const [one, other] = [expected(first), expected(second)];
  return one !== undefined && other !== undefined && other < one * clearly ? second : first;
}

/** Rendezvous hashing: who comes and goes moves no conversation but its own. */
function byConversation(equals: readonly Weighed[], conversation: string): Target[] {
  const score = ({ target, weight }: Weighed) => {
    const digest = hash("sha256", `${target.upstream}\n${target.model}\n${conversation}`, "hex");
    const share = (Number.parseInt(digest.slice(0, 12), 16) + 1) / (2 ** 48 + 1);
    return -weight / Math.log(share);
  };
  const scored = equals.map((one) => ({ target: one.target, score: score(one) }));
  return scored.sort((a, b) => b.score - a.score).map(({ target }) => target);
}
