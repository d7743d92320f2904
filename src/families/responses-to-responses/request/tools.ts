/**
 * Removes the tools of a response that the model has no price for: vendors' own, charged by the call. They are
 * dropped and named, since agents offer some with every request.
 */
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { Changes } from "../../../wire/splice.ts";
import type { Dropped } from "../../paths/dropped.ts";
import type { IsUnpriced } from "../../translation.ts";

/** changedTools returns the changes to the request. */
export function changedTools(json: JsonObject, isUnpriced: IsUnpriced, dropped: Dropped): Changes {
  const { tools, tool_choice: choice } = json;
  const offered = pricedTools(tools, "tools", isUnpriced, dropped);
  const chosen = chosenOf(choice, isUnpriced);
  if (chosen !== choice) dropped.add("tool_choice");
  const changes = chosen === choice ? {} : { tool_choice: chosen };
  if (offered === tools) return changes;
  // Servers refuse a choice without tools.
  return Array.isArray(offered) && offered.length > 0
    ? { ...changes, tools: offered }
    : { tools: undefined, tool_choice: undefined };
}

/** pricedTools returns the same list where all tools stay. */
export function pricedTools<T extends JsonValue | undefined>(
  tools: T,
  path: string,
  isUnpriced: IsUnpriced,
  dropped: Dropped,
): T | JsonValue[] {
  if (!Array.isArray(tools) || !tools.some((tool) => isObject(tool) && isUnpriced(tool))) return tools;
  return tools.filter((tool, i) => {
    const stays = !isObject(tool) || !isUnpriced(tool);
    if (!stays) dropped.add(`${path}[${i}]`);
    return stays;
  });
}

function chosenOf(choice: JsonValue | undefined, isUnpriced: IsUnpriced): JsonValue | undefined {
  if (!isObject(choice)) return choice;
  if (isUnpriced(choice)) return undefined;
  const { tools } = choice;
  if (!Array.isArray(tools)) return choice;
  const left = tools.filter((tool) => !isObject(tool) || !isUnpriced(tool));
  if (left.length === tools.length) return choice;
  return left.length > 0 ? { ...choice, tools: left } : undefined;
}
