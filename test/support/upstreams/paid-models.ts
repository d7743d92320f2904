/**
 * Models with a price, one of each kind and family, at upstreams whose every byte the test decides.
 *
 * The price of a token of each part is another prime, in whole millionths of the unit: a sum tells what it is made of.
 */

import { defaultTiers } from "../../../src/call/tiers.ts";
import type { Config, ModelConfig } from "../../../src/config/config.ts";

/** cost is what one token (or character) costs, in millionths of the unit. */
export const cost = { input: 3, cacheRead: 1, cacheWrite: 5, cacheWriteHour: 7, output: 11, characters: 13 } as const;

const perMillion = 1_000_000;

export const price: NonNullable<ModelConfig["price"]> = {
  input: cost.input * perMillion,
  cache_read: cost.cacheRead * perMillion,
  cache_write: cost.cacheWrite * perMillion,
  cache_write_hour: cost.cacheWriteHour * perMillion,
  output: cost.output * perMillion,
  characters: cost.characters * perMillion,
};

export function paidModel(id: string, upstream: string, more: Partial<ModelConfig> = {}): ModelConfig {
  const targets = [{ upstream, model: `v-${id}`, priority: 0, weight: 1 }];
  return { id, aliases: [], family: upstream, vendor: upstream, kind: "chat", price, targets, ...more };
}

const free = { input: 0, output: 0 };

/** The models, all served from this address: upstream `open` speaks as OpenAI, `anthropic` as Anthropic. */
export function paidModels(base_url: string): Pick<Config, "tiers" | "embeddedModels" | "upstreams" | "models"> {
  return {
    tiers: defaultTiers,
    embeddedModels: false,
    upstreams: [
      { name: "openai", kind: "openai", base_url, api_key: "k", profile: { output_bound: "max_completion_tokens" } },
      { name: "anthropic", kind: "anthropic", base_url, api_key: "k" },
    ],
    models: [
      paidModel("gpt", "openai", { aliases: ["gpt-alias"] }),
      paidModel("claude", "anthropic", { aliases: ["claude-alias"], max_output_tokens: 4096 }),
      paidModel("davinci", "openai", { completions: "native" }),
      paidModel("gpt-free", "openai", { price: free, family: "gratis" }),
      paidModel("gpt-unpriced", "openai", { price: undefined }),
      paidModel("embed", "openai", { kind: "embedding" }),
      paidModel("voice", "openai", { kind: "speech" }),
    ],
  };
}
