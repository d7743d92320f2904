/** Aider, which speaks chat by LiteLLM. */
import type { Agent, Place } from "../agent.ts";

export const aider: Agent = {
  name: "aider",
  title: "Aider",
  package: "aider-chat",
  version: "0.86.2",
  python: ["aider-chat==0.86.2"],
  bin: "bin/aider",
  fileEnd: "\n",
  speaks: "chat",
  setup: (place) => setup(place, "openai", { OPENAI_API_BASE: `${place.rootUrl}/v1`, OPENAI_API_KEY: place.apiKey }),
  quiet: { AIDER_ANALYTICS: "false", AIDER_CHECK_UPDATE: "false", LITELLM_LOCAL_MODEL_COST_MAP: "True" },
  run: ({ prompt, resume, image }) => [
    ...["--no-git", "--yes-always", "--no-pretty", "--edit-format", "whole", "--max-chat-history-tokens", "2000"],
    ...(resume ? ["--restore-chat-history"] : []),
    ...(image ? [image] : []),
    ...["--message", prompt],
  ],
  notes:
    "`.aider.model.metadata.json` tells it of a model that it does not know. With `anthropic/MODEL`, `ANTHROPIC_API_BASE`, which has no `/v1`, and `ANTHROPIC_API_KEY` it speaks messages.",
  lacks: { mcp: "it knows no MCP servers" },
};

function setup({ model }: Place, provider: string, env: Readonly<Record<string, string>>) {
  const name = `${provider}/${model}`;
  const known = {
    ...{ litellm_provider: provider, mode: "chat", supports_vision: true },
    ...{ max_input_tokens: 200_000, max_output_tokens: 8_000, max_tokens: 8_000 },
  };
  return {
    env: { ...env, AIDER_MODEL: name },
    files: { ".aider.model.metadata.json": JSON.stringify({ [name]: known }, null, 2) },
  };
}
