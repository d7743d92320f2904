/**
 * Earlier calls that Claude refuses, because the conversation began at another server. Ids of calls may be that server's, as Kimi's
 * `functions.read:0`, and names may be a model's invention: both are rewritten, alike in calls and results (`call/tools/fit-name.ts`). Tools
 * that another server has run itself, as Z.ai's searches, are told as texts (`foreign-tools.ts`). A search or another tool of Claude's
 * vendor that was interrupted, and that the user has gone on from, has failed. Each was a refusal of the whole request, in every turn.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { fitName, type NameRule } from "../../../call/tools/fit-name.ts";
import type { MaybePromise } from "../../../runtime/maybe-promise.ts";
import { isObject, mappedList } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import { isClaude } from "../generation.ts";
import { withToldTools } from "./foreign-tools.ts";

const refused = /[^a-zA-Z0-9_-]/gu;
/** ids have no bound: signatures travel in them. */
const ids: NameRule = { fits: /^[a-zA-Z0-9_-]+$/, refused, kept: 119 };
const names: NameRule = { fits: /^[a-zA-Z0-9_-]{1,200}$/, refused, kept: 119 };

/** withFittingCalls returns the request with calls that Claude takes; the same request where it has no other, and for other models. */
export function withFittingCalls<D extends DescMessage>(request: Wire<D>, model: string): MaybePromise<Wire<D>> {
  const { messages: outlined } = isClaude(model) ? (request.outline() as JsonObject) : {};
  if (!Array.isArray(outlined) || fitting(outlined) === outlined) return request;
  // An outline has fillers in place of long strings.
  const messages = fitting((request.json() as JsonObject).messages as JsonValue[]);
  return request.isLong ? request.rebuiltWith({ messages }).writeInSlices() : request.with({ messages });
}

function fitting(messages: JsonValue[]): JsonValue[] {
  return mappedList(withFailures(withToldTools(messages)), (message) => {
    const { content } = isObject(message) ? message : {};
    if (!Array.isArray(content)) return message;
    const blocks = mappedList(content, (block) => (isObject(block) ? fittingBlock(block) : block));
    return blocks === content ? message : { ...(message as JsonObject), content: blocks };
  });
}

/** idKeys have the member with the id of a call, by the type of the block. */
const idKeys: ReadonlyMap<JsonValue | undefined, "id" | "tool_use_id"> = new Map([
  ["tool_use", "id"],
  ["mcp_tool_use", "id"],
  ["tool_result", "tool_use_id"],
  ["mcp_tool_result", "tool_use_id"],
]);

function fittingBlock(block: JsonObject): JsonObject {
  const key = idKeys.get(block.type);
  if (key === undefined) return block;
  const { [key]: id, name } = block;
  const hasId = !isId(id) || ids.fits.test(id);
  const hasName = block.type !== "tool_use" || typeof name !== "string" || names.fits.test(name);
  if (hasId && hasName) return block;
  return {
    ...block,
    ...(hasId ? {} : { [key]: fitName(id as string, ids) }),
    ...(hasName ? {} : { name: fitName((name as string) || "unnamed", names) }),
  };
}

function isId(id: JsonValue | undefined): id is string {
  return typeof id === "string" && id !== "";
}

/**
 * withFailures gives each of the vendor's calls that has no result anywhere one that says so, where the user has said something since:
 * without, the model goes on with the call itself. The same list where none is missing.
 */
function withFailures(messages: JsonValue[]): JsonValue[] {
  const answered = new Set<JsonValue | undefined>();
  /** last is the place of the last turn in which the user says something. */
  let last = -1;
  for (const [i, message] of messages.entries()) {
    for (const { type, tool_use_id: id } of blocksOf(message)) if (`${type}`.endsWith("_tool_result")) answered.add(id);
    if (isSaying(message)) last = i;
  }
  const isMissing = ({ type, id }: JsonObject) => type === "server_tool_use" && isId(id) && !answered.has(id);
  return mappedList(messages, (message, i) => {
    const blocks = i < last ? blocksOf(message) : [];
    if (!blocks.some(isMissing)) return message;
    const content = blocks.flatMap((block) => (isMissing(block) ? [block, failureOf(block)] : [block]));
    return { ...(message as JsonObject), content };
  });
}

/** isSaying reports a turn of the user's that has more than results. */
function isSaying(message: JsonValue): boolean {
  if (!isObject(message) || message.role !== "user") return false;
  return typeof message.content === "string" || blocksOf(message).some(({ type }) => type !== "tool_result");
}

function failureOf({ id, name }: JsonObject): JsonObject {
  // The two tools that search for tools have one kind of result.
  const type = `${`${name}`.replace(/^tool_search_tool.*/s, "tool_search")}_tool_result`;
  return { type, tool_use_id: id as JsonValue, content: { type: `${type}_error`, error_code: "unavailable" } };
}

function blocksOf(message: JsonValue): readonly JsonObject[] {
  return isObject(message) && Array.isArray(message.content) ? message.content.filter(isObject) : [];
}
