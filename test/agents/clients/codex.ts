import type { Agent } from "../agent.ts";

export const codex: Agent = {
  name: "codex",
  title: "Codex",
  package: "@openai/codex",
  version: "0.169.0",
  bin: "node_modules/.bin/codex",
  speaks: "responses",
  setup: ({ rootUrl, apiKey, model, mcp }) => ({
    env: { CODEX_API_KEY: apiKey },
    files: {
      ".codex/config.toml": [
        `openai_base_url = "${rootUrl}/v1"`,
        `model = "${model}"`,
        // Sums up sooner than it would by itself: leave it out.
        "model_auto_compact_token_limit = 150000",
        "",
        "[mcp_servers.stamps]",
        `command = ${JSON.stringify(mcp.command)}`,
        `args = ${JSON.stringify(mcp.args)}`,
        `env = { ${Object.entries(mcp.env).map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join(", ")} }`,
        "",
      ].join("\n"),
    },
  }),
  quiet: {},
  run: ({ prompt, resume, image }) => [
    ...["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
    ...(resume ? ["resume", "--last"] : []),
    ...(image ? ["--image", image] : []),
    ...["--", prompt],
  ],
  lacks: {},
};
