/** Codex, which speaks responses, over a WebSocket where it can. */
import type { Agent, Place } from "../agent.ts";

export const codex: Agent = {
  name: "codex",
  title: "Codex",
  package: "@openai/codex",
  version: "0.171.0",
  bin: "node_modules/.bin/codex",
  speaks: "responses",
  setup: (place) => ({ env: { CODEX_API_KEY: place.apiKey }, files: { ".codex/config.toml": configuration(place) } }),
  quiet: {},
  run: ({ prompt, resume, image }) => [
    ...["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
    ...(resume ? ["resume", "--last"] : []),
    ...(image ? ["--image", image] : []),
    ...["--", prompt],
  ],
  startsWithinMs: 1000,
  notes:
    "`CODEX_API_KEY` is for `codex exec`; the window takes the key by `printenv GATEWAY_API_KEY | codex login --with-api-key`. `model_auto_compact_token_limit` is when it sums a session up, and `model_context_window` says how much a model takes that it does not know. It offers web search with each request: where a model has no price for that (`web_search`), the gateway leaves it out and names it. Nothing of `[model_providers]` is needed.",
  lacks: {},
};

/** Of a model that it knows it asks for all that its makers' own server takes: tools in the conversation, in namespaces, and of free text. */
export const codexByName: Agent = {
  ...codex,
  name: "codex-by-name",
  title: "Codex, with a model by a name that it knows",
  model: "gpt-6-sol",
};

function configuration({ rootUrl, model, mcp }: Place): string {
  const variables = Object.entries(mcp.env).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `openai_base_url = "${rootUrl}/v1"
model = "${model}"
model_auto_compact_token_limit = 150000

[mcp_servers.stamps]
command = ${JSON.stringify(mcp.command)}
args = ${JSON.stringify(mcp.args)}
env = { ${variables.join(", ")} }
`;
}
