/**
 * The targets of a model in an editor: levels of priority, each with the targets that share its calls by weight. Moves are one place at a
 * time, so that the keyboard and the pointer do the same.
 */
import { type JsonObject, numberOf, objectsAt, textAt, withValues } from "../../configuration/document.ts";

export interface Target {
  /** key tells it apart while it moves. */
  readonly key: string;
  readonly upstream: string;
  readonly model: string;
  readonly weight: string;
}

/** Levels begin with the one that is asked first. None is empty. */
export type Levels = readonly (readonly Target[])[];

export interface Place {
  readonly level: number;
  readonly index: number;
}

/** levelsOf reads the targets of an entry. */
export function levelsOf(entry: JsonObject): Levels {
  const written = objectsAt(entry, "targets").map((target, i) => ({
    priority: Number(textAt(target, "priority") || 0),
    target: {
      key: String(i),
      upstream: textAt(target, "upstream"),
      model: textAt(target, "model"),
      weight: textAt(target, "weight") || "1",
    },
  }));
  const byPriority = [...Map.groupBy(written, ({ priority }) => priority)].sort(([one], [other]) => one - other);
  return byPriority.map(([, some]) => some.map(({ target }) => target));
}

/** targetEntries returns the targets for an entry. A weight that is no number stays a text, which the gateway refuses by its place. */
export function targetEntries(levels: Levels): JsonObject[] {
  return levels.flatMap((targets, priority) =>
    targets.map(({ upstream, model, weight }) =>
      withValues({}, { upstream, model: model.trim(), priority, weight: numberOf(weight) ?? 1 }),
    ),
  );
}

/** shareOf returns a target's share of the calls of its level, 0 to 1; undefined where weights are not numbers. */
export function shareOf(target: Target, level: readonly Target[]): number | undefined {
  const weights = level.map(({ weight }) => Number(weight.trim() || "1"));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return Number.isFinite(sum) && sum > 0 ? Number(target.weight.trim() || "1") / sum : undefined;
}

export function placeOf(levels: Levels, key: string): Place | undefined {
  for (const [level, targets] of levels.entries()) {
    const index = targets.findIndex((target) => target.key === key);
    if (index >= 0) return { level, index };
  }
  return undefined;
}

/** moveTo puts a target before the one at a place; an index behind the last puts it at the level's end, a level behind the last makes one. */
export function moveTo(levels: Levels, key: string, to: Place): Levels {
  const from = placeOf(levels, key);
  const target = from && levels[from.level]?.[from.index];
  if (!from || !target) return levels;
  const without = levels.map((targets) => targets.filter((one) => one.key !== key));
  const goal = [...(without[to.level] ?? [])];
  goal.splice(to.index, 0, target);
  const moved =
    to.level < without.length ? without.map((targets, i) => (i === to.level ? goal : targets)) : [...without, goal];
  return moved.filter((targets) => targets.length > 0);
}

/**
 * moveBy moves a target one place up (-1) or down (1): past its neighbour in the level, or else over the level's edge. A target that is
 * not alone in the last level goes down into a level of its own, and in the first up into one before it.
 */
export function moveBy(levels: Levels, key: string, by: -1 | 1): Levels {
  const from = placeOf(levels, key);
  if (!from) return levels;
  const here = levels[from.level] ?? [];
  const next = from.index + by;
  if (next >= 0 && next < here.length) return moveTo(levels, key, { level: from.level, index: next });
  const isAlone = here.length === 1;
  const level = from.level + by;
  if (level < 0)
    return isAlone
      ? levels
      : [here.filter((one) => one.key === key), here.filter((one) => one.key !== key), ...levels.slice(1)];
  if (level >= levels.length) return isAlone ? levels : moveTo(levels, key, { level, index: 0 });
  return moveTo(levels, key, { level, index: by > 0 ? 0 : (levels[level]?.length ?? 0) });
}

/** addTarget adds a target to the first level. */
export function addTarget(levels: Levels, target: Omit<Target, "key">): Levels {
  const key = String(1 + Math.max(-1, ...levels.flat().map((one) => Number(one.key))));
  const [first = [], ...others] = levels;
  return [[...first, { ...target, key }], ...others];
}

export function changeTarget(levels: Levels, key: string, change: Partial<Target>): Levels {
  return levels.map((targets) => targets.map((one) => (one.key === key ? { ...one, ...change } : one)));
}

export function removeTarget(levels: Levels, key: string): Levels {
  return levels.map((targets) => targets.filter((one) => one.key !== key)).filter((targets) => targets.length > 0);
}
