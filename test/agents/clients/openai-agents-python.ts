/** The OpenAI Agents SDK for Python, in a program of ours; it speaks responses. */
import type { Agent } from "../agent.ts";

export const openaiAgentsPython: Agent = {
  name: "openai-agents-python",
  title: "OpenAI Agents SDK for Python",
  package: "openai-agents",
  version: "0.24.0",
  python: ["openai-agents==0.24.0"],
  bin: "openai_agents_program.py",
  speaks: "responses",
  setup: ({ rootUrl, apiKey, model, mcp }) => ({
    env: { OPENAI_BASE_URL: `${rootUrl}/v1`, OPENAI_API_KEY: apiKey, OPENAI_DEFAULT_MODEL: model },
    files: { "mcp.json": JSON.stringify({ mcpServers: { stamps: mcp } }, null, 2) },
  }),
  quiet: { OPENAI_AGENTS_DISABLE_TRACING: "1" },
  run: ({ prompt, resume, image }) => [prompt, ...(resume ? ["--resume"] : []), ...(image ? ["--image", image] : [])],
  compact: "/compact",
  notes:
    'Anything that is not told otherwise uses these variables; in code the address goes to `set_default_openai_client(AsyncOpenAI(base_url=…))`. `set_default_openai_api("chat_completions")` makes it speak chat. The SDK sends traces to OpenAI unless they are switched off, as here by `OPENAI_AGENTS_DISABLE_TRACING=1`. The program is [one with a shell, an MCP server and a session](../test/agents/clients/openai_agents_program.py).',
  lacks: {},
};
