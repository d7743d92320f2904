/**
 * Asks the upstreams that are to be discovered which models they serve: a local server, or any other address that
 * the environment names, has models that no catalogue knows.
 *
 * At the start, once, `GET {base_url}/models`. What it lists is served: a model of the catalogue with all that the
 * catalogue says of it, any other without a price, as the kind that the list tells, or else as a chat model. What of its vendor's models it does not list is
 * not served from it; models that gateway.yaml itself gives to an upstream stay, listed or not. An upstream that
 * does not answer, or has no list, costs one log line and keeps the models that the catalogue gives it.
 */
import type { Logger } from "pino";
import { request } from "undici";
import { type Config, type ModelConfig, servable, targetAt, type UpstreamConfig } from "./config.ts";
import { modelKind } from "./schema-models.ts";
import { modelIdSchema } from "./values.ts";
import { credentialOf } from "./vendors.ts";

/** What every model has that is known by its name only. */
const family = "openai-compatible";
const maxListBytes = 4 * 1024 * 1024;
const timeoutMs = 3000;

/** The names of models, each with its kind where the upstream says it. */
type List = ReadonlyMap<string, ModelConfig["kind"] | undefined>;
/** What each upstream serves; one that did not tell is left out. */
type Lists = ReadonlyMap<string, List>;

/** Returns the configuration with the models that its upstreams list. Never throws. */
export async function discoverModels(config: Config, log: Logger, timeout: number = timeoutMs): Promise<Config> {
  const asked = config.upstreams.filter(({ discover }) => discover);
  const answers = await Promise.all(asked.map((upstream) => listOf(upstream, log, timeout)));
  const lists: Lists = new Map(asked.flatMap(({ name }, i) => (answers[i] ? [[name, answers[i]]] : [])));
  if (lists.size === 0) return config;
  const models = served(config, lists);
  for (const [upstream] of lists) {
    const count = models.filter(({ targets }) => targets.some((target) => target.upstream === upstream)).length;
    log.info({ upstream, models: count }, "asked an upstream which models it serves");
  }
  return Object.freeze({ ...config, models });
}

/** Returns undefined, and says so in the log, where the upstream does not tell. */
async function listOf(upstream: UpstreamConfig, log: Logger, timeout: number): Promise<List | undefined> {
  try {
    return await readList(upstream, timeout);
  } catch (error) {
    const message = "an upstream did not tell which models it serves; it keeps those that the catalogue gives it";
    log.warn({ upstream: upstream.name, cause: causeOf(error) }, message);
    return undefined;
  }
}

async function readList(upstream: UpstreamConfig, timeout: number): Promise<List> {
  const { base_url, api_keys, api_key = api_keys?.[0], credential, query = {} } = upstream;
  const own = { accept: "application/json", "user-agent": "model-gateway" };
  const headers = { ...upstream.headers, ...own, ...credentialOf(api_key, credential) };
  // The signal bounds the whole exchange, a body that never ends among it.
  const signal = AbortSignal.timeout(timeout);
  const { statusCode, body } = await request(`${base_url}/models`, { headers, query, signal });
  if (statusCode !== 200) {
    body.on("error", () => {}).destroy();
    throw new Error(`it answered with status ${statusCode}`);
  }
  const { data } = (JSON.parse(await readText(body)) ?? {}) as { data?: unknown };
  if (!Array.isArray(data)) throw new Error("its answer has no list of models");
  const entries = data.map((entry: { id?: unknown; kind?: unknown } | null) => {
    return [modelIdSchema.safeParse(entry?.id).data, modelKind.safeParse(entry?.kind).data] as const;
  });
  return new Map(entries.flatMap(([id, kind]) => (id === undefined ? [] : [[id, kind] as const])));
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxListBytes) throw new Error(`its answer is larger than ${maxListBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Says why in words that hold nothing of the answer: a parser's message would quote it. */
function causeOf(error: unknown): string {
  if (error instanceof SyntaxError) return "its answer is not JSON";
  const { name, message, code } = error as NodeJS.ErrnoException;
  return name === "TimeoutError" ? "it did not answer in time" : message || code || name;
}

function served({ models, catalogue, upstreams, embeddedModels }: Config, lists: Lists): ModelConfig[] {
  const builtIn = new Set(catalogue.map(({ id }) => id));
  const own = models.filter(({ id }) => !builtIn.has(id));
  const names = new Set(upstreams.map(({ name }) => name));
  const placed = catalogue.map((model) => ({ ...model, targets: targetsOf(model, names, lists) }));
  const known = [...own, ...placed.map((model) => servable(model, upstreams))];
  const taken = new Set(known.flatMap(({ id, aliases }) => [id, ...aliases]));
  const found = new Map<string, ModelConfig>();
  for (const [upstream, list] of lists) {
    for (const [id, told] of list) {
      // Another gateway as upstream lists its simulators, which this one has itself.
      if (taken.has(id) || (embeddedModels && id.startsWith("embedded-"))) continue;
      const before = found.get(id);
      const kind = told ?? before?.kind ?? "chat";
      if (before && before.kind !== kind) continue; // Of two models with the same name, the first has it.
      const targets = [...(before?.targets ?? []), targetAt(upstream, id)];
      found.set(id, servable({ id, aliases: [], family, kind, targets }, upstreams));
    }
  }
  return [...known, ...found.values()].filter(({ targets }) => targets.length > 0);
}

/** A model of the catalogue goes to its vendor's own upstream, or else to those that list it. */
function targetsOf(model: ModelConfig, upstreams: ReadonlySet<string>, lists: Lists): ModelConfig["targets"] {
  const vendor = model.vendor ?? "";
  if (upstreams.has(vendor) && !lists.has(vendor)) return [targetAt(vendor, model.id)];
  const listing = lists.get(vendor);
  const ids = [model.id, ...model.aliases];
  const nameAt = (list: List) => ids.find((id) => list.has(id));
  const ownName = listing && nameAt(listing);
  if (ownName) return [targetAt(vendor, ownName)];
  return [...lists].flatMap(([upstream, list]) => {
    const name = nameAt(list);
    return name ? [targetAt(upstream, name)] : [];
  });
}
