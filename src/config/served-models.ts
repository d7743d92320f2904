/**
 * Which models are served, by the configuration and by what its upstreams list.
 *
 * An upstream that is to be discovered serves what it lists: a model of the catalogue with all that the catalogue says of it,
 * any other without a price, as the kind that the list tells, or else as a chat model. What it does not list, or nobody can ask
 * it for at the moment, is not served from it. An upstream that has no list to tell keeps the models that the catalogue gives it.
 *
 * Any other upstream of a vendor keeps of its vendor's models those that it lists, once it has told any of them. Models that
 * gateway.yaml itself gives to an upstream stay, listed or not.
 */
import { type Config, type ModelConfig, servable, targetAt, type UpstreamConfig } from "./config.ts";
import type { ModelList } from "./model-list.ts";

/** The family of a model of which only the name is known. */
const family = "openai-compatible";

/** The answer of each upstream to the question for its models, by its name; upstreams without a list have none. */
export type Told = ReadonlyMap<string, ModelList | "down">;

/** Whether all is served that an upstream lists, or what it lists of its vendor's models; undefined: it is not asked. */
export function askedFor(
  upstream: UpstreamConfig,
  { catalogue }: Pick<Config, "catalogue">,
): "all" | "known" | undefined {
  if (upstream.discover !== undefined) return upstream.discover ? "all" : undefined;
  return catalogue.some(({ vendor }) => vendor === upstream.name) ? "known" : undefined;
}

/** Returns the models that are served. */
export function servedModels(config: Config, told: Told): readonly ModelConfig[] {
  if (told.size === 0) return config.models;
  const { models, catalogue, upstreams } = config;
  const builtIn = new Set(catalogue.map(({ id }) => id));
  const own = models.filter(({ id }) => !builtIn.has(id));
  const lists = listsOf(config, told);
  const placed = catalogue.map((model) => servable({ ...model, targets: targetsOf(model, lists) }, upstreams));
  const known = [...own, ...placed];
  return [...known, ...found(config, known, lists)].filter(({ targets }) => targets.length > 0);
}

interface Lists {
  readonly upstreams: ReadonlySet<string>;
  /** Of those that serve all that they list. */
  readonly all: ReadonlyMap<string, ModelList>;
  /** Of those that serve what they list of their vendor's models. */
  readonly known: ReadonlyMap<string, ModelList>;
}

function listsOf(config: Config, told: Told): Lists {
  const [all, known] = [new Map<string, ModelList>(), new Map<string, ModelList>()];
  for (const upstream of config.upstreams) {
    const { name } = upstream;
    const list = told.get(name);
    const which = askedFor(upstream, config);
    if (which === "all" && list) all.set(name, list === "down" ? new Map() : list);
    // A list without any of them calls its models otherwise than the catalogue does.
    const ofVendor = config.catalogue.filter(({ vendor }) => vendor === name);
    if (which === "known" && list && list !== "down" && ofVendor.some((model) => nameAtVendor(model, list)))
      known.set(name, list);
  }
  return { upstreams: new Set(config.upstreams.map(({ name }) => name)), all, known };
}

/** A model of the catalogue goes to its vendor's own upstream, or else to those that list it. */
function targetsOf(model: ModelConfig, { upstreams, all, known }: Lists): ModelConfig["targets"] {
  const vendor = model.vendor ?? "";
  const [listing, ofVendor] = [all.get(vendor), known.get(vendor)];
  if (upstreams.has(vendor) && !listing && !ofVendor) return [targetAt(vendor, model.id)];
  const ownName = (listing && nameAt(model, listing)) ?? (ofVendor && nameAtVendor(model, ofVendor));
  if (ownName) return [targetAt(vendor, ownName)];
  return [...all].flatMap(([upstream, list]) => {
    const name = nameAt(model, list);
    return name ? [targetAt(upstream, name)] : [];
  });
}

type Named = Pick<ModelConfig, "id" | "aliases">;

/** Returns what a model of the catalogue is called where it is listed. */
function nameAt({ id, aliases }: Named, list: ModelList): string | undefined {
  return [id, ...aliases].find((name) => list.has(name));
}

/**
 * The same at its vendor, who may list it with a folder before its name, as Google does, or by the day of a snapshot alone: it is
 * called by its own name all the same.
 */
function nameAtVendor({ id, aliases }: Named, list: ModelList): string | undefined {
  const listed = [...list.keys()];
  const isOf = (name: string) => (other: string) =>
    other === `models/${name}` || (other.startsWith(`${name}-`) && snapshot.test(other.slice(name.length)));
  return nameAt({ id, aliases }, list) ?? [id, ...aliases].find((name) => listed.some(isOf(name)));
}

const snapshot = /^-(\d{4}|\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;

/** Returns the models of lists that nobody knows. */
function found(config: Config, known: readonly ModelConfig[], { all }: Lists): Iterable<ModelConfig> {
  const taken = new Set(known.flatMap(({ id, aliases }) => [id, ...aliases]));
  const models = new Map<string, ModelConfig>();
  for (const [upstream, list] of all) {
    for (const [id, listed] of list) {
      // Another gateway as upstream lists its simulators, which this one has itself.
      if (taken.has(id) || (config.embeddedModels && id.startsWith("embedded-"))) continue;
      const before = models.get(id);
      const kind = listed.kind ?? before?.kind ?? "chat";
      if (before && before.kind !== kind) continue; // Of two models with the same name, the first has it.
      const { contextWindow, maxOutputTokens } = listed;
      const bounds = before ?? {
        ...(contextWindow === undefined ? {} : { context_window: contextWindow }),
        ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
      };
      const targets = [...(before?.targets ?? []), targetAt(upstream, id)];
      models.set(id, servable({ ...bounds, id, aliases: [], family, kind, targets }, config.upstreams));
    }
  }
  return models.values();
}
