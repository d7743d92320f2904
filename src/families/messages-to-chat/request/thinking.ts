/**
 * `thinking` and `output_config.effort` → `reasoning_effort`.
 *
 * Adaptive thinking sets no effort: it is a chat model's own default, many models without reasoning refuse the key,
 * and Claude Code asks for it of any unknown model. A model known not to reason gets no effort. Disabled thinking is
 * the effort `none` for a model known to reason; it is left to any other, and named as dropped.
 */
import { ReasoningEffort, ReasoningEffortSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { type CreateMessageRequest, ThinkingType } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { effortOfBudget } from "../../../providers/profile/reasoning-object.ts";
import { enumWords } from "../../../wire/plan.ts";

const { words } = enumWords(ReasoningEffortSchema);

/** reasoningEffortOf adds the paths of what it drops to `omitted`. `reasons` is undefined where nobody stated whether the model reasons. */
export function reasoningEffortOf(
  request: CreateMessageRequest,
  reasons: boolean | undefined,
  omitted: Set<string>,
): string | undefined {
  if (reasons !== false) return effortOf(request, reasons === true, omitted);
  if (request.thinking?.type !== ThinkingType.DISABLED) omitted.add("thinking");
  omitted.add("output_config.effort");
  return undefined;
}

function effortOf(request: CreateMessageRequest, reasons: boolean, omitted: Set<string>): string | undefined {
  const { thinking, outputConfig } = request;
  const effort = words.get(outputConfig?.effort ?? ReasoningEffort.UNSPECIFIED);
  // An unknown effort.
  if (effort === undefined) omitted.add("output_config.effort");
  switch (thinking?.type) {
    case ThinkingType.DISABLED:
      omitted.add(reasons ? "thinking.budget_tokens" : "thinking").add("output_config.effort");
      return reasons ? "none" : undefined;
    case ThinkingType.ENABLED:
      if (effort === undefined)
        return thinking.budgetTokens === undefined ? undefined : effortOfBudget(thinking.budgetTokens);
      omitted.add("thinking.budget_tokens");
      return effort;
    case ThinkingType.UNSPECIFIED:
    case undefined:
      // Missing, or of an unknown kind.
      omitted.add("thinking");
  }
  return effort;
}
