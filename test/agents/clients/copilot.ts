/** GitHub's Copilot CLI with a model provider of its user's: it speaks chat, responses, over HTTP and over a WebSocket, and messages. */
import type { Agent, Place } from "../agent.ts";

const wire = { COPILOT_PROVIDER_WIRE_API: "responses" };

export const copilot: Agent = {
  name: "copilot",
  title: "Copilot CLI",
  package: "@github/copilot",
  version: "1.0.102",
  bin: "node_modules/.bin/copilot",
  speaks: "chat",
  setup: (place) => setup(place, `${place.rootUrl}/v1`, {}),
  quiet: { COPILOT_OFFLINE: "true", COPILOT_AUTO_UPDATE: "false" },
  run: ({ prompt, resume, image }) => [
    ...(resume ? ["--continue"] : []),
    ...(image ? ["--attachment", image] : []),
    ...["--allow-all", "--silent", "--prompt", prompt],
  ],
  notes:
    "`COPILOT_PROVIDER_WIRE_API=responses` makes it speak responses, and `COPILOT_PROVIDER_TRANSPORT=websockets` beside it keeps one WebSocket open. With `COPILOT_PROVIDER_TYPE=anthropic`, and the address without `/v1`, it speaks messages. `COPILOT_OFFLINE=true` keeps it from signing in to GitHub.",
  lacks: { compaction: "its `/compact` is for its window alone" },
};

export const copilotResponses: Agent = {
  ...copilot,
  name: "copilot-responses",
  title: "Copilot CLI by responses",
  speaks: "responses",
  setup: (place) => setup(place, `${place.rootUrl}/v1`, wire),
};

export const copilotSocket: Agent = {
  ...copilot,
  name: "copilot-socket",
  title: "Copilot CLI by responses over a WebSocket",
  speaks: "responses",
  setup: (place) => setup(place, `${place.rootUrl}/v1`, { ...wire, COPILOT_PROVIDER_TRANSPORT: "websockets" }),
};

export const copilotMessages: Agent = {
  ...copilot,
  name: "copilot-messages",
  title: "Copilot CLI by messages",
  speaks: "messages",
  setup: (place) => setup(place, place.rootUrl, { COPILOT_PROVIDER_TYPE: "anthropic" }),
};

function setup({ apiKey, model, mcp }: Place, baseUrl: string, more: Readonly<Record<string, string>>) {
  const stamps = { type: "local", tools: ["*"], ...mcp };
  return {
    env: {
      COPILOT_PROVIDER_BASE_URL: baseUrl,
      COPILOT_PROVIDER_API_KEY: apiKey,
      COPILOT_MODEL: model,
      ...more,
    },
    files: { ".copilot/mcp-config.json": JSON.stringify({ mcpServers: { stamps } }, null, 2) },
  };
}
