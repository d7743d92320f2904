/** The agents that are tried, and in which version: the only table of them. */
import type { Agent } from "./agent.ts";
import { claudeCode } from "./clients/claude-code.ts";
import { cline } from "./clients/cline.ts";
import { codex, codexByName } from "./clients/codex.ts";
import { continueCli } from "./clients/continue.ts";
import { openaiAgents } from "./clients/openai-agents.ts";
import { opencode } from "./clients/opencode.ts";
import { qwenCode } from "./clients/qwen-code.ts";

export const agents: readonly Agent[] = [
  claudeCode,
  codex,
  codexByName,
  opencode,
  cline,
  continueCli,
  qwenCode,
  openaiAgents,
];
