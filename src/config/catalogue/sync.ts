/**
 * Reads newer models and prices, as catalog/models.yaml or as LiteLLM's list of prices has them, and says what of them the catalogue
 * lacks. Prices are in US dollars, and are compared as amounts.
 */
import { checkDocument } from "../check-document.ts";
import { ConfigError } from "../config-error.ts";
import { type Fault, readYaml } from "../document.ts";
import { catalogueSchema, type ModelConfig, modelSchema } from "../schema-models.ts";
import { isAlike } from "../stored/differences.ts";
import { entryName, type Json } from "../stored/documents.ts";
import type { BuiltInCatalogue } from "./built-in.ts";
import { readListedPrices } from "./listed-prices.ts";
import { modelAsWritten } from "./written.ts";

/** readNewer returns the models of a source that are new, or differ, as entries of `catalogue`. Throws a ConfigError. */
export function readNewer(source: string, text: string, builtIn: BuiltInCatalogue): readonly Newer[] {
  const known = new Map(builtIn.inDollars.flatMap((model) => [model.id, ...model.aliases].map((id) => [id, model])));
  const read = /^\s*\{/.test(text) ? readListedPrices(source, text, known) : readCatalogue(source, text);
  return read.map((model) => {
    const before = known.get(model.id);
    return { model, isBuiltIn: before !== undefined && isAlike(modelAsWritten(before), modelAsWritten(model)) };
  });
}

/** Newer is a model of a source; `isBuiltIn` says that the built-in catalogue has it just so. */
export interface Newer {
  readonly model: ModelConfig;
  readonly isBuiltIn: boolean;
}

function readCatalogue(source: string, text: string): readonly ModelConfig[] {
  const faults: Fault[] = [];
  const data = checkDocument(readYaml(source, text, {}), catalogueSchema, faults);
  if (!data) throw new ConfigError(faults);
  return data.models;
}

export interface Synced {
  readonly catalogue: readonly Json[];
  /** found is how many models of the source are of these vendors. */
  readonly found: number;
}

/** syncedCatalogue returns the list `catalogue` after the newer models of some vendors have taken their places in it. */
export function syncedCatalogue(
  newer: readonly Newer[],
  before: readonly Json[],
  vendors: ReadonlySet<string>,
): Synced {
  const chosen = newer.filter(({ model }) => model.vendor !== undefined && vendors.has(model.vendor));
  const catalogue = new Map(before.map((entry) => [entryName("catalogue", entry) ?? "", entry]));
  for (const { model, isBuiltIn } of chosen) {
    const stored = catalogue.get(model.id);
    const written = modelAsWritten(model);
    if (isBuiltIn) catalogue.delete(model.id);
    // An entry that is written otherwise and means the same is no difference.
    else if (!stored || !isSame(stored, written)) catalogue.set(model.id, written);
  }
  return { catalogue: [...catalogue.values()], found: chosen.length };
}

function isSame(stored: Json, written: Json): boolean {
  const { data } = modelSchema.safeParse(stored);
  return data !== undefined && isAlike(modelAsWritten(data), written);
}
