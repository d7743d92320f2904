/** The models that this gateway serves, by id and alias, and the targets of each. */

import type { Price } from "../call/price.ts";
import { modelNotFound, modelOfOtherKind } from "../call/refusals.ts";
import type { ModelConfig, PriceConfig } from "../config/config.ts";
import { priceOf } from "../ledger/price-of.ts";

export interface Model {
  readonly id: string;
  /** Other names that callers may use. */
  readonly aliases: readonly string[];
  readonly family: string;
  readonly kind: ModelConfig["kind"];
  /** completions is how a chat model serves text completions: translated to chat, or at its upstream's own endpoint. */
  readonly completions: "chat" | "native";
  readonly contextWindow: number | undefined;
  readonly maxOutputTokens: number | undefined;
  /** The model's maker; empty where the configuration does not say. */
  readonly vendor: string;
  /** releasedAt is in milliseconds since 1970; 0 where the configuration does not say. */
  readonly releasedAt: number;
  /** sticky is whether a conversation goes to the same one of equal targets each time, to find its prompt cache there. */
  readonly sticky: boolean;
  /** reasons is whether it reasons before it answers; undefined: unknown, and what its targets report decides. */
  readonly reasons: boolean | undefined;
  /** price is undefined where any part of what a call may cost is unknown. */
  readonly price: Price | undefined;
  readonly targets: readonly Target[];
}

/** Target is a model at an upstream. */
export interface Target {
  readonly upstream: string;
  /** The model's name at the upstream. */
  readonly model: string;
  /** Lower is tried first. */
  readonly priority: number;
  /** The target's share among those of the same priority. */
  readonly weight: number;
  /** isRegional is whether its upstream computes in one region, for which some vendors charge another price. Default: no. */
  readonly isRegional?: boolean;
}

export interface Catalog {
  /** Finds a model of any kind. Throws a Refusal. */
  get(idOrAlias: string): Model;
  /** Finds a model of this kind by its id or an alias. Throws a Refusal. */
  find(idOrAlias: string, kind: Model["kind"]): Model;
  list(): readonly Model[];
}

/** mayRelay reports whether an upstream that speaks an operation may be sent it untranslated. OpenAI's chat models refuse completions. */
export function mayRelay({ completions }: Model, operation: string): boolean {
  return operation !== "completions" || completions === "native";
}

/** ModelTable is a catalog whose models may change. A call that is under way keeps the model that it found. */
export interface ModelTable extends Catalog {
  /**
   * Makes all models anew, and returns what puts them in the place of the others. Models and targets that have not changed stay the
   * same objects, because their state is kept by object; those at an upstream of `changed` do not. Throws where a price is wrong.
   */
  prepare(configs: readonly ModelConfig[], options: CatalogOptions, changed?: ReadonlySet<string>): () => void;
}

export interface CatalogOptions {
  /** The price of models without one of their own. Default: none. */
  readonly unpriced?: PriceConfig | undefined;
  /** The names of upstreams that compute in one region. */
  readonly regional?: ReadonlySet<string>;
}

export function createModelTable(configs: readonly ModelConfig[], options: CatalogOptions): ModelTable {
  let current = createCatalog(configs, options);
  return {
    get: (name) => current.get(name),
    find: (name, kind) => current.find(name, kind),
    list: () => current.list(),
    prepare(next, nextOptions, changed) {
      const made = createCatalog(next, nextOptions, { list: current.list, changed });
      return () => {
        current = made;
      };
    },
  };
}

/** CatalogBefore is what a catalog takes the place of. */
interface CatalogBefore extends Pick<Catalog, "list"> {
  /** The names of upstreams that are others by now. */
  readonly changed?: ReadonlySet<string> | undefined;
}

/**
 * createCatalog makes a catalog. Of two models with the same name, the first gets it. Models and targets that `before` has unchanged are
 * taken over as the same objects.
 */
export function createCatalog(
  configs: readonly ModelConfig[],
  { unpriced, regional }: CatalogOptions = {},
  before?: CatalogBefore,
): Catalog {
  const byName = new Map<string, Model>();
  const known = new Map(before?.list().map((model) => [model.id, model]));
  const isChanged = ({ upstream }: Target) => before?.changed?.has(upstream) === true;
  const models = configs.map((config): Model => {
    const price = priceOf(config, unpriced);
    const was = known.get(config.id);
    const made: Model = {
      id: config.id,
      aliases: config.aliases.filter((name) => name !== config.id && !byName.has(name)),
      family: config.family,
      kind: config.kind,
      completions: config.completions ?? "chat",
      contextWindow: config.context_window,
      maxOutputTokens: config.max_output_tokens,
      vendor: config.vendor ?? "",
      releasedAt: config.created ? Date.parse(config.created) : 0,
      // Coming back to the same target pays where cached input costs less.
      sticky: config.sticky ?? (price !== undefined && price.cacheRead < price.input),
      reasons: config.reasoning,
      price,
      targets: config.targets.map((written) => {
        const target = regional?.has(written.upstream) ? { ...written, isRegional: true } : written;
        // A copy: states are kept by object, and what was written may be the object of before.
        return was?.targets.find((other) => !isChanged(other) && isAlike(other, target)) ?? { ...target };
      }),
    };
    const model = was && !made.targets.some(isChanged) && isAlike(was, made) ? was : made;
    for (const name of [config.id, ...config.aliases]) if (!byName.has(name)) byName.set(name, model);
    return model;
  });
  const listed = models.filter((model) => byName.get(model.id) === model);
  return {
    get(idOrAlias) {
      const model = byName.get(idOrAlias);
      if (!model) throw modelNotFound(idOrAlias);
      return model;
    },
    find(idOrAlias, kind) {
      const model = byName.get(idOrAlias);
      if (!model) throw modelNotFound(idOrAlias);
      if (model.kind !== kind) throw modelOfOtherKind(idOrAlias, model.kind);
      return model;
    },
    list: () => listed,
  };
}

/** isAlike compares by JSON, which is exact here: both are plain data, made with their members in the same order. */
function isAlike(one: Model | Target, other: Model | Target): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
