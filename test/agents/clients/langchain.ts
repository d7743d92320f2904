/** LangChain for Python, in a program of ours; it speaks chat. */
import type { Agent } from "../agent.ts";
import { programArgs, setUpSdks } from "./python-program.ts";

export const langchain: Agent = {
  name: "langchain",
  title: "LangChain for Python",
  package: "langchain",
  version: "1.5.2",
  python: [
    ...["langchain==1.5.2", "langchain-openai==1.7.4", "langchain-anthropic==1.7.10"],
    "langchain-mcp-adapters==0.3.2",
  ],
  bin: "langchain_program.py",
  speaks: "chat",
  setup: setUpSdks,
  quiet: { LANGSMITH_TRACING: "false" },
  run: programArgs("openai"),
  notes:
    '`init_chat_model("openai:MODEL")` and `ChatOpenAI` speak chat, with `use_responses_api=True` responses, and `anthropic:MODEL` or `ChatAnthropic`, whose address is without `/v1`, messages. In code the address is their `base_url`. `OpenAIEmbeddings` counts tokens by a table that it downloads: `check_embedding_ctx_length=False` goes without. The program is [one with a shell, an MCP server, a history and summaries](../test/agents/clients/langchain_program.py).',
  lacks: {},
};
