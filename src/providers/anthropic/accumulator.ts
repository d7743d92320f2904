/** Accumulates the events of Anthropic's dialect into a unary message: blocks by index, the end, the usage. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isObject, textOrEmpty } from "../../wire/json.ts";
import { parseExactly } from "../../wire/scan/parse-exactly.ts";
import type { Accumulator } from "../dialect.ts";

export function createEventAccumulator(operation: Operation): Accumulator | undefined {
  return operation === "messages" ? new EventAccumulator() : undefined;
}

/** Block is a content block with the parts that come in pieces. */
interface Block {
  begun: JsonObject;
  text: string;
  thinking: string;
  signature: string;
  input: string;
  readonly citations: JsonValue[];
}

class EventAccumulator implements Accumulator {
  #message: JsonObject = {};
  #end: JsonObject = {};
  #usage: JsonObject = {};
  readonly #blocks = new Map<JsonValue, Block>();

  add({ type, index = 0, message, content_block, delta, usage, ...beside }: JsonObject): void {
    switch (type) {
      case "message_start":
        if (isObject(message)) this.#message = message;
        this.#count(this.#message.usage);
        return;
      case "content_block_start":
        if (isObject(content_block)) this.#blocks.set(index, blockOf(content_block));
        return;
      case "content_block_delta":
        if (isObject(delta)) addTo(this.#blockAt(index, delta), delta);
        return;
      case "message_delta":
        // Edits of the conversation, as context_management, stand beside the end.
        this.#end = { ...this.#end, ...said(beside), ...(isObject(delta) ? delta : {}) };
        this.#count(usage);
    }
  }

  /** Some servers send text without announcing its block. */
  #blockAt(index: JsonValue, { type }: JsonObject): Block | undefined {
    const known = this.#blocks.get(index);
    const begun = type === "text_delta" ? "text" : type === "thinking_delta" ? "thinking" : undefined;
    if (known || begun === undefined) return known;
    const block = blockOf({ type: begun, [begun]: "" });
    this.#blocks.set(index, block);
    return block;
  }

  #count(usage: JsonValue | undefined): void {
    if (!isObject(usage)) return;
    this.#usage = { ...this.#usage, ...said(usage) };
  }

  answer(): JsonObject {
    const inOrder = [...this.#blocks].sort(([a], [b]) => Number(a) - Number(b));
    const content = inOrder.map(([, block]) => wholeOf(block));
    return { ...this.#message, ...this.#end, content, usage: this.#usage };
  }
}

/** said returns the members that are not null. */
function said(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

function blockOf(begun: JsonObject): Block {
  const citations = Array.isArray(begun.citations) ? [...begun.citations] : [];
  return {
    begun,
    text: textOrEmpty(begun.text),
    thinking: textOrEmpty(begun.thinking),
    signature: textOrEmpty(begun.signature),
    input: "",
    citations,
  };
}

function addTo(block: Block | undefined, delta: JsonObject): void {
  if (!block) return;
  if (delta.type === "compaction_delta") {
    const { type: _, ...summary } = delta;
    block.begun = { ...block.begun, ...summary };
  }
  block.text += textOrEmpty(delta.text);
  block.thinking += textOrEmpty(delta.thinking);
  block.signature += textOrEmpty(delta.signature);
  block.input += textOrEmpty(delta.partial_json);
  if (delta.type === "citations_delta" && delta.citation !== undefined) block.citations.push(delta.citation);
}

/** wholeOf throws SyntaxError where an input is not JSON. */
function wholeOf({ begun, text, thinking, signature, input, citations }: Block): JsonObject {
  return {
    ...begun,
    ...(text === "" ? {} : { text }),
    ...(thinking === "" ? {} : { thinking }),
    ...(signature === "" ? {} : { signature }),
    ...(input === "" ? {} : { input: parseExactly(input, true) }),
    ...(citations.length === 0 ? {} : { citations }),
  };
}
