/** Tells which models another upstream serves already: with one more upstream they have one more place to go to, or none is needed. */
import { useDescribedModels } from "../operator-models/use-models.ts";

/** Elsewhere gives the upstreams that serve a model, by its name there. */
export type Elsewhere = ReadonlyMap<string, readonly string[]>;

/** useServedElsewhere returns what upstreams other than this one serve; nothing where the upstream has no name yet. */
export function useServedElsewhere(upstream: string): Elsewhere {
  const models = useDescribedModels().data?.models ?? [];
  if (upstream === "") return new Map();
  const targets = models.flatMap(({ served, targets }) => (served ? targets : []));
  const others = targets.filter((target) => target.upstream !== upstream);
  const byModel = Map.groupBy(others, ({ model }) => model);
  return new Map([...byModel].map(([model, some]) => [model, [...new Set(some.map((one) => one.upstream))].sort()]));
}
