/**
 * Computes the served models from the configuration and the upstreams' lists.
 *
 * An upstream with discovery serves what it lists: a model of the catalogue with all of the catalogue's facts, any
 * other without a price, of the listed kind or else as a chat model. What it does not list, or cannot be asked for, is
 * not served from it. An upstream that provides no list keeps the catalogue's models.
 *
 * Any other upstream of a vendor keeps those of its vendor's models that it lists, once it has listed any of them.
 * Models that gateway.yaml itself assigns to an upstream stay, listed or not.
 */
import { type Config, enabled, type ModelConfig, servable, targetAt, type UpstreamConfig } from "../config.ts";
import type { ModelList } from "./model-list.ts";

/** family is the family of a model of which only the name is known. */
const family = "openai-compatible";

/** UpstreamLists are the upstreams' answers by their names. Upstreams without a list have none. */
export type UpstreamLists = ReadonlyMap<string, ModelList | "down">;

/**
 * discoveryScopeOf returns what an upstream's list decides: all of its models, or which of its vendor's known models
 * it serves; undefined: it is not asked.
 */
export function discoveryScopeOf(
  upstream: UpstreamConfig,
  { catalogue }: Pick<Config, "catalogue">,
): "all" | "known" | undefined {
  if (upstream.disabled) return undefined;
  if (upstream.discover !== undefined) return upstream.discover ? "all" : undefined;
  return catalogue.some(({ vendor }) => vendor === upstream.name) ? "known" : undefined;
}

/** servedModels returns the served models. */
export function servedModels(config: Config, answers: UpstreamLists): readonly ModelConfig[] {
  if (answers.size === 0) return config.models;
  const { models, catalogue, upstreams } = config;
  const builtIn = new Set(catalogue.map(({ id }) => id));
  const own = models.filter(({ id }) => !builtIn.has(id));
  const lists = listsOf(config, answers);
  const placed = catalogue.map((model) => servable({ ...model, targets: targetsOf(model, lists) }, upstreams));
  const known = [...own, ...placed];
  return [...known, ...unknownModels(config, known, lists)].filter(({ targets }) => targets.length > 0);
}

interface Lists {
  readonly upstreams: ReadonlySet<string>;
  /** all are the lists of upstreams that serve all that they list. */
  readonly all: ReadonlyMap<string, ModelList>;
  /** known are the lists of upstreams that serve the listed ones of their vendor's models. */
  readonly known: ReadonlyMap<string, ModelList>;
}

function listsOf(config: Config, answers: UpstreamLists): Lists {
  const [all, known] = [new Map<string, ModelList>(), new Map<string, ModelList>()];
  for (const upstream of config.upstreams) {
    const { name } = upstream;
    const list = answers.get(name);
    const which = discoveryScopeOf(upstream, config);
    if (which === "all" && list) all.set(name, list === "down" ? new Map() : list);
    // A list without any of them uses other names than the catalogue.
    const ofVendor = config.catalogue.filter(({ vendor }) => vendor === name);
    if (which === "known" && list && list !== "down" && ofVendor.some((model) => nameAtVendor(model, list)))
      known.set(name, list);
  }
  return { upstreams: new Set(enabled(config.upstreams).map(({ name }) => name)), all, known };
}

/** targetsOf sends a model of the catalogue to its vendor's own upstream, or else to those that list it. */
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

/** nameAt returns a catalogue model's name in a list. */
function nameAt({ id, aliases }: Named, list: ModelList): string | undefined {
  return [id, ...aliases].find((name) => list.has(name));
}

/**
 * nameAtVendor also accepts a vendor's variants: with a folder before the name, as Google lists it, or only with the
 * date of a snapshot. Requests still use the model's own name.
 */
function nameAtVendor({ id, aliases }: Named, list: ModelList): string | undefined {
  const listed = [...list.keys()];
  const isOf = (name: string) => (other: string) =>
    other === `models/${name}` || (other.startsWith(`${name}-`) && snapshot.test(other.slice(name.length)));
  return nameAt({ id, aliases }, list) ?? [id, ...aliases].find((name) => listed.some(isOf(name)));
}

const snapshot = /^-(\d{4}|\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;

/** unknownModels returns the listed models that are not in the catalogue or the file. */
function unknownModels(config: Config, known: readonly ModelConfig[], { all }: Lists): Iterable<ModelConfig> {
  const taken = new Set(known.flatMap(({ id, aliases }) => [id, ...aliases]));
  const models = new Map<string, ModelConfig>();
  for (const [upstream, list] of all) {
    for (const [id, listed] of list) {
      // Another gateway as upstream lists its embedded models, which this gateway has itself.
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
