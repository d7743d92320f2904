/** Reads the events of the Responses API, and whole responses, in place of those of a chat. */
import { isFilledText, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { membersOf } from "../../usage/count.ts";
import { headIn, type ReadEvent, type Said, StreamedCalls } from "./said.ts";

/** pieces are the members of a chat's message that the pieces of texts become. */
const pieces: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["response.output_text.delta", "content"],
  ["response.refusal.delta", "refusal"],
  ["response.reasoning_text.delta", "reasoning_content"],
  ["response.reasoning_summary_text.delta", "reasoning_content"],
]);

export function createResponseEvents(): ReadEvent {
  const reading = new ResponseReading();
  return (event) => (/^response\./.test(textOrEmpty(event.type)) ? reading.take(event) : undefined);
}

class ResponseReading {
  readonly #calls = new StreamedCalls();
  /** The items of which pieces have come, or the whole. */
  readonly #said = new Set<JsonValue>();

  take(event: JsonObject): Said {
    const { type, item, delta, response } = event;
    const key = event.output_index ?? event.item_id ?? membersOf(item).id ?? null;
    switch (type) {
      case "response.created":
        return { ...headIn(response), delta: { role: "assistant" } };
      case "response.output_item.added":
        return isObject(item) ? { delta: this.#begin(key, item) } : {};
      case "response.function_call_arguments.delta":
        return { delta: this.#calls.add(key, delta) };
      case "response.output_item.done":
        return isObject(item) ? { delta: this.#end(key, item) } : {};
      case "response.failed":
        return { error: membersOf(response).error ?? "the response failed" };
      case "response.completed":
      case "response.incomplete":
        return this.#last(membersOf(response));
      default:
        return { delta: this.#piece(key, pieces.get(type), delta) };
    }
  }

  #piece(key: JsonValue, member: string | undefined, delta: JsonValue | undefined): JsonObject | undefined {
    if (member === undefined || !isFilledText(delta)) return undefined;
    this.#said.add(key);
    return { [member]: delta };
  }

  #begin(key: JsonValue, item: JsonObject): JsonObject | undefined {
    return item.type === "function_call" ? this.#calls.begin(key, item.call_id ?? item.id, item.name) : undefined;
  }

  /** #end returns what an item says of which no piece came. */
  #end(key: JsonValue, item: JsonObject): JsonObject | undefined {
    if (item.type === "function_call" && !this.#calls.has(key)) return callDelta(this.#calls, key, item);
    if (item.type === "function_call") return this.#calls.end(key, item.arguments);
    if (this.#said.has(key)) return undefined;
    this.#said.add(key);
    const { content, reasoning_content: thinking } = messageOfItems([item]);
    return content || thinking ? definedTexts(content, thinking) : undefined;
  }

  #last(response: JsonObject): Said {
    const isSilent = this.#said.size === 0 && this.#calls.size === 0;
    const { output } = response;
    const message = isSilent && Array.isArray(output) ? messageOfItems(output.filter(isObject)) : undefined;
    const calls = Array.isArray(message?.tool_calls) ? message.tool_calls : [];
    const numbered = calls.map((call, index) => ({ ...membersOf(call), index }));
    const delta = message && { ...message, ...(calls.length > 0 ? { tool_calls: numbered } : {}) };
    const hasCalled = this.#calls.size + calls.length > 0;
    return { ...headIn(response), delta, end: endOfResponse(response, hasCalled), usage: response.usage, isLast: true };
  }
}

/** callDelta returns a call that comes whole. */
function callDelta(calls: StreamedCalls, key: JsonValue, item: JsonObject): JsonObject {
  const begun = calls.begin(key, item.call_id ?? item.id, item.name, item.arguments);
  const [call] = begun.tool_calls as JsonObject[];
  const [rest] = (calls.end(key)?.tool_calls ?? []) as JsonObject[];
  const given = membersOf(rest?.function).arguments ?? "";
  return { tool_calls: [{ ...call, function: { ...membersOf(call?.function), arguments: given } }] };
}

function definedTexts(content: JsonValue = null, thinking: JsonValue | undefined = undefined): JsonObject {
  return { ...(content ? { content } : {}), ...(thinking ? { reasoning_content: thinking } : {}) };
}

/** endOfResponse returns why a response ended, in a word of chat or of the response's own. */
export function endOfResponse({ incomplete_details: details }: JsonObject, hasCalled: boolean): JsonValue {
  return membersOf(details).reason ?? (hasCalled ? "tool_calls" : "stop");
}

/** messageOfItems returns the message of a chat that the items of a response say. */
export function messageOfItems(items: readonly JsonObject[]): JsonObject {
  const textOfType = (type: string, key: string, list: "content" | "summary") =>
    items
      .filter((item) => item.type === type)
      .flatMap((item) => (Array.isArray(item[list]) ? item[list].filter(isObject) : []))
      .map((part) => textOrEmpty(part[key]))
      .join("");
  const content = textOfType("message", "text", "content");
  const refusal = textOfType("message", "refusal", "content");
  const thinking = textOfType("reasoning", "text", "content") || textOfType("reasoning", "text", "summary");
  const calls = items.filter(({ type }) => type === "function_call").map(wholeCall);
  return {
    ...{ role: "assistant", content: content === "" && calls.length + refusal.length > 0 ? null : content },
    ...(refusal === "" ? {} : { refusal }),
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function wholeCall({ call_id, id, name = "", arguments: input = "{}" }: JsonObject): JsonObject {
  return { id: call_id ?? id ?? "", type: "function", function: { name, arguments: input } };
}
