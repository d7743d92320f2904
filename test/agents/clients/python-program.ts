/** How our programs with Python's frameworks are set up and started. Each asks for a model by `PROVIDER:MODEL`. */
import type { Agent, Place, Setup } from "../agent.ts";

/** setUpSdks points both vendors' SDKs at the gateway, and a program at its MCP server. */
export function setUpSdks({ rootUrl, apiKey, mcp }: Place): Setup {
  return {
    env: {
      OPENAI_BASE_URL: `${rootUrl}/v1`,
      OPENAI_API_KEY: apiKey,
      ANTHROPIC_BASE_URL: rootUrl,
      ANTHROPIC_API_KEY: apiKey,
    },
    files: { "mcp.json": JSON.stringify({ mcpServers: { stamps: mcp } }, null, 2) },
  };
}

/** programArgs returns what makes the arguments of a run: the model, the prompt and what goes with it. */
export function programArgs(provider: string): Agent["run"] {
  return ({ prompt, resume, image, model }) => [
    ...[`${provider}:${model}`, prompt],
    ...(resume ? ["--resume"] : []),
    ...(image ? ["--image", image] : []),
  ];
}
