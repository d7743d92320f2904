/** Claude Code, which speaks messages. */
import type { Agent } from "../agent.ts";

export const claudeCode: Agent = {
  name: "claude-code",
  title: "Claude Code",
  package: "@anthropic-ai/claude-code",
  version: "2.1.332",
  bin: "node_modules/.bin/claude",
  speaks: "messages",
  setup: ({ rootUrl, apiKey, model, mcp }) => ({
    env: {
      ANTHROPIC_BASE_URL: rootUrl,
      ANTHROPIC_AUTH_TOKEN: apiKey,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_ADVISOR_TOOL: "1",
    },
    files: { ".claude.json": JSON.stringify({ mcpServers: { stamps: mcp } }, null, 2) },
  }),
  quiet: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1" },
  run: ({ prompt, resume }) => [
    ...["--print", prompt],
    ...(resume ? ["--continue"] : []),
    ...["--allowedTools", "Bash,Read,mcp__stamps__stamp"],
  ],
  compact: "/compact",
  notes:
    "It takes the address without `/v1`. MCP servers may also be added by `claude mcp add --scope user`. For a model that it does not know, `CLAUDE_CODE_MAX_OUTPUT_TOKENS` says how much it may write. Its advisor has the vendor call another model, which the gateway could neither permit nor price: with one (`/advisor`, `advisorModel`) each call is refused with 403 `MODEL_UNPRICED` where the model has a price, unless `CLAUDE_CODE_DISABLE_ADVISOR_TOOL` leaves it out.",
  lacks: {},
};
