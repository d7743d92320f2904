/**
 * Upstream kind → provider; the only list of them.
 */
import type { UpstreamConfig } from "../../config/config.ts";
import { createAnthropicProvider } from "../../providers/anthropic/dialect.ts";
import type { Provider } from "../../providers/contract.ts";
import { createOpenAiProvider } from "../../providers/openai/dialect.ts";
import { createProfile } from "../../providers/profile/profile.ts";
import { rotateKeys } from "../../providers/upstream/rotation.ts";
import { defaultTimeouts, type Timeouts } from "../../providers/upstream/timeouts.ts";
import type { UpstreamAccelerators } from "../upstream-accelerators.ts";

type CreateProvider = (config: UpstreamConfig, apiKey: string | undefined, faster: UpstreamAccelerators) => Provider;

const kinds: Readonly<Record<UpstreamConfig["kind"], CreateProvider>> = {
  anthropic: (config, apiKey, { createClient }) =>
    createAnthropicProvider({ ...optionsOf(config), createClient, apiKey }),
  openai: (config, apiKey, faster) =>
    createOpenAiProvider({ ...optionsOf(config), ...faster, apiKey, profile: createProfile(config.profile ?? {}) }),
};

function optionsOf({ base_url, api_keys, credential, headers, query, timeouts }: UpstreamConfig) {
  return { baseUrl: base_url, apiKeys: api_keys, credential, headers, query, timeouts: timeoutsOf(timeouts) };
}

function timeoutsOf(written: UpstreamConfig["timeouts"] = {}): Timeouts {
  const ms = (seconds: number | undefined, part: keyof Timeouts) =>
    seconds === undefined ? defaultTimeouts[part] : seconds * 1000;
  return {
    connectMs: ms(written.connect_seconds, "connectMs"),
    firstByteMs: ms(written.first_byte_seconds, "firstByteMs"),
    idleMs: ms(written.idle_seconds, "idleMs"),
    totalMs: ms(written.total_seconds, "totalMs"),
  };
}

/** ProviderParts are what providers are made with. */
export interface ProviderParts extends UpstreamAccelerators {
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** createProvider makes the provider of an upstream. Each of its keys has connections of its own. */
export function createProvider(upstream: UpstreamConfig, { clock, ...faster }: ProviderParts): Provider {
  const [first = upstream.api_key, ...others] = upstream.api_keys ?? [];
  const byKey = (apiKey: string | undefined) => kinds[upstream.kind](upstream, apiKey, faster);
  return rotateKeys([byKey(first), ...others.map(byKey)], clock);
}
