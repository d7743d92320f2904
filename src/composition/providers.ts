/**
 * Upstream kind → provider; the only list of them.
 */
import { type ModelConfig, targetAt, type UpstreamConfig } from "../config/config.ts";
import { embeddedUpstream } from "../config/references.ts";
import { maxOutputTokens } from "../embedded/chat/chat.ts";
import { createEmbeddedProvider } from "../embedded/index.ts";
import { createAnthropicProvider } from "../providers/anthropic/dialect.ts";
import type { Provider } from "../providers/contract.ts";
import { createOpenAiProvider } from "../providers/openai/dialect.ts";
import { createProfile } from "../providers/profile/profile.ts";
import { rotateKeys } from "../providers/upstream/rotation.ts";
import { defaultTimeouts, type Timeouts } from "../providers/upstream/timeouts.ts";
import type { Accelerators } from "./accelerators.ts";

/** Faster is what of the accelerators providers are made with. */
type Faster = Pick<Accelerators, "createClient" | "createTemplateReader">;

type CreateProvider = (config: UpstreamConfig, apiKey: string | undefined, faster: Faster) => Provider;

const kinds: Readonly<Record<UpstreamConfig["kind"], CreateProvider>> = {
  anthropic: (config, apiKey, { createClient }) =>
    createAnthropicProvider({ ...optionsOf(config), createClient, apiKey }),
  openai: (config, apiKey, faster) =>
    createOpenAiProvider({ ...optionsOf(config), ...faster, apiKey, profile: createProfile(config.profile ?? {}) }),
};

function optionsOf({ base_url, credential, headers, query, timeouts }: UpstreamConfig) {
  return { baseUrl: base_url, credential, headers, query, timeouts: timeoutsOf(timeouts) };
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

/** The models that need no upstream, for a fresh machine and for tests. They cost nothing, which is a price. */
export const embeddedModels: readonly ModelConfig[] = [
  embedded({ id: "embedded-chat", kind: "chat", context_window: 128_000, max_output_tokens: maxOutputTokens }),
  embedded({ id: "embedded-embedding", kind: "embedding", context_window: 128_000 }),
  embedded({ id: "tts-1", kind: "speech" }),
  embedded({ id: "tts-1-hd", kind: "speech" }),
];

/** withEmbedded returns the models of a configuration with the embedded ones, where it serves them. */
export function withEmbedded({
  models,
  embeddedModels: isServed,
}: {
  readonly models: readonly ModelConfig[];
  readonly embeddedModels: boolean;
}): readonly ModelConfig[] {
  return isServed ? [...models, ...embeddedModels] : models;
}

function embedded(model: Pick<ModelConfig, "id" | "kind" | "context_window" | "max_output_tokens">): ModelConfig {
  return {
    ...model,
    aliases: [],
    family: "embedded",
    vendor: "embedded",
    price: { input: 0, output: 0, characters: 0 },
    targets: [targetAt(embeddedUpstream, model.id)],
  };
}

/** ProviderParts are what providers are made with. */
export interface ProviderParts extends Faster {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** createProvider makes the provider of an upstream. Each of its keys has connections of its own. */
export function createProvider(upstream: UpstreamConfig, { clock, ...faster }: ProviderParts): Provider {
  const [first = upstream.api_key, ...others] = upstream.api_keys ?? [];
  const byKey = (apiKey: string | undefined) => kinds[upstream.kind](upstream, apiKey, faster);
  return rotateKeys([byKey(first), ...others.map(byKey)], clock);
}

/** embeddedProvider makes the provider of the embedded models. */
export function embeddedProvider({ clock }: Pick<ProviderParts, "clock">): Provider {
  return createEmbeddedProvider({ clock });
}
