import type { Agent } from "../agent.ts";

export const opencode: Agent = {
  name: "opencode",
  title: "OpenCode",
  package: "opencode-ai",
  version: "1.18.33",
  bin: "node_modules/.bin/opencode",
  speaks: "chat",
  setup: ({ rootUrl, apiKey, model, mcp }) => ({
    env: { GATEWAY_API_KEY: apiKey },
    files: {
      ".config/opencode/opencode.json": JSON.stringify(
        {
          $schema: "https://opencode.ai/config.json",
          model: `gateway/${model}`,
          provider: {
            gateway: {
              npm: "@ai-sdk/openai-compatible",
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
        },
        null,
        2,
      ),
    },
  }),
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
    "It takes any number of models; of each it must be told what it takes (`attachment`, `modalities`) and how much (`limit`). `@ai-sdk/anthropic` and `@ai-sdk/openai` in the place of `npm` work too: they speak messages and responses.",
  lacks: {},
};
