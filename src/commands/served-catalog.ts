/** The models that a gateway with this configuration serves now: commands that check names load it when they have some. */
import { withEmbedded } from "../composition/providers.ts";
import type { Config } from "../config/config.ts";
import { discoverModels } from "../config/discovery/discover.ts";
import { type Catalog, createCatalog } from "../targets/catalog.ts";
import { openLog } from "./serving/log-lines.ts";

/** servedCatalog asks upstreams that list their models. What goes wrong there is logged. */
export async function servedCatalog(config: Config): Promise<Catalog> {
  return createCatalog(withEmbedded(await discoverModels(config, openLog("warn"))));
}
