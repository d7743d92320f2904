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

/** Contents is what each file of the catalogue holds, by the file's name. */
interface Contents {
  readonly vendors: z.output<typeof vendorsSchema>;
  readonly models: z.output<typeof catalogueSchema>;
  readonly currencies: CurrenciesConfig;
}

const schemas: { readonly [N in keyof Contents]: z.ZodType<Contents[N]> } = {
  vendors: vendorsSchema,
  models: catalogueSchema,
  currencies: currenciesSchema,
};

export const catalogueFiles = Object.keys(schemas) as readonly (keyof Contents)[];

let read: BuiltInCatalogue | undefined;

/** builtInCatalogue returns the catalogue. Throws a ConfigError where its files are broken. */
export function builtInCatalogue(): BuiltInCatalogue {
  read ??= {
    vendors: readCatalogueFile("vendors").vendors,
    inDollars: readCatalogueFile("models").models,
    currencies: readCatalogueFile("currencies"),
  };
  return read;
}

/**
 * readCatalogueFile returns the content of a file, with what it leaves out. Throws a ConfigError where the file is broken. Packed files hold
 * what this returned when they were packed: they are read in a fraction of the time.
 */
export function readCatalogueFile<N extends keyof Contents>(name: N): Contents[N] {
  if (!isSource) return JSON.parse(packageText(`catalog/${name}.json`));
  const faults: Fault[] = [];
  const file = `catalog/${name}.yaml`;
  const data = checkDocument(readYaml(file, packageText(file), {}), schemas[name], faults);
  if (data === undefined) throw new ConfigError(faults);
  return data;
}
