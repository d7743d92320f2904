/** Puts together what the gateway knows of models: those that it serves, and the built-in catalogue's with the vendors' prices. */

import type { Config, ModelConfig } from "../config/config.ts";
import { inUnits } from "../config/currency.ts";
import type { KnownModels } from "../services/operator/described-models.ts";
import { createCatalog, type Model } from "../targets/catalog.ts";

export interface KnownModelsParts {
  readonly served: () => readonly Model[];
  /** inDollars is the built-in catalogue. */
  readonly inDollars: () => readonly ModelConfig[];
  readonly cataloguePrices: () => Config["cataloguePrices"];
  readonly restMs: KnownModels["restMs"];
}

/** createKnownModels reads the catalogue at its first call, and converts it anew when the rates have changed. */
export function createKnownModels({ served, inDollars, cataloguePrices, restMs }: KnownModelsParts): () => KnownModels {
  let known: { readonly prices: Config["cataloguePrices"]; readonly models: readonly Model[] } | undefined;
  let dollars: readonly Model[] | undefined;
  return () => {
    const prices = cataloguePrices();
    dollars ??= createCatalog(inDollars()).list();
    if (known?.prices !== prices) {
      const models = createCatalog(inDollars().map((model) => inUnits(model, prices))).list();
      known = { prices, models };
    }
    const { dollar, markup } = prices;
    return { served: served(), inDollars: dollars, inUnits: known.models, dollar, markup, restMs };
  };
}
