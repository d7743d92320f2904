/** The embedded models as the catalogue has them. This file loads none of what answers for them. */
import { type ModelConfig, targetAt } from "../config/config.ts";
import { embeddedUpstream } from "../config/references.ts";
import { maxOutputTokens } from "../embedded/chat/bounds.ts";

/** embeddedModels are the models that need no upstream, for a fresh machine and for tests. They cost nothing, which is a price. */
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
