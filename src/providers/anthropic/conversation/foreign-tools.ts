/**
 * Tools that another server of this API has run itself, in turns of the model: Claude refuses the ids and the names of their calls, results of
 * plain type in such a turn, and results that it has not sealed. Call and result are told as texts where they stand.
 */
import { toldBlock } from "../../../call/request/told-blocks.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { isObject, type JsonValue, mappedByTasks, mappedInSlices } from "../../../wire/json.ts";

/** vendorId is the form of the ids that Claude gives to calls of its vendor's tools. */
const vendorId = /^srvtoolu_[a-zA-Z0-9_]+$/;

/** withToldTools returns the same list where no other server has run any tools. */
export function* withToldTools(messages: JsonValue[]): CooperativeTask<JsonValue[]> {
  return yield* mappedByTasks(messages, function* (message) {
    if (!isObject(message) || message.role !== "assistant" || !Array.isArray(message.content)) return message;
    const told = yield* mappedInSlices(message.content, (block) =>
      isObject(block) && isForeign(block) ? (toldBlock(block) ?? block) : block,
    );
    if (told === message.content) return message;
    return { ...message, content: yield* mappedInSlices(told, withoutPlaces) };
  });
}

/** isForeign reports the calls and results, in a turn of the model's, of a tool that another server has run. */
export function isForeign(block: JsonValue): boolean {
  if (!isObject(block)) return false;
  const { type, id, tool_use_id: callId } = block;
  if (type === "server_tool_use") return !vendorId.test(`${id}`);
  if (type === "tool_result") return true;
  return `${type}`.endsWith("_tool_result") && type !== "mcp_tool_result" && !vendorId.test(`${callId}`);
}

/** withoutPlaces returns a text without the places in results that are not told of as such. */
function withoutPlaces(block: JsonValue): JsonValue {
  if (!isObject(block) || block.type !== "text" || block.citations === undefined) return block;
  const { citations, ...text } = block;
  const left = Array.isArray(citations) ? citations.filter((one) => !isPlace(one)) : [];
  return left.length > 0 ? { ...text, citations: left } : text;
}

function isPlace(citation: JsonValue): boolean {
  return isObject(citation) && citation.type === "web_search_result_location";
}
