/** Paths of the chat request that a Messages request was translated to → paths of that request. */
import { isObject, type JsonObject } from "../../wire/json.ts";
import { originOf, type Renames } from "../paths/origins.ts";
import { byPrefix } from "../paths/prefixes.ts";

/** Settings, and their names in the Messages API. What is not listed was never said by the caller. */
const settings: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_tokens"],
  ["max_completion_tokens", "max_tokens"],
  ["temperature", "temperature"],
  ["top_p", "top_p"],
  ["stop", "stop_sequences"],
  ["tools", "tools"],
  ["tool_choice", "tool_choice"],
  ["parallel_tool_calls", "tool_choice.disable_parallel_tool_use"],
  ["response_format", "output_config.format"],
  ["response_format.json_schema", "output_config.format.schema"],
  ["response_format.json_schema.schema", "output_config.format.schema"],
  ["user", "metadata.user_id"],
  ["metadata", "metadata"],
]);

/** Members of parts, calls, results and tools. */
const members: Renames = [
  [/^\.(?:image_url|file)\b.*/s, ".source"],
  [/^\.function\.arguments\b/, ".input"],
  [/^\.function\.parameters\b/, ".input_schema"],
  [/^\.function(?=\.|$)/, ""],
  [/^\.tool_call_id$/, ".tool_use_id"],
  [/^(?=\.(?:id|text|role|type|cache_control)\b)/, ""],
];

/** callersPath takes the Messages request and the chat request it became. */
export function callersPath(path: string, request: JsonObject, chat: JsonObject): string | undefined {
  if (path === "reasoning_effort") return asksForEffort(request);
  const known = originOf(chat, path, members) ?? (path.startsWith("messages") ? "messages" : byPrefix(path, settings));
  return request.output_format === undefined ? known : known?.replace(/^output_config\.format\b/, "output_format");
}

/** asksForEffort returns the member that the effort of reasoning was taken from. */
function asksForEffort({ output_config: config, thinking }: JsonObject): string {
  if (isObject(thinking) && thinking.type === "disabled") return "thinking";
  const isBudget = isObject(thinking) && (thinking.budget_tokens ?? null) !== null;
  return isBudget && (!isObject(config) || (config.effort ?? null) === null)
    ? "thinking.budget_tokens"
    : "output_config.effort";
}
