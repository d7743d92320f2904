/** Cline's command line, which speaks chat and messages. */
import type { Agent, Place } from "../agent.ts";

export const cline: Agent = {
  name: "cline",
  title: "Cline",
  package: "cline",
  version: "3.0.65",
  bin: "node_modules/.bin/cline",
  speaks: "chat",
  setup: (place) => setup(place, "openai-compatible", `${place.rootUrl}/v1`),
  // Without a process of its own in the background, which would outlive the run.
  quiet: { CLINE_NO_AUTO_UPDATE: "1", CLINE_SESSION_BACKEND_MODE: "local" },
  run: ({ prompt }) => ["--json", prompt],
  notes:
    '`cline auth --provider openai --apikey KEY --baseurl ADDRESS/v1 --modelid MODEL` writes `providers.json`. With `anthropic` for the provider and the address without `/v1` it speaks messages. In VS Code: settings, API Provider "OpenAI Compatible", then base URL with `/v1`, API key and model ID; or "Anthropic" with "Use custom base URL", without `/v1`.',
  lacks: {
    resume: "`--id` opens its window, and takes no prompt",
    compaction: "its sessions go on in its window only",
  },
};

export const clineMessages: Agent = {
  ...cline,
  name: "cline-messages",
  title: "Cline by messages",
  speaks: "messages",
  setup: (place) => setup(place, "anthropic", place.rootUrl),
};

function setup({ apiKey, model, mcp }: Place, provider: string, baseUrl: string) {
  const settings = { provider, apiKey, model, baseUrl };
  const providers = { [provider]: { settings, updatedAt: "2026-11-25T00:00:00.000Z", tokenSource: "manual" } };
  const folder = ".cline/data/settings";
  const files = {
    [`${folder}/providers.json`]: { version: 1, lastUsedProvider: provider, providers },
    [`${folder}/global-settings.json`]: { telemetryOptOut: true, autoUpdateEnabled: false },
    [`${folder}/cline_mcp_settings.json`]: { mcpServers: { stamps: mcp } },
  };
  const texts = Object.entries(files).map(([path, value]) => [path, JSON.stringify(value, null, 2)]);
  return { env: {}, files: Object.fromEntries(texts) as Readonly<Record<string, string>> };
}
