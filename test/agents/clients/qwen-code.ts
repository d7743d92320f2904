import type { Agent } from "../agent.ts";

export const qwenCode: Agent = {
  name: "qwen-code",
  title: "Qwen Code",
  package: "@qwen-code/qwen-code",
  version: "0.24.4",
  bin: "node_modules/.bin/qwen",
  speaks: "chat",
  setup: ({ rootUrl, apiKey, model, mcp }) => ({
    env: { OPENAI_BASE_URL: `${rootUrl}/v1`, OPENAI_API_KEY: apiKey, OPENAI_MODEL: model },
    files: {
      ".qwen/settings.json": JSON.stringify(
        {
          security: { auth: { selectedType: "openai" } },
          // Of a model that it does not know: it sums a session up when that comes near to so many tokens.
          model: { generationConfig: { contextWindowSize: 225_000, modalities: { image: true } } },
          mcpServers: { stamps: { ...mcp, trust: true } },
        },
        null,
        2,
      ),
    },
  }),
  quiet: { QWEN_TELEMETRY_ENABLED: "false", QWEN_DISABLE_AUTO_UPDATE: "1" },
  run: ({ prompt, resume, image }) => [
    ...(resume ? ["--continue"] : []),
    ...["--yolo", "--prompt", image ? `@${image} ${prompt}` : prompt],
  ],
  notes:
    "`generationConfig` is for models that it does not know. `--auth-type anthropic` with `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY` speaks messages.",
  lacks: {},
};
