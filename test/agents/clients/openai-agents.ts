/** The OpenAI Agents SDK, in a program of ours; it speaks responses and chat. */
import type { Agent } from "../agent.ts";

export const openaiAgents: Agent = {
  name: "openai-agents",
  title: "OpenAI Agents SDK",
  package: "@openai/agents",
  version: "0.20.0",
  bin: "openai-agents-program.mjs",
  speaks: "responses",
  setup: ({ rootUrl, apiKey, model, mcp }) => ({
    env: {
      OPENAI_BASE_URL: `${rootUrl}/v1`,
      OPENAI_API_KEY: apiKey,
      OPENAI_DEFAULT_MODEL: model,
    },
    files: { "mcp.json": JSON.stringify(mcp, null, 2) },
  }),
  quiet: { OPENAI_AGENTS_DISABLE_TRACING: "1" },
  run: ({ prompt, resume, image }) => [prompt, ...(resume ? ["--resume"] : []), ...(image ? ["--image", image] : [])],
  compact: "/compact",
  notes:
    'Anything that is not told otherwise uses these variables. `setOpenAIAPI("chat_completions")` makes it speak chat. The SDK sends traces to OpenAI unless they are switched off, as here by `OPENAI_AGENTS_DISABLE_TRACING=1`. The program is [one with a shell, an MCP server and a session](../test/agents/clients/openai-agents-program.mjs).',
  lacks: {},
};

export const openaiAgentsChat: Agent = {
  ...openaiAgents,
  name: "openai-agents-chat",
  title: "OpenAI Agents SDK by chat",
  speaks: "chat",
  run: (errand) => [...openaiAgents.run(errand), "--chat"],
  lacks: { compaction: "the SDK sums up what it keeps of responses only" },
};
