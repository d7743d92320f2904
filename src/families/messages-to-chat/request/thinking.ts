/**
 * `thinking` and `output_config.effort` → `reasoning_effort`.
 *
 * A model that thinks as much as it sees fit is told nothing: that is what a chat model does by itself, and many
 * that do not reason refuse the very key. Claude Code asks for adaptive thinking of any model that it does not know.
 * What is known not to reason is told of no effort. For the same reason thinking is not switched off but left to the model, and named as left out.
 */
import { ReasoningEffort } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { type CreateMessageRequest, ThinkingType } from "../../../../gen/modelgateway/v1/messages_pb.ts";

const words: Readonly<Record<ReasoningEffort, string | undefined>> = {
  [ReasoningEffort.UNSPECIFIED]: undefined,
  [ReasoningEffort.NONE]: "none",
  [ReasoningEffort.MINIMAL]: "minimal",
  [ReasoningEffort.LOW]: "low",
  [ReasoningEffort.MEDIUM]: "medium",
  [ReasoningEffort.HIGH]: "high",
  [ReasoningEffort.XHIGH]: "xhigh",
  [ReasoningEffort.MAX]: "max",
};

/** Puts the paths of what it leaves out into `unsaid`. `reasons` is unset where nobody said whether the model does. */
export function reasoningEffortOf(
  request: CreateMessageRequest,
  reasons: boolean | undefined,
  omitted: Set<string>,
): string | undefined {
  if (reasons !== false) return effortOf(request, omitted);
  if (request.thinking?.type !== ThinkingType.DISABLED) omitted.add("thinking");
  omitted.add("output_config.effort");
  return undefined;
}

function effortOf(request: CreateMessageRequest, omitted: Set<string>): string | undefined {
  const { thinking, outputConfig } = request;
  const effort = words[outputConfig?.effort ?? ReasoningEffort.UNSPECIFIED];
  // A word of the future.
  if (effort === undefined) omitted.add("output_config.effort");
  switch (thinking?.type) {
    case ThinkingType.DISABLED:
      omitted.add("thinking").add("output_config.effort");
      return undefined;
    case ThinkingType.ENABLED:
      if (effort === undefined)
        return thinking.budgetTokens === undefined ? undefined : ofBudget(thinking.budgetTokens);
      omitted.add("thinking.budget_tokens");
      return effort;
    case ThinkingType.UNSPECIFIED:
    case undefined:
      // None at all, or of a kind that nobody knows.
      omitted.add("thinking");
  }
  return effort;
}

function ofBudget(tokens: number): string {
  if (tokens >= 16_384) return "max";
  if (tokens >= 4096) return "high";
  if (tokens >= 2048) return "medium";
  return tokens >= 1024 ? "low" : "minimal";
}
