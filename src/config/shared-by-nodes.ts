/** Tells whether nodes of one database have the same configuration, as far as it decides what calls cost and may do. */
import { createHash } from "node:crypto";
import type { Config } from "./shape.ts";

/**
 * Returns a name of what all nodes should have alike: models, prices, upstreams, tiers. Two configurations with other secrets, ports or
 * folders have the same.
 */
export function nameOfShared(config: Config): string {
  const { unit, unpriced, tiers, models, embeddedModels, defaultModels, disconnectDrainMs, retries, hedging } = config;
  const upstreams = config.upstreams.map(({ api_key: _, ...upstream }) => upstream);
  const shared = { unit, unpriced, tiers, models, embeddedModels, defaultModels, disconnectDrainMs, retries, hedging };
  return createHash("sha256")
    .update(JSON.stringify({ ...shared, upstreams }))
    .digest("hex")
    .slice(0, 16);
}
