/** Paths of the chat request that a request for a response was translated to → paths of that request. */
import type { JsonObject } from "../../wire/json.ts";
import { originOf, type Renames } from "../paths/origins.ts";
import { byPrefix } from "../paths/prefixes.ts";

/** Settings that have another name in responses. */
const settings: ReadonlyMap<string, string> = new Map([
  ["reasoning_effort", "reasoning.effort"],
  ["verbosity", "text.verbosity"],
  ["response_format", "text.format"],
  ["response_format.json_schema", "text.format.schema"],
  ["response_format.json_schema.name", "text.format.name"],
  ["response_format.json_schema.strict", "text.format.strict"],
  ["response_format.json_schema.schema", "text.format.schema"],
  ["max_completion_tokens", "max_output_tokens"],
  ["tool_choice.allowed_tools", "tool_choice"],
  ["messages", "input"],
]);

/** Members of parts, calls, results and tools. */
const members: Renames = [
  [/^\.image_url\.detail$/, ".detail"],
  [/^\.image_url\b.*/s, ".image_url"],
  [/^\.(?:file|function|custom)(?=\.|$)/, ""],
  [/^\.(?:tool_call_id|id)$/, ".call_id"],
  [/^(?=\.(?:input_audio|text|refusal|role|type|cache_control|prompt_cache_breakpoint)\b)/, ""],
];

const logprobs = "message.output_text.logprobs";

/** callersPath takes the request for a response and the chat request it became. */
export function callersPath(path: string, request: JsonObject, chat: JsonObject): string | undefined {
  if (path === "logprobs") return asksForLogprobs(request);
  // The translation adds messages that the caller did not write, as a result for a call that has none. They count as the input.
  return originOf(chat, path, members) ?? (path.startsWith("messages") ? "input" : (byPrefix(path, settings) ?? path));
}

/** asksForLogprobs returns the member by which a request asks for log probabilities. */
function asksForLogprobs({ include }: JsonObject): string {
  const at = Array.isArray(include) ? include.indexOf(logprobs) : -1;
  return at === -1 ? "top_logprobs" : `include[${at}]`;
}
