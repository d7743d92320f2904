/**
 * Finds by what a request asks a model to reason, or not to, for models that turn out to do only the one: some servers refuse a request for
 * thinking where the model has none, and one without where it always thinks. Clients ask for either of every model.
 */
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";

/** Wanted is what a request asks for: reasoning, or none. */
export type Wanted = "reasoning" | "none";

/** switches are the paths of all that asks for reasoning or for none, in requests for chats, responses and messages. */
const switches: readonly (readonly [key: string, within?: string])[] = [
  ...(["reasoning_effort", "reasoning", "thinking", "enable_thinking", "thinking_budget", "think"] as const).map(
    (key) => [key] as const,
  ),
  ["chat_template_kwargs", "enable_thinking"],
  ["chat_template_kwargs", "thinking"],
  ["output_config", "effort"],
];

/** switchesFor returns the paths in a request, which may be an outline, of what asks for reasoning, or for none. */
export function switchesFor(request: JsonObject, wanted: Wanted): (readonly string[])[] {
  return switches.flatMap(([key, within]) => {
    const { [key]: told = null } = request;
    const value = within === undefined ? told : ((isObject(told) ? told[within] : undefined) ?? null);
    if (value === null || isOff(value) !== (wanted === "none")) return [];
    return [within === undefined ? [key] : [key, within]];
  });
}

/** isOff reports a switch that is off, an effort or a budget of nothing, or an object that has one of these. */
function isOff(value: JsonValue): boolean {
  if (!isObject(value)) return value === false || value === "none" || value === 0;
  const { type, enabled, effort, max_tokens: budget } = value;
  return type === "disabled" || enabled === false || effort === "none" || budget === 0;
}
