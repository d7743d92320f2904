/**
 * Puts the results of tools right behind their calls in the turns of the Messages API, as its vendor demands: at the beginning of the
 * user's next turn. What is broken in a history becomes what it becomes in a chat (`paired-results.ts`).
 */
import { blocksIn, partsOf } from "../../call/request/content-parts.ts";
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { definedFields, isFilledText, isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import { type CallPair, CallPairs } from "./call-pairs.ts";
import { interrupted, withoutCall } from "./paired-results.ts";

interface Turn {
  readonly message: JsonValue;
  readonly pairs: readonly CallPair<JsonObject>[];
}

/** pairedTurns returns the same list where every result stands behind its call, and each call has an id of its own. */
export function* pairedTurns(messages: JsonValue[]): CooperativeTask<JsonValue[]> {
  if (yield* isPaired(messages)) return messages;
  const calls = new CallPairs<JsonObject>("conversation");
  const turns: Turn[] = [];
  for (const [i, message] of messages.entries()) {
    if (endsSlice(i)) yield;
    turns.push(roleOf(message) === "assistant" ? calling(message, calls) : answering(message, calls));
  }
  const paired: JsonValue[] = [];
  let waiting: CallPair<JsonObject>[] = [];
  for (const [i, { message, pairs }] of turns.entries()) {
    if (endsSlice(i)) yield;
    const isAnswered = waiting.length > 0 && roleOf(message) !== "assistant";
    if (!isAnswered && message !== nothingLeft) paired.push(message);
    else if (!isAnswered) continue;
    else if (roleOf(message) === "user") paired.push(withResults(message as JsonObject, waiting));
    else paired.push({ role: "user", content: waiting.map(resultOf) }, message);
    if (isAnswered) waiting = [];
    for (const pair of pairs) waiting.push(pair);
  }
  return waiting.length > 0 ? [...paired, { role: "user", content: waiting.map(resultOf) }] : paired;
}

function* isPaired(messages: readonly JsonValue[]): CooperativeTask<boolean> {
  const used = new Set<string>();
  const open = new Set<string>();
  /** isBehind says that the user's turn has something else already. */
  let isBehind = false;
  for (const [i, message] of messages.entries()) {
    if (endsSlice(i)) yield;
    const role = roleOf(message);
    if (role === "assistant") {
      if (isBehind && open.size > 0) return false;
      isBehind = false;
      for (const id of idsIn(message, "tool_use")) {
        if (used.size === used.add(id).size) return false;
        open.add(id);
      }
    } else {
      for (const block of blocksIn(message)) {
        const id = idOf(block, "tool_result");
        if (id !== undefined && (isBehind || !open.delete(id))) return false;
        isBehind ||= id === undefined && role === "user";
      }
      isBehind ||= role === "user" && typeof (message as JsonObject).content === "string";
    }
  }
  return open.size === 0;
}

function roleOf(message: JsonValue): JsonValue | undefined {
  return isObject(message) ? message.role : undefined;
}

function idsIn(message: JsonValue, type: "tool_use" | "tool_result"): string[] {
  return blocksIn(message)
    .map((block) => idOf(block, type))
    .filter((id) => id !== undefined);
}

/** idOf returns the id of a call, or of the call that a result answers; undefined for any other block, and without an id. */
function idOf(block: JsonValue, type: "tool_use" | "tool_result"): string | undefined {
  if (!isObject(block) || block.type !== type) return undefined;
  const id = type === "tool_use" ? block.id : block.tool_use_id;
  return isFilledText(id) ? id : undefined;
}

function calling(message: JsonValue, calls: CallPairs<JsonObject>): Turn {
  const ids = idsIn(message, "tool_use");
  if (ids.length === 0) return { message, pairs: [] };
  calls.beginTurn();
  const pairs = ids.map((id) => calls.begin(id));
  if (pairs.every(({ id }, i) => id === ids[i])) return { message, pairs };
  const left = pairs.values();
  const content = blocksIn(message).map((block) =>
    idOf(block, "tool_use") === undefined ? block : { ...(block as JsonObject), id: left.next().value?.id ?? "" },
  );
  return { message: { ...(message as JsonObject), content }, pairs };
}

/** nothingLeft is a turn of the user's whose results have moved. */
const nothingLeft: JsonObject = { role: "user", content: [] };

/** answering returns a turn of the user's without the results that calls wait for: they move to their calls. */
function answering(message: JsonValue, calls: CallPairs<JsonObject>): Turn {
  if (idsIn(message, "tool_result").length === 0) return { message, pairs: [] };
  const content = blocksIn(message).flatMap((block) => {
    const id = idOf(block, "tool_result");
    if (id === undefined) return [block];
    return calls.answer(id, block as JsonObject) ? [] : asTexts(block as JsonObject);
  });
  return { message: content.length > 0 ? { ...(message as JsonObject), content } : nothingLeft, pairs: [] };
}

/** saying are the blocks of a result that a user may say. */
const saying: ReadonlySet<JsonValue | undefined> = new Set(["text", "image", "document", "search_result"]);

function asTexts({ content, cache_control: mark }: JsonObject): JsonObject[] {
  const heading = { type: "text", text: withoutCall };
  const blocks = partsOf(content)
    .filter(isObject)
    .filter(({ type }) => saying.has(type));
  const last = blocks.at(-1) ?? heading;
  return [heading, ...blocks].map((block) =>
    block === last ? { ...block, ...definedFields({ cache_control: mark }) } : block,
  );
}

function withResults(message: JsonObject, pairs: readonly CallPair<JsonObject>[]): JsonObject {
  return { ...message, content: [...pairs.map(resultOf), ...partsOf(message.content)] };
}

function resultOf({ id, result }: CallPair<JsonObject>): JsonObject {
  if (!result) return { type: "tool_result", tool_use_id: id, content: interrupted, is_error: true };
  return result.tool_use_id === id ? result : { ...result, tool_use_id: id };
}
