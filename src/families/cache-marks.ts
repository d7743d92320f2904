/**
 * Translates marks of a cached prompt from one API's to the other's, and keeps the latest where there are too many.
 */
import { plainMarks, withMark } from "../call/cache-marks.ts";
import { type CooperativeTask, endsSlice } from "../runtime/cooperative.ts";
import { isObject, type JsonObject } from "../wire/json.ts";
import type { Dropped } from "./paths/dropped.ts";
import { madeFrom, pathOf } from "./paths/origins.ts";

/** withBreakpoints returns a chat message whose marks of Claude's, also that of the whole message, are OpenAI's at its parts. */
export function withBreakpoints({ cache_control: whole, ...message }: JsonObject): JsonObject {
  const parts = withMark(message.content ?? null, isObject(whole) ? { cache_control: whole } : {});
  if (!Array.isArray(parts)) return message;
  const marked = parts.map((part) => {
    if (!isObject(part)) return part;
    const { cache_control: mark, ...rest } = part;
    return isObject(mark) ? { prompt_cache_breakpoint: plainMarks.prompt_cache_breakpoint, ...rest } : rest;
  });
  return { ...message, content: marked };
}

/** placedMark returns `{cache_control}` with a mark that stood at `path` in the caller's request. A mark that is removed later is named by it. */
export function placedMark(mark: JsonObject, path: string): JsonObject {
  return { cache_control: madeFrom(path, mark) };
}

/** Claude refuses a request with more. */
const maxMarks = 4;

/**
 * keepLatestMarks takes the first marks away from lists of blocks, in the order of the prompt, where there are too many: OpenAI, too,
 * goes by the latest. `others` is how many the request has besides. Returns the same lists where there are not.
 */
export function* keepLatestMarks(
  lists: readonly (readonly JsonObject[])[],
  others: number,
  dropped: Dropped,
): CooperativeTask<(readonly JsonObject[])[]> {
  let many = others - maxMarks;
  for (const list of lists) for (const block of list) if (isObject(block.cache_control)) many += 1;
  if (many <= 0) return [...lists];
  let count = 0;
  const kept: JsonObject[][] = [];
  for (const list of lists) {
    const blocks: JsonObject[] = [];
    for (const block of list) {
      if (endsSlice(count++)) yield;
      const { cache_control: mark, ...unmarked } = block;
      const isTaken = many > 0 && isObject(mark);
      blocks.push(isTaken ? unmarked : block);
      if (!isTaken) continue;
      many -= 1;
      dropped.add(pathOf(mark) ?? "cache_control");
    }
    kept.push(blocks);
  }
  return kept;
}
