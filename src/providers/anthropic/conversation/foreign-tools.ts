/**
 * Tools that another server of this API has run itself, in turns of the model: Claude refuses the ids and the names of their calls, results of
 * plain type in such a turn, and results that it has not sealed. Call and result are told as texts where they stand.
 */
import { isObject, type JsonObject, type JsonValue, mappedList } from "../../../wire/json.ts";

/** vendorId is the form of the ids that Claude gives to calls of its vendor's tools. */
const vendorId = /^srvtoolu_[a-zA-Z0-9_]+$/;

/** withToldTools returns the same list where no other server has run any tools. */
export function withToldTools(messages: JsonValue[]): JsonValue[] {
  return mappedList(messages, (message) => {
    if (!isObject(message) || message.role !== "assistant" || !Array.isArray(message.content)) return message;
    if (!message.content.some(isForeign)) return message;
    return { ...message, content: message.content.map((block) => (isObject(block) ? told(block) : block)) };
  });
}

function isForeign(block: JsonValue): boolean {
  if (!isObject(block)) return false;
  const { type, id, tool_use_id: callId } = block;
  if (type === "server_tool_use") return !vendorId.test(`${id}`);
  if (type === "tool_result") return true;
  return `${type}`.endsWith("_tool_result") && type !== "mcp_tool_result" && !vendorId.test(`${callId}`);
}

function told(block: JsonObject): JsonObject {
  if (!isForeign(block)) return block.type === "text" ? withoutPlaces(block) : block;
  const { type, name, input = {}, content = "", cache_control: mark } = block;
  const text =
    type === "server_tool_use" ? `${name}: ${JSON.stringify(input)}` : `The result of the tool:\n\n${wordsOf(content)}`;
  return { type: "text", text, ...(mark ? { cache_control: mark } : {}) };
}

/** wordsOf returns texts as they are, and all else as JSON without what only its server can read. */
function wordsOf(content: JsonValue): string {
  if (typeof content === "string") return content;
  const texts = Array.isArray(content) ? content.map((block) => (isObject(block) ? block.text : undefined)) : [];
  if (texts.length > 0 && texts.every((text) => typeof text === "string")) return texts.join("\n\n");
  return JSON.stringify(content, (key, value) => (/^encrypted_/.test(key) || key === "data" ? undefined : value));
}

/** withoutPlaces returns a text without the places in results that are not told of as such. */
function withoutPlaces({ citations, ...text }: JsonObject): JsonObject {
  const left = Array.isArray(citations) ? citations.filter((one) => !isPlace(one)) : [];
  return left.length > 0 ? { ...text, citations: left } : text;
}

function isPlace(citation: JsonValue): boolean {
  return isObject(citation) && citation.type === "web_search_result_location";
}
