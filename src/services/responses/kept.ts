/**
 * Reads kept responses for a request that refers to them, some at a time, so that nobody waits for all of them. How much that
 * is, is known before any is read: beyond a bound none is.
 */
import { setImmediate } from "node:timers/promises";
import { referredTooLarge } from "../../call/refusals.ts";
import type { ResponseStore, Sized, StoredResponse } from "../../storage/answers/responses.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";

/** The account's responses, at a time. */
export interface KeptResponses {
  readonly store: ResponseStore;
  readonly accountId: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The most that is read for a request, in bytes: responses repeat tools and instructions, which are none of a conversation. */
const mostBytes = 64 * 1024 * 1024;
/** How much is read at once. Parsing it takes a few milliseconds. */
const bytesAtOnce = 256 * 1024;

/** Yields those that are there yet, in the order of `sized`. Throws a Refusal about `param`. */
export async function* readKept(
  { store, accountId, now }: KeptResponses,
  sized: readonly Sized[],
  param: string,
): AsyncGenerator<StoredResponse> {
  if (sized.reduce((sum, { bytes }) => sum + bytes, 0) > mostBytes) {
    throw referredTooLarge(mostBytes, param);
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

/** Splits the ids into those that are read at once: as few bytes as may be, but one of them. */
function* batches(sized: readonly Sized[]): Generator<string[]> {
  let ids: string[] = [];
  let sum = 0;
  for (const { id, bytes } of sized) {
    if (ids.length > 0 && sum + bytes > bytesAtOnce) {
      yield ids;
      ids = [];
      sum = 0;
    }
    ids.push(id);
    sum += bytes;
  }
  if (ids.length > 0) yield ids;
}

/** Returns the items of its output. What an upstream put there that is none is left out. */
export function outputOf({ response }: StoredResponse): JsonObject[] {
  return (JSON.parse(response) as { output: JsonValue[] }).output.filter(isObject);
}

/** An item that was new in a request, as it was sent, and the id that it has or is given. */
export interface InputItem {
  readonly id: string;
  readonly item: JsonObject;
}

/** Returns the items that were new in its request; undefined where they were too many to keep. */
export function inputItemsOf({ id, input }: StoredResponse): InputItem[] | undefined {
  if (input === null) return undefined;
  return (JSON.parse(input) as JsonObject[]).map((item, place) => ({
    id: typeof item.id === "string" ? item.id : inputItemId(item, id, place),
    item,
  }));
}

/** What ids of items begin with, by the items' types. */
const prefixes: ReadonlyMap<string, string> = new Map([
  ["message", "msg"],
  ["function_call", "fc"],
  ["function_call_output", "fco"],
  ["custom_tool_call", "ctc"],
  ["custom_tool_call_output", "ctco"],
  ["reasoning", "rs"],
  ["compaction", "cmp"],
]);

/** An item's id holds its response's: `msg_<response>_<place>` in the output, `msg_<response>_in<place>` in the input. */
function inputItemId({ type }: JsonObject, responseId: string, place: number): string {
  const prefix = prefixes.get(typeof type === "string" ? type : "message") ?? "item";
  return `${prefix}_${responseId.replace(/^resp_/, "")}_in${place}`;
}

/** Returns the id that an item in the output would have at the place of one in the input; any other as it is. */
export function asOutputItemId(itemId: string): string {
  return itemId.replace(/_in(?=\d+$)/, "_");
}

export function bytesOf(items: JsonObject | readonly JsonObject[]): number {
  return Buffer.byteLength(JSON.stringify(items));
}
