/**
 * Reads LiteLLM's list of models with their prices (model_prices_and_context_window.json). Of a model that the catalogue has its price
 * is taken; of others those that the gateway can serve, without dated snapshots and fine-tuned ones.
 */

import { ConfigError } from "../config-error.ts";
import type { PriceDraft } from "../import/draft.ts";
import { priceOf } from "../import/litellm/prices.ts";
import { providers } from "../import/litellm/providers.ts";
import { modes } from "../import/modes.ts";
import { createNotes, type Notes } from "../import/notes.ts";
import { memberOf, readSource, type Source, textOf } from "../import/source.ts";
import { type ModelConfig, modelSchema } from "../schema-models.ts";
import { modelAsWritten } from "./written.ts";

/** readListedPrices reads the list; `known` are the catalogue's models by id and alias. Throws a ConfigError. */
export function readListedPrices(
  file: string,
  text: string,
  known: ReadonlyMap<string, ModelConfig>,
): readonly ModelConfig[] {
  const root = readSource(file, () => text);
  const notes = createNotes();
  const models = new Map<string, ModelConfig>();
  for (const [key, entry] of root.members ?? []) {
    const model = modelOf(key, entry, known, notes);
    if (model && !models.has(model.id)) models.set(model.id, model);
  }
  if (models.size === 0)
    throw new ConfigError([{ file, message: "it has no models with prices of vendors that are known" }]);
  return [...models.values()];
}

/** A day at the end of a name is that of a snapshot; a name with these words is of a model that is not served here. */
const snapshot = /-(?:20\d{6}|20\d\d-\d\d-\d\d|\d{4}|latest|preview)$/;
const unserved = /^ft:|realtime|transcribe|audio|image|tts|search|moderation/;

function modelOf(
  key: string,
  entry: Source,
  known: ReadonlyMap<string, ModelConfig>,
  notes: Notes,
): ModelConfig | undefined {
  const provider = textOf(memberOf(entry, "litellm_provider")) ?? "";
  const vendor = providers.get(provider)?.vendor;
  const mode = modes.get(textOf(memberOf(entry, "mode")) ?? "");
  if (vendor === undefined || !mode || !("kind" in mode)) return undefined;
  const id = key.startsWith(`${provider}/`) ? key.slice(provider.length + 1) : key;
  const before = known.get(id);
  // An alias is priced with its model.
  if (before && (before.id !== id || before.vendor !== vendor)) return undefined;
  if (!before && (id.includes("/") || snapshot.test(id) || unserved.test(id))) return undefined;
  const written = before && modelAsWritten(before);
  const price = priceOf([entry], written?.price as PriceDraft | undefined, mode.kind === "chat", notes);
  if (!price?.input && !price?.characters) return undefined;
  const draft = {
    ...(written ?? { id, family: vendor, vendor, ...mode, ...limitsOf(entry, mode.kind) }),
    // A price that the list does not have stays as in the catalogue.
    price: { ...(written?.price as object | undefined), ...price },
  };
  return modelSchema.safeParse(draft).data;
}

function limitsOf(entry: Source, kind: ModelConfig["kind"]) {
  const input = countAt(entry, "max_input_tokens") ?? countAt(entry, "max_tokens");
  const output = kind === "chat" ? countAt(entry, "max_output_tokens") : undefined;
  return {
    ...(input === undefined ? {} : { context_window: input }),
    ...(output === undefined ? {} : { max_output_tokens: output }),
  };
}

function countAt(entry: Source, key: string): number | undefined {
  const value = Number(textOf(memberOf(entry, key)) ?? Number.NaN);
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
