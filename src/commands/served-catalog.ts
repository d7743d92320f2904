/** The models that a gateway with this configuration serves now: commands that check names load it when they have some. */

import { withEmbedded } from "../composition/embedded-models.ts";
import type { Config } from "../config/config.ts";
import { type Catalog, createCatalog } from "../targets/catalog.ts";

/** servedCatalog asks upstreams that list their models. What goes wrong there is logged. */
export async function servedCatalog(config: Config): Promise<Catalog> {
  return createCatalog(withEmbedded(await withDiscovered(config)));
}

/** withDiscovered loads the client that asks only where an upstream is to be asked. */
async function withDiscovered(config: Config): Promise<Config> {
  if (!config.upstreams.some(({ discover }) => discover)) return config;
  const { discoverModels } = await import("../config/discovery/discover.ts");
  const { openLog } = await import("./serving/log-lines.ts");
  return discoverModels(config, openLog("warn"));
}
