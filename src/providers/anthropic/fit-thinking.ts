/**
 * Asks each generation of Claude for thinking as it takes it: within a budget up to 4.5, adaptively from 4.7 on, either way
 * between. A client may know another generation than the one behind a name, and Claude refuses the whole request for it.
 *
 * A budget becomes adaptive thinking, of which a summary is asked for: the newer leave it out otherwise. Adaptive thinking
 * becomes a budget by its effort. Where that cannot be, by the bound of the output, by the settings beside it, or in a turn that
 * began without thinking, thinking is left out and named. So is an effort that the model does not take; one that only newer ones
 * have becomes `high`.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import { budgetOfEffort } from "../profile/reasoning-object.ts";
import { generationOf, neverThinks, refusesBudget, takesEffort, takesXhigh, thinksByBudget } from "./generation.ts";
import { resumesWithoutThinking, thinkingKeys } from "./unsigned-thinking.ts";

interface FittedThinking {
  readonly changes: Record<string, JsonValue | undefined>;
  /** The public paths of what was left out. */
  readonly dropped: readonly string[];
}

const unchanged: FittedThinking = { changes: {}, dropped: [] };

/** fitThinking returns the changes to a request that its model takes; none for a model whose generation nobody knows. */
export function fitThinking(request: Wire, model: string): FittedThinking {
  const { thinking, output_config: config } = request.outline();
  const type = isObject(thinking) ? thinking.type : undefined;
  const effort = isObject(config) ? (config.effort ?? null) : null;
  const isRefused = type === "enabled" ? refusesBudget(model) : type === "adaptive" && thinksByBudget(model);
  const takes = effort === null ? null : takenEffort(effort, model);
  if (!isRefused && takes === effort) return unchanged;
  const fitted = isRefused ? otherThinking(request.outline(), thinking as JsonObject, model) : unchanged;
  if (takes === effort) return fitted;
  // An outline has fillers in place of long strings, as a schema may have.
  const { effort: _, ...others } = request.json().output_config as JsonObject;
  const kept = takes === null ? others : { ...others, effort: takes };
  const changes = { ...fitted.changes, output_config: Object.keys(kept).length === 0 ? undefined : kept };
  return { changes, dropped: takes === null ? [...fitted.dropped, "output_config.effort"] : fitted.dropped };
}

/** takenEffort returns the effort that the model takes instead; null for one that takes none. */
function takenEffort(effort: JsonValue, model: string): JsonValue {
  if (!takesEffort(model)) return null;
  const isNew = effort === "xhigh" || (effort === "max" && generationOf(model)?.number === 405);
  return isNew && (thinksByBudget(model) || !takesXhigh(model)) ? "high" : effort;
}

function otherThinking(
  json: JsonObject,
  { type, budget_tokens: _, ...rest }: JsonObject,
  model: string,
): FittedThinking {
  if (type === "enabled") {
    const thinking = { display: "summarized", ...rest, type: "adaptive" };
    return { changes: { thinking }, dropped: ["thinking.budget_tokens"] };
  }
  const budget = neverThinks(model) ? undefined : budgetFor(json);
  if (budget !== undefined)
    return { changes: { thinking: { ...rest, type: "enabled", budget_tokens: budget } }, dropped: [] };
  const lost = thinkingKeys(json);
  return { changes: Object.fromEntries(lost.map((key) => [key, undefined])), dropped: lost };
}

const leastBudget = 1024;

/** budgetFor returns the budget of a request that asks for adaptive thinking; undefined where the model may not think within one. */
function budgetFor(json: JsonObject): number | undefined {
  const { output_config: config, max_tokens: bound, messages, tool_choice: choice } = json;
  const { temperature = null, top_p = null, top_k = null } = json;
  const isForced = isObject(choice) && (choice.type === "any" || choice.type === "tool");
  const isSampled = (temperature !== null && temperature !== 1) || top_p !== null || top_k !== null;
  if (isForced || isSampled || (Array.isArray(messages) && resumesWithoutThinking(messages))) return undefined;
  const effort = isObject(config) ? config.effort : undefined;
  // A count of tokens has no bound. High is the effort of adaptive thinking that is given none.
  const wanted = budgetOfEffort(effort) ?? (budgetOfEffort("high") as number);
  if (typeof bound !== "number" || wanted < bound) return wanted;
  const half = Math.max(Math.floor(bound / 2), leastBudget);
  return half < bound ? half : undefined;
}
