/**
 * Earlier calls that Claude refuses, because the conversation began at another server. Ids of calls may be that server's, as Kimi's
 * `functions.read:0`, and names may be a model's invention: both are rewritten, alike in calls and results (`call/tools/fit-name.ts`). Tools
 * that another server has run itself, as Z.ai's searches, are told as texts (`foreign-tools.ts`). A search or another tool of Claude's
 * vendor that was interrupted, and that the user has gone on from, has failed. Each was a refusal of the whole request, in every turn.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { blocksIn } from "../../../call/request/content-parts.ts";
import { fitName, type NameRule, wordRule } from "../../../call/tools/fit-name.ts";
import { type CooperativeTask, endsSlice, runCooperatively } from "../../../runtime/cooperative.ts";
import { andThen, type MaybePromise } from "../../../runtime/maybe-promise.ts";
import { isFilledText, isObject, mappedByTasks, mappedInSlices } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import { isClaude } from "../generation.ts";
import { isForeign, withToldTools } from "./foreign-tools.ts";

/** ids have no bound: signatures travel in them. */
const ids: NameRule = { ...wordRule(128), fits: /^[a-zA-Z0-9_-]+$/ };
const names: NameRule = { ...wordRule(128), fits: wordRule(200).fits };

/** withFittingCalls returns the request with calls that Claude takes; the same request where it has no other, and for other models. */
export function withFittingCalls<D extends DescMessage>(request: Wire<D>, model: string): MaybePromise<Wire<D>> {
  if (!isClaude(model)) return request;
  return andThen(runCooperatively(fittedTurns(request), request.isLong), (messages) =>
    messages ? request.rewrittenBy({ messages }) : request,
  );
}

/** fittedTurns returns undefined where all calls stay. */
export function* fittedTurns(request: Wire): CooperativeTask<JsonValue[] | undefined> {
  const { messages: outlined } = request.outline() as JsonObject;
  if (!Array.isArray(outlined) || !(yield* hasUnfit(outlined))) return undefined;
  // An outline has fillers in place of long strings.
  const written = (request.json() as JsonObject).messages as JsonValue[];
  const told = yield* withToldTools(written);
  const ended = yield* withFailures(told, yield* failedCalls(told));
  const fit = createFit();
  return yield* mappedByTasks(ended, function* (message) {
    if (!isObject(message) || !Array.isArray(message.content)) return message;
    const blocks = yield* mappedInSlices(message.content, (block) => (isUnfit(block) ? fit(block) : block));
    return blocks === message.content ? message : { ...message, content: blocks };
  });
}

/** hasUnfit makes nothing: nearly every conversation has nothing to be changed. */
function* hasUnfit(messages: readonly JsonValue[]): CooperativeTask<boolean> {
  let count = 0;
  for (const message of messages) {
    const isModels = isObject(message) && message.role === "assistant";
    for (const block of blocksIn(message).filter(isObject)) {
      if (endsSlice(count++)) yield;
      if (isUnfit(block) || (isModels && isForeign(block))) return true;
    }
  }
  return (yield* failedCalls(messages)).size > 0;
}

/** idKeys have the member with the id of a call, by the type of the block. */
const idKeys: ReadonlyMap<JsonValue | undefined, "id" | "tool_use_id"> = new Map([
  ["tool_use", "id"],
  ["mcp_tool_use", "id"],
  ["tool_result", "tool_use_id"],
  ["mcp_tool_result", "tool_use_id"],
]);

/** hasFittingId and hasFittingName also hold for blocks without one that is to fit. */
function hasFittingId(block: JsonObject): boolean {
  const key = idKeys.get(block.type);
  return key === undefined || !isFilledText(block[key]) || ids.fits.test(block[key]);
}

function hasFittingName({ type, name }: JsonObject): boolean {
  return type !== "tool_use" || typeof name !== "string" || names.fits.test(name);
}

function isUnfit(block: JsonValue): block is JsonObject {
  return isObject(block) && !(hasFittingId(block) && hasFittingName(block));
}

/** createFit returns a function that makes an unfit block fit. It hashes an id once, for the call and its result. */
function createFit(): (block: JsonObject) => JsonObject {
  const made = new Map<string, string>();
  const ownId = (id: string) => {
    const own = made.get(id) ?? fitName(id, ids);
    made.set(id, own);
    return own;
  };
  return (block) => {
    const key = hasFittingId(block) ? undefined : idKeys.get(block.type);
    return {
      ...block,
      ...(key === undefined ? {} : { [key]: ownId(block[key] as string) }),
      ...(hasFittingName(block) ? {} : { name: fitName((block.name as string) || "unnamed", names) }),
    };
  };
}

/**
 * failedCalls returns the ids of the vendor's calls that have no result anywhere, where the user has said something since: without one, the
 * model goes on with the call itself. Code that calls the client's tools is at work until they have answered.
 */
function* failedCalls(messages: readonly JsonValue[]): CooperativeTask<ReadonlySet<JsonValue | undefined>> {
  /** open are the calls since the user has last said something, and failed those before. */
  const open = new Set<JsonValue | undefined>();
  const failed = new Set<JsonValue | undefined>();
  const ended = new Set<JsonValue | undefined>();
  const endTurn = () => {
    for (const id of open) failed.add(id);
    open.clear();
  };
  let count = 0;
  for (const message of messages) {
    const { role, content } = isObject(message) ? message : {};
    const isUsers = role === "user";
    if (isUsers && typeof content === "string") endTurn();
    for (const { type, id, tool_use_id: callId, caller = null } of blocksIn(message).filter(isObject)) {
      if (endsSlice(count++)) yield;
      if (isUsers && type !== "tool_result") endTurn();
      if (type === "server_tool_use" && isFilledText(id)) open.add(id);
      if (`${type}`.endsWith("_tool_result")) ended.add(callId);
      if (isObject(caller)) ended.add(caller.tool_id);
    }
  }
  for (const id of ended) failed.delete(id);
  return failed;
}

/** withFailures gives each failed call a result that says so; the same list where none has failed. */
function* withFailures(
  messages: JsonValue[],
  failed: ReadonlySet<JsonValue | undefined>,
): CooperativeTask<JsonValue[]> {
  if (failed.size === 0) return messages;
  return yield* mappedByTasks(messages, function* (message) {
    if (!isObject(message) || !Array.isArray(message.content)) return message;
    const content: JsonValue[] = [];
    for (const [i, block] of message.content.entries()) {
      if (endsSlice(i)) yield;
      content.push(block);
      if (isObject(block) && block.type === "server_tool_use" && failed.has(block.id)) content.push(failureOf(block));
    }
    return content.length === message.content.length ? message : { ...message, content };
  });
}

function failureOf({ id, name }: JsonObject): JsonObject {
  // The two tools that search for tools have one kind of result.
  const type = `${`${name}`.replace(/^tool_search_tool.*/s, "tool_search")}_tool_result`;
  return { type, tool_use_id: id as JsonValue, content: { type: `${type}_error`, error_code: "unavailable" } };
}
