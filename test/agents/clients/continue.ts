/** Continue's command line, which speaks chat and messages. */
import { stringify } from "yaml";
import type { Agent, Place } from "../agent.ts";

export const continueCli: Agent = {
  name: "continue",
  title: "Continue",
  package: "@continuedev/cli",
  version: "1.5.47",
  bin: "node_modules/.bin/cn",
  speaks: "chat",
  setup: (place) => setup(place, "openai"),
  quiet: { CONTINUE_TELEMETRY_ENABLED: "0", CONTINUE_CLI_DISABLE_AUTO_UPDATE: "1" },
  run: ({ prompt, resume }) => [...["--print", "--auto"], ...(resume ? ["--resume"] : []), prompt],
  notes:
    "The extensions for VS Code and JetBrains read the same file. With `provider: anthropic` and the same address it speaks messages.",
  lacks: { image: "its command line takes no image" },
};

export const continueMessages: Agent = {
  ...continueCli,
  name: "continue-messages",
  title: "Continue by messages",
  speaks: "messages",
  setup: (place) => setup(place, "anthropic"),
  lacks: {
    ...continueCli.lacks,
    compaction: "its conversation then begins with the model's turn, which Anthropic refuses of whoever sends it",
  },
};

function setup({ rootUrl, apiKey, model, mcp }: Place, provider: string) {
  const config = {
    ...{ name: "Gateway", version: "1.0.0", schema: "v1" },
    models: [
      {
        ...{ name: "Gateway", provider, model, apiBase: `${rootUrl}/v1`, apiKey },
        ...{ roles: ["chat", "edit", "apply"], capabilities: ["tool_use", "image_input"] },
        // It sums up where a conversation comes near to so many tokens, of which it counts more for Claude: put in what the model has.
        defaultCompletionOptions: { contextLength: model.startsWith("claude") ? 20_000 : 16_000, maxTokens: 2_000 },
      },
    ],
    mcpServers: [{ name: "stamps", ...mcp }],
  };
  return { env: {}, files: { ".continue/config.yaml": stringify(config) } };
}
