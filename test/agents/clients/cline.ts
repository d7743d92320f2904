import type { Agent } from "../agent.ts";

export const cline: Agent = {
  name: "cline",
  title: "Cline",
  package: "cline",
  version: "3.0.65",
  bin: "node_modules/.bin/cline",
  speaks: "chat",
  setup: ({ rootUrl, apiKey, model, mcp }) => ({
    env: {},
    files: {
      // `cline auth --provider openai --apikey … --baseurl … --modelid …` writes it.
      ".cline/data/settings/providers.json": JSON.stringify(
        {
          version: 1,
          lastUsedProvider: "openai-compatible",
          providers: {
            "openai-compatible": {
              settings: { provider: "openai-compatible", apiKey, model, baseUrl: `${rootUrl}/v1` },
              updatedAt: "2026-11-25T00:00:00.000Z",
              tokenSource: "manual",
            },
          },
        },
        null,
        2,
      ),
      ".cline/data/settings/global-settings.json": JSON.stringify({ telemetryOptOut: true, autoUpdateEnabled: false }),
      ".cline/data/settings/cline_mcp_settings.json": JSON.stringify({ mcpServers: { stamps: mcp } }, null, 2),
    },
  }),
  // Without a process of its own in the background, which would outlive the run.
  quiet: { CLINE_NO_AUTO_UPDATE: "1", CLINE_SESSION_BACKEND_MODE: "local" },
  run: ({ prompt }) => ["--json", prompt],
  notes:
    '`cline auth --provider openai --apikey KEY --baseurl ADDRESS/v1 --modelid MODEL` writes `providers.json`. In VS Code: settings, API Provider "OpenAI Compatible", then base URL with `/v1`, API key and model ID; or "Anthropic" with "Use custom base URL", without `/v1`.',
  lacks: {
    resume: "`--id` opens its window, and takes no prompt",
    compaction: "its sessions go on in its window only",
  },
};
