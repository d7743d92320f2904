/**
 * The models that this gateway serves, by id and alias, and where each is served.
 */

import type { Price } from "../call/price.ts";
import { modelNotFound, modelOfOtherKind } from "../call/refusals.ts";
import type { ModelConfig, PriceConfig } from "../config/config.ts";
import { priceOf } from "../ledger/price-of.ts";

export interface Model {
  readonly id: string;
  /** Its other names. */
  readonly aliases: readonly string[];
  readonly family: string;
  readonly kind: ModelConfig["kind"];
  /** How a chat model serves text completions: as a conversation, or by its upstream's own endpoint where it has one. */
  readonly completions: "chat" | "native";
  readonly contextWindow: number | undefined;
  readonly maxOutputTokens: number | undefined;
  /** Who makes it; empty where nobody said. */
  readonly vendor: string;
  /** When it was released, in milliseconds since 1970; 0 where nobody said. */
  readonly releasedAt: number;
  /** Whether a conversation goes to the same target each time, where its equals would do: for the sake of its prompt cache. */
  readonly sticky: boolean;
  /** Whether it reasons before it answers; undefined where nobody said: then what its targets tell decides. */
  readonly reasons: boolean | undefined;
  /** Undefined where not all of it is known that a call may cost. */
  readonly price: Price | undefined;
  readonly targets: readonly Target[];
}

/** A model at an upstream. */
export interface Target {
  readonly upstream: string;
  /** The model's name there. */
  readonly model: string;
  /** Lower goes first. */
  readonly priority: number;
  /** Share among targets of the same priority. */
  readonly weight: number;
  /** Whether its upstream computes in one region, for which some vendors have another price; unset: it does not. */
  readonly isRegional?: boolean;
}

export interface Catalog {
  /** Finds a model of any kind. Throws a Refusal. */
  get(idOrAlias: string): Model;
  /** Finds a model of this kind by its id or an alias. Throws a Refusal. */
  find(idOrAlias: string, kind: Model["kind"]): Model;
  list(): readonly Model[];
}

/** Whether an operation that the model's upstream speaks may be asked of it as it came: OpenAI's chat models refuse one. */
export function mayRelay({ completions }: Model, operation: string): boolean {
  return operation !== "completions" || completions === "native";
}

/** A catalog whose models may change while calls are under way: each goes on with the model that it found. */
export interface ModelTable extends Catalog {
  /** Has these models served in the place of all. What is as it was stays the same object: how targets fare is known by them. */
  replace(configs: readonly ModelConfig[]): void;
}

export interface CatalogOptions {
  /** The price of models that have none of their own; unset: they have none. */
  readonly unpriced?: PriceConfig | undefined;
  /** The names of upstreams that compute in one region. */
  readonly regional?: ReadonlySet<string>;
}

export function createModelTable(configs: readonly ModelConfig[], options: CatalogOptions = {}): ModelTable {
  let current = createCatalog(configs, options);
  return {
    get: (name) => current.get(name),
    find: (name, kind) => current.find(name, kind),
    list: () => current.list(),
    replace(next) {
      current = createCatalog(next, options, current);
    },
  };
}

/**
 * The first of two models with the same name has it. Models and targets that `before` has in the same form are taken from there.
 */
export function createCatalog(
  configs: readonly ModelConfig[],
  { unpriced, regional }: CatalogOptions = {},
  before?: Pick<Catalog, "list">,
): Catalog {
  const byName = new Map<string, Model>();
  const known = new Map(before?.list().map((model) => [model.id, model]));
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
      // Where reading from a cache costs less, it pays to come back to it.
      sticky: config.sticky ?? (price !== undefined && price.cacheRead < price.input),
      reasons: config.reasoning,
      price,
      targets: config.targets.map((written) => {
        const target = regional?.has(written.upstream) ? { ...written, isRegional: true } : written;
        return was?.targets.find((other) => isAlike(other, target)) ?? target;
      }),
    };
    const model = was && isAlike(was, made) ? was : made;
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

/** Both are data alone, made by the same steps. */
function isAlike(one: Model | Target, other: Model | Target): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
