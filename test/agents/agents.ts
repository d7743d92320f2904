/** The agents that are tried, and in which version: the only table of them. */
import type { Agent } from "./agent.ts";
import { aider } from "./clients/aider.ts";
import { claudeCode } from "./clients/claude-code.ts";
import { cline, clineMessages } from "./clients/cline.ts";
import { codex, codexByName } from "./clients/codex.ts";
import { continueCli, continueMessages } from "./clients/continue.ts";
import { copilot, copilotMessages, copilotResponses, copilotSocket } from "./clients/copilot.ts";
import { langchain } from "./clients/langchain.ts";
import { openaiAgents, openaiAgentsChat } from "./clients/openai-agents.ts";
import { openaiAgentsPython } from "./clients/openai-agents-python.ts";
import { opencode, opencodeMessages, opencodeResponses } from "./clients/opencode.ts";
import { pi, piMessages, piResponses } from "./clients/pi.ts";
import { pydanticAi, pydanticAiResponses } from "./clients/pydantic-ai.ts";
import { qwenCode, qwenCodeMessages } from "./clients/qwen-code.ts";

export const agents: readonly Agent[] = [
  ...[claudeCode, codex, codexByName],
  ...[opencode, opencodeMessages, opencodeResponses],
  ...[cline, clineMessages],
  ...[continueCli, continueMessages],
  ...[qwenCode, qwenCodeMessages],
  ...[copilot, copilotResponses, copilotSocket, copilotMessages],
  ...[pi, piResponses, piMessages],
  ...[openaiAgents, openaiAgentsChat],
  aider,
  openaiAgentsPython,
  ...[pydanticAi, pydanticAiResponses],
  langchain,
];
