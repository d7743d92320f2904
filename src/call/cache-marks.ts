/**
 * Marks of where the part of a prompt ends that is to be cached: Anthropic's `cache_control`, at messages, blocks and tools, and OpenAI's
 * `prompt_cache_breakpoint`, at parts of content. Callers of either send either.
 *
 * Sources: https://docs.claude.com/en/docs/build-with-claude/prompt-caching, https://developers.openai.com/api/docs/guides/prompt-caching
 */
import { isObject, type JsonObject, type JsonValue } from "../wire/json.ts";

/** markKeys are the keys of both kinds of marks. */
export const markKeys = ["cache_control", "prompt_cache_breakpoint"] as const;

/** plainMarks are what a mark of the other kind becomes. Lifetimes are not taken over: they have other prices. */
export const plainMarks = {
  cache_control: { type: "ephemeral" },
  prompt_cache_breakpoint: { mode: "explicit" },
} as const;

/** withMark puts the mark of a message, where it has one, at the last part of its content. `mark` has the key and the mark. */
export function withMark(content: JsonValue, mark: JsonObject): JsonValue {
  if (Object.keys(mark).length === 0) return content;
  if (typeof content === "string") return content === "" ? content : [{ type: "text", text: content, ...mark }];
  const last = Array.isArray(content) ? content.at(-1) : undefined;
  return Array.isArray(content) && isObject(last) ? content.with(-1, { ...mark, ...last }) : content;
}
