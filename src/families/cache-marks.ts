/**
 * Marks of where the part of a prompt ends that is to be cached: Anthropic's `cache_control` at blocks, and OpenAI's
 * `prompt_cache_breakpoint` at parts of content. Callers of either send either. Lifetimes are not taken over, for they have other prices.
 *
 * Sources: https://docs.claude.com/en/docs/build-with-claude/prompt-caching, https://developers.openai.com/api/docs/guides/prompt-caching
 */
import { isObject, type JsonObject } from "../wire/json.ts";
import type { Dropped } from "./dropped.ts";

/** partMarks are the marks that a part of content may have. */
export const partMarks: readonly string[] = ["cache_control", "prompt_cache_breakpoint"];

/** withBreakpoints returns a chat message whose marks of Claude's, also that of the whole message, are OpenAI's at its parts. */
export function withBreakpoints({ cache_control: whole, ...message }: JsonObject): JsonObject {
  const { content } = message;
  const parts = typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(parts)) return message;
  const marked = parts.map((part, i) => {
    if (!isObject(part)) return part;
    const { cache_control: mark = i === parts.length - 1 ? whole : undefined, ...rest } = part as JsonObject;
    return isObject(mark) ? { prompt_cache_breakpoint: { mode: "explicit" }, ...rest } : rest;
  });
  const isPlain = typeof content === "string" && !isObject(whole);
  return isPlain ? message : { ...message, content: marked };
}

/** places holds the path of each mark in the caller's request. A mark that is removed later is named by it. */
const places = new WeakMap<JsonObject, string>();

/** placedMark returns `{cache_control}` with a mark that stood at `path` in the caller's request. */
export function placedMark(mark: JsonObject, path: string): JsonObject {
  places.set(mark, path);
  return { cache_control: mark };
}

/** Claude refuses a request with more. */
const maxMarks = 4;

/**
 * keepLatestMarks takes the first marks away from lists of blocks, in the order of the prompt, where there are too many: OpenAI, too,
 * goes by the latest. `others` is how many the request has besides. Returns the same lists where there are not.
 */
export function keepLatestMarks(
  lists: readonly (readonly JsonObject[])[],
  others: number,
  dropped: Dropped,
): (readonly JsonObject[])[] {
  let many = others - maxMarks;
  for (const list of lists) for (const block of list) if (isObject(block.cache_control)) many += 1;
  if (many <= 0) return [...lists];
  return lists.map((list) =>
    list.map((block) => {
      const { cache_control: mark, ...unmarked } = block;
      if (many <= 0 || !isObject(mark)) return block;
      many -= 1;
      dropped.add(places.get(mark) ?? "cache_control");
      return unmarked;
    }),
  );
}
