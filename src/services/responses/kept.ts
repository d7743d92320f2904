/**
 * Reads stored responses in batches, so that no batch blocks the process for long. Their sizes are known before they
 * are read: beyond a limit nothing is.
 */
import { setImmediate } from "node:timers/promises";
import { referredTooLarge } from "../../call/refusals.ts";
import type { ResponseStore, Sized, StoredResponse } from "../../storage/answers/responses.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import { parseExactly } from "../../wire/scan/parse-exactly.ts";

/** AccountResponses are the stored responses of an account at a moment. */
export interface AccountResponses {
  readonly store: ResponseStore;
  readonly accountId: string;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

/**
 * maxReadBytes is the most that is read for a request. Responses repeat tools and instructions, which are not part of
 * a conversation.
 */
const maxReadBytes = 64 * 1024 * 1024;
/** batchBytes is the size of a batch. Parsing one takes a few milliseconds. */
const batchBytes = 256 * 1024;

/** readStored yields the responses that still exist, in the order of `sized`. Throws a Refusal about `param`. */
export async function* readStored(
  { store, accountId, now }: AccountResponses,
  sized: readonly Sized[],
  param: string,
): AsyncGenerator<StoredResponse> {
  if (sized.reduce((sum, { bytes }) => sum + bytes, 0) > maxReadBytes) {
    throw referredTooLarge(maxReadBytes, param);
  }
  for (const ids of batches(sized)) {
    const found = new Map((await store.find(accountId, ids, now)).map((response) => [response.id, response]));
    for (const id of ids) {
      const response = found.get(id);
      if (response) yield response;
    }
    await setImmediate();
  }
}

/** batches splits the ids into batches of limited size, with at least one response each. */
function* batches(sized: readonly Sized[]): Generator<string[]> {
  let ids: string[] = [];
  let sum = 0;
  for (const { id, bytes } of sized) {
    if (ids.length > 0 && sum + bytes > batchBytes) {
      yield ids;
      ids = [];
      sum = 0;
    }
    ids.push(id);
    sum += bytes;
  }
  if (ids.length > 0) yield ids;
}

/** outputOf returns the output items. It skips what an upstream sent that is not an item. */
export function outputOf({ response }: StoredResponse): JsonObject[] {
  return (parseExactly(response) as { output: JsonValue[] }).output.filter(isObject);
}

/** InputItem is a new item of a request, unchanged, and the id that it has or gets. */
export interface InputItem {
  readonly id: string;
  readonly item: JsonObject;
}

/** inputItemsOf returns the new items of the request; undefined if they were too large to store. */
export function inputItemsOf({ id, input }: StoredResponse): InputItem[] | undefined {
  if (input === null) return undefined;
  return (parseExactly(input) as JsonObject[]).map((item, place) => ({
    id: typeof item.id === "string" ? item.id : inputItemId(item, id, place),
    item,
  }));
}

/** prefixes are the prefixes of items' ids, by the items' types. */
const prefixes: ReadonlyMap<string, string> = new Map([
  ["message", "msg"],
  ["function_call", "fc"],
  ["function_call_output", "fco"],
  ["custom_tool_call", "ctc"],
  ["custom_tool_call_output", "ctco"],
  ["reasoning", "rs"],
  ["compaction", "cmp"],
]);

/**
 * inputItemId returns an item's id, which contains its response's: `msg_<response>_<place>` in the output,
 * `msg_<response>_in<place>` in the input.
 */
function inputItemId({ type }: JsonObject, responseId: string, place: number): string {
  const prefix = prefixes.get(typeof type === "string" ? type : "message") ?? "item";
  return `${prefix}_${responseId.replace(/^resp_/, "")}_in${place}`;
}

/**
 * asOutputItemId turns an input item's id into the id of the output item at the same place, and returns any other id
 * unchanged.
 */
export function asOutputItemId(itemId: string): string {
  return itemId.replace(/_in(?=\d+$)/, "_");
}

export function bytesOf(items: JsonObject | readonly JsonObject[]): number {
  return Buffer.byteLength(JSON.stringify(items));
}
