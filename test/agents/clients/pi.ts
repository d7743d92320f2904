/** Pi, which speaks chat, responses and messages. */
import type { Agent, Place } from "../agent.ts";

export const pi: Agent = {
  name: "pi",
  title: "Pi",
  package: "@mariozechner/pi-coding-agent",
  version: "0.73.1",
  bin: "node_modules/.bin/pi",
  speaks: "chat",
  setup: (place) => setup(place, "openai-completions", `${place.rootUrl}/v1`),
  quiet: { PI_OFFLINE: "1", PI_TELEMETRY: "0" },
  run: ({ prompt, resume, image }) => [
    ...(resume ? ["--continue"] : []),
    ...(image ? [`@${image}`] : []),
    ...["--provider", "gateway", "--print", prompt],
  ],
  notes:
    "`api` in `models.json` is `openai-completions`, `openai-responses` or, with the address without `/v1`, `anthropic-messages`.",
  lacks: { mcp: "it knows no MCP servers" },
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

function setup({ apiKey, model }: Place, api: string, baseUrl: string) {
  const known = { id: model, reasoning: true, input: ["text", "image"], contextWindow: 200_000, maxTokens: 16_384 };
  const gateway = { baseUrl, api, apiKey, models: [known] };
  return { env: {}, files: { ".pi/agent/models.json": JSON.stringify({ providers: { gateway } }, null, 2) } };
}
