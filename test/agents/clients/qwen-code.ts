/** Qwen Code, which speaks chat and messages. */
import type { Agent, Place } from "../agent.ts";

export const qwenCode: Agent = {
  name: "qwen-code",
  title: "Qwen Code",
  package: "@qwen-code/qwen-code",
  version: "0.24.4",
  bin: "node_modules/.bin/qwen",
  speaks: "chat",
  setup: (place) => ({
    env: { OPENAI_BASE_URL: `${place.rootUrl}/v1`, OPENAI_API_KEY: place.apiKey, OPENAI_MODEL: place.model },
    files: settings(place, "openai"),
  }),
  quiet: { QWEN_TELEMETRY_ENABLED: "false", QWEN_DISABLE_AUTO_UPDATE: "1" },
  run: ({ prompt, resume, image }) => [
    ...(resume ? ["--continue"] : []),
    ...["--yolo", "--prompt", image ? `@${image} ${prompt}` : prompt],
  ],
  notes:
    "`generationConfig` is for models that it does not know. With `selectedType` `anthropic`, and `ANTHROPIC_BASE_URL` (without `/v1`), `ANTHROPIC_API_KEY` and `ANTHROPIC_MODEL`, it speaks messages.",
  lacks: {},
};

export const qwenCodeMessages: Agent = {
  ...qwenCode,
  name: "qwen-code-messages",
  title: "Qwen Code by messages",
  speaks: "messages",
  setup: (place) => ({
    env: { ANTHROPIC_BASE_URL: place.rootUrl, ANTHROPIC_API_KEY: place.apiKey, ANTHROPIC_MODEL: place.model },
    files: settings(place, "anthropic"),
  }),
};

function settings({ mcp }: Place, selectedType: string): Readonly<Record<string, string>> {
  const text = {
    security: { auth: { selectedType } },
    // Of a model that it does not know: it sums a session up when that comes near to so many tokens.
    model: { generationConfig: { contextWindowSize: 225_000, modalities: { image: true } } },
    mcpServers: { stamps: { ...mcp, trust: true } },
  };
  return { ".qwen/settings.json": JSON.stringify(text, null, 2) };
}
