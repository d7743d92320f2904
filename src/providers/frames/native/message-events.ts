/** Reads the events of Anthropic's Messages API in place of chunks of a chat. */
import { isFilledText, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { TextBuilder } from "../../responses/open-item.ts";
import { membersOf } from "../../usage/count.ts";
import { headIn, type ReadEvent, type Said, StreamedCalls } from "./said.ts";

export function createMessageEvents(): ReadEvent {
  const calls = new StreamedCalls();
  const thinking = new SignedThinking();
  return (event) => {
    const { index = 0 } = event;
    switch (event.type) {
      case "message_start":
        return isObject(event.message) ? beginningOf(event.message) : undefined;
      case "content_block_start":
        thinking.take(index, membersOf(event.content_block));
        return { delta: beginBlock(calls, index, membersOf(event.content_block)) };
      case "content_block_delta":
        thinking.take(index, membersOf(event.delta));
        return { delta: pieceOf(calls, index, membersOf(event.delta)) };
      case "content_block_stop":
        return { delta: calls.end(index) ?? thinking.end(index) };
      case "message_delta":
        return { end: membersOf(event.delta).stop_reason, usage: event.usage };
      case "message_stop":
        return { isLast: true };
      default:
        return event.type === "ping" ? {} : undefined;
    }
  };
}

/** SignedThinking collects the thinking of one stream with its signatures: it goes back to its maker as it was. */
export class SignedThinking {
  readonly #blocks = new Map<JsonValue, { readonly thinking: TextBuilder; signature: string; data: string }>();

  /** take takes the beginning of a block, or a piece of one. */
  take(index: JsonValue, { type, thinking, signature, data }: JsonObject): void {
    if (!/^(thinking|redacted_thinking|thinking_delta|signature_delta)$/.test(textOrEmpty(type))) return;
    const block = this.#blocks.get(index) ?? { thinking: new TextBuilder(), signature: "", data: "" };
    this.#blocks.set(index, block);
    block.thinking.add(textOrEmpty(thinking));
    block.signature += textOrEmpty(signature);
    block.data += textOrEmpty(data);
  }

  /** end returns a block that somebody has signed or sealed. */
  end(index: JsonValue): JsonObject | undefined {
    const { thinking, signature = "", data = "" } = this.#blocks.get(index) ?? {};
    this.#blocks.delete(index);
    if (data !== "") return { thinking_blocks: [{ type: "redacted_thinking", data }] };
    if (signature === "") return undefined;
    return { thinking_blocks: [{ type: "thinking", thinking: `${thinking}`, signature }] };
  }
}

function beginningOf(message: JsonObject): Said {
  return { ...headIn(message), delta: { role: "assistant" }, usage: message.usage };
}

function beginBlock(calls: StreamedCalls, index: JsonValue, block: JsonObject): JsonObject | undefined {
  return block.type === "tool_use" ? calls.begin(index, block.id, block.name, block.input) : textOf(block);
}

function pieceOf(calls: StreamedCalls, index: JsonValue, delta: JsonObject): JsonObject | undefined {
  return delta.type === "input_json_delta" ? calls.add(index, delta.partial_json) : textOf(delta);
}

/** textOf returns the text or the thinking of a block or a piece of one. */
function textOf({ text, thinking }: JsonObject): JsonObject | undefined {
  if (isFilledText(text)) return { content: text };
  return isFilledText(thinking) ? { reasoning_content: thinking } : undefined;
}
