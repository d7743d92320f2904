/** Puts the results of calls right behind their calls among the items of a response, for servers that refuse what others say between. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { isFilledText, isObject } from "../../../wire/json.ts";
import type { Capabilities } from "../profile.ts";

/**
 * resultsBehindCalls returns the items with each result before what stands between it and its call, but for what the model says and calls in
 * the same turn; the same value where all stand so, or the server takes them anywhere.
 */
export function* resultsBehindCalls(
  input: JsonValue | undefined,
  { after_calls: taken }: Capabilities,
): CooperativeTask<JsonValue | undefined> {
  if (taken !== "results" || !Array.isArray(input)) return input;
  const results = yield* placesOfResults(input);
  const items: JsonValue[] = [];
  const moved = new Set<number>();
  /** The places of results that are to come, of the calls so far. */
  const open = new Set<number>();
  /** isAnswered is whether results of the turn have come: what the model says then is another turn. */
  let isAnswered = false;
  for (const [i, item] of input.entries()) {
    if (endsSlice(i)) yield;
    if (moved.has(i)) continue;
    if (isOfCall(item, "_output")) {
      isAnswered = true;
      open.delete(i);
    } else {
      if (isAnswered || !isModels(item)) {
        for (const place of open) {
          moved.add(place);
          items.push(input[place] as JsonValue);
        }
        open.clear();
      }
      const result = results.get(i);
      if (result !== undefined) open.add(result);
      isAnswered = false;
    }
    items.push(item);
  }
  return moved.size === 0 ? input : items;
}

/** placesOfResults returns the places of results, by those of their calls. Some clients count the ids of calls anew in each turn. */
function* placesOfResults(input: readonly JsonValue[]): CooperativeTask<ReadonlyMap<number, number>> {
  const places = new Map<number, number>();
  const calls = new Map<string, number>();
  for (const [i, item] of input.entries()) {
    if (endsSlice(i)) yield;
    if (isOfCall(item, "_call")) calls.set(item.call_id, i);
    if (!isOfCall(item, "_output")) continue;
    const call = calls.get(item.call_id);
    if (call !== undefined) places.set(call, i);
    calls.delete(item.call_id);
  }
  return places;
}

function isOfCall(item: JsonValue, ending: "_call" | "_output"): item is JsonObject & { readonly call_id: string } {
  return isObject(item) && typeof item.type === "string" && item.type.endsWith(ending) && isFilledText(item.call_id);
}

function isModels(item: JsonValue): boolean {
  if (!isObject(item)) return false;
  const { type = "message", role } = item;
  return type === "message" ? role === "assistant" : type === "reasoning" || isOfCall(item, "_call");
}
