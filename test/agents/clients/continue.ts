import { stringify } from "yaml";
import type { Agent } from "../agent.ts";

export const continueCli: Agent = {
  name: "continue",
  title: "Continue",
  package: "@continuedev/cli",
  version: "1.5.47",
  bin: "node_modules/.bin/cn",
  speaks: "chat",
  setup: ({ rootUrl, apiKey, model, mcp }) => ({
    env: {},
    files: {
      ".continue/config.yaml": stringify({
        ...{ name: "Gateway", version: "1.0.0", schema: "v1" },
        models: [
          {
            ...{ name: "Gateway", provider: "openai", model, apiBase: `${rootUrl}/v1`, apiKey },
            ...{ roles: ["chat", "edit", "apply"], capabilities: ["tool_use", "image_input"] },
            // It sums up where a conversation comes near to so many tokens, of which it counts more for Claude: put in what the model has.
            defaultCompletionOptions: { contextLength: model.startsWith("claude") ? 20_000 : 16_000, maxTokens: 2_000 },
          },
        ],
        mcpServers: [{ name: "stamps", ...mcp }],
      }),
    },
  }),
  quiet: { CONTINUE_TELEMETRY_ENABLED: "0", CONTINUE_CLI_DISABLE_AUTO_UPDATE: "1" },
  run: ({ prompt, resume }) => [...["--print", "--auto"], ...(resume ? ["--resume"] : []), prompt],
  notes:
    "The extensions for VS Code and JetBrains read the same file. `provider: anthropic` with `apiBase: ADDRESS/v1` speaks messages.",
  lacks: { image: "its command line takes no image" },
};
