/** OpenCode, which speaks each API by another package of the AI SDK. */
import type { Agent, Place } from "../agent.ts";

export const opencode: Agent = {
  name: "opencode",
  title: "OpenCode",
  package: "opencode-ai",
  version: "1.18.33",
  bin: "node_modules/.bin/opencode",
  speaks: "chat",
  setup: (place) => setup(place, "@ai-sdk/openai-compatible"),
  quiet: {
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_SHARE: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  },
  run: ({ prompt, resume, image }) => [
    ...["run", "--auto"],
    ...(resume ? ["--continue"] : []),
    prompt,
    ...(image ? ["--file", image] : []),
  ],
  notes:
    "It takes any number of models; of each it must be told what it takes (`attachment`, `modalities`) and how much (`limit`). `npm` may be `@ai-sdk/anthropic` or `@ai-sdk/openai`, too, with the same address: they speak messages and responses.",
  lacks: {},
};

/** Speaks as the package of the AI SDK does. */
function speaking(speaks: string, npm: string): Agent {
  return {
    ...opencode,
    name: `opencode-${speaks}`,
    title: `OpenCode by ${speaks}`,
    speaks,
    setup: (place) => setup(place, npm),
  };
}

export const opencodeMessages = speaking("messages", "@ai-sdk/anthropic");
export const opencodeResponses = speaking("responses", "@ai-sdk/openai");

function setup({ rootUrl, apiKey, model, mcp }: Place, npm: string) {
  const config = {
    $schema: "https://opencode.ai/config.json",
    model: `gateway/${model}`,
    provider: {
      gateway: {
        npm,
        options: { baseURL: `${rootUrl}/v1`, apiKey: "{env:GATEWAY_API_KEY}" },
        models: {
          [model]: {
            attachment: true,
            modalities: { input: ["text", "image"], output: ["text"] },
            limit: { context: 200_000, output: 8_000 },
          },
        },
      },
    },
    mcp: { stamps: { type: "local", command: [mcp.command, ...mcp.args], environment: mcp.env } },
  };
  return {
    env: { GATEWAY_API_KEY: apiKey },
    files: { ".config/opencode/opencode.json": JSON.stringify(config, null, 2) },
  };
}
