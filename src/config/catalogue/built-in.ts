/** The built-in catalogue: vendors, models with their prices in US dollars, and what a dollar is taken for. It is read once. */
import type { z } from "zod";
import { isSource, packageText } from "../../package/package-files.ts";
import { checkDocument } from "../check-document.ts";
import { ConfigError } from "../config-error.ts";
import { type Fault, readYaml } from "../document.ts";
import { catalogueSchema, type ModelConfig, type VendorConfig, vendorsSchema } from "../schema-models.ts";
import { type CurrenciesConfig, currenciesSchema } from "./currency.ts";

export interface BuiltInCatalogue {
  readonly vendors: readonly VendorConfig[];
  /** inDollars are the models as the catalogue has them: `currency.ts` makes units of their prices. */
  readonly inDollars: readonly ModelConfig[];
  readonly currencies: CurrenciesConfig;
}

let read: BuiltInCatalogue | undefined;

/** builtInCatalogue returns the catalogue. Throws a ConfigError where its files are broken. */
export function builtInCatalogue(): BuiltInCatalogue {
  // Packing has stored the result: reading that takes a fraction of the time that the files take.
  read ??= isSource ? readSource() : (JSON.parse(packageText("catalog/built-in.json")) as BuiltInCatalogue);
  return read;
}

function readSource(): BuiltInCatalogue {
  return {
    vendors: readFile("vendors", vendorsSchema).vendors,
    inDollars: readFile("models", catalogueSchema).models,
    currencies: readFile("currencies", currenciesSchema),
  };
}

function readFile<S extends z.ZodType>(name: string, schema: S): z.output<S> {
  const faults: Fault[] = [];
  const file = `catalog/${name}.yaml`;
  const data = checkDocument(readYaml(file, packageText(file), {}), schema, faults);
  if (data === undefined) throw new ConfigError(faults);
  return data;
}
