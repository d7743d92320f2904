/** Pydantic AI, in a program of ours; it speaks chat and responses. */
import type { Agent } from "../agent.ts";
import { programArgs, setUpSdks } from "./python-program.ts";

export const pydanticAi: Agent = {
  name: "pydantic-ai",
  title: "Pydantic AI",
  package: "pydantic-ai-slim",
  version: "2.68.0",
  python: ["pydantic-ai-slim[openai,anthropic,mcp]==2.68.0"],
  bin: "pydantic_ai_program.py",
  speaks: "chat",
  setup: setUpSdks,
  quiet: {},
  run: programArgs("openai-chat"),
  notes:
    '`Agent("openai-chat:MODEL")` speaks chat, `openai-responses:MODEL` responses, and `anthropic:MODEL`, whose address is without `/v1`, messages. In code the address goes to `OpenAIProvider(base_url=…, api_key=…)` or `AnthropicProvider`. The program is [one with a shell, an MCP server and a history](../test/agents/clients/pydantic_ai_program.py).',
  lacks: { compaction: "it sums nothing up by itself" },
};

export const pydanticAiResponses: Agent = {
  ...pydanticAi,
  name: "pydantic-ai-responses",
  title: "Pydantic AI by responses",
  speaks: "responses",
  run: programArgs("openai-responses"),
};
