/** Pi, which speaks chat, responses and messages. */
import type { Agent, Place } from "../agent.ts";

export const pi: Agent = {
  name: "pi",
  title: "Pi",
  package: "@earendil-works/pi-coding-agent",
  version: "1.6.0",
  bin: "node_modules/.bin/pi",
  speaks: "chat",
  setup: (place) => setup(place, "openai-completions", `${place.rootUrl}/v1`),
  quiet: { PI_OFFLINE: "1", PI_TELEMETRY: "0" },
  run: ({ prompt, resume, image, model }) => [
    ...(resume ? ["--continue"] : []),
    ...(image ? [`@${image}`] : []),
    ...["--provider", "gateway", "--model", model, "--print", prompt],
  ],
  notes:
    "`api` in `models.json` is `openai-completions`, `openai-responses` or, with the address without `/v1`, `anthropic-messages`. With `exposure: direct` the tools of an MCP server are offered to the model at once, and else once it searches for them or writes code. `settings.json` is for the test, whose sessions are short: without it a session is summed up when little is left of `contextWindow`.",
  fullAt: 125_000,
  lacks: {},
};

export const piResponses: Agent = {
  ...pi,
  name: "pi-responses",
  title: "Pi by responses",
  speaks: "responses",
  setup: (place) => setup(place, "openai-responses", `${place.rootUrl}/v1`),
};

export const piMessages: Agent = {
  ...pi,
  name: "pi-messages",
  title: "Pi by messages",
  speaks: "messages",
  setup: (place) => setup(place, "anthropic-messages", place.rootUrl),
};

function setup({ apiKey, model, mcp }: Place, api: string, baseUrl: string) {
  const known = { id: model, reasoning: true, input: ["text", "image"], contextWindow: 200_000, maxTokens: 16_384 };
  const gateway = { baseUrl, api, apiKey, models: [known] };
  const stamps = { ...mcp, exposure: "direct" };
  // Else it keeps the last 20,000 tokens as they are, and our sessions have fewer.
  const compaction = { reserveTokens: 100_000, keepRecentTokens: 1000 };
  return {
    env: {},
    files: {
      ".pi/agent/models.json": JSON.stringify({ providers: { gateway } }, null, 2),
      ".pi/agent/settings.json": JSON.stringify({ compaction }, null, 2),
      ".pi/agent/mcp.json": JSON.stringify({ mcpServers: { stamps } }, null, 2),
    },
  };
}
