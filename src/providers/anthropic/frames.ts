/** A unary message of Anthropic's dialect → the events that say the same, each block in one delta. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { definedFields, isFilledText, isObject, listOrEmpty, objectsIn } from "../../wire/json.ts";
import { completeBlock } from "./usual-block.ts";

export function eventsOfMessage(message: JsonObject, operation: Operation): readonly JsonObject[] | undefined {
  if (operation !== "messages") return undefined;
  const { content, stop_reason = null, stop_sequence = null, usage = null, ...rest } = message;
  const { stop_details, container, context_management, input_transformations, ...head } = rest;
  const begun = isObject(usage) ? { ...usage, output_tokens: 0 } : usage;
  const started = { ...head, type: "message", content: [], stop_reason: null, stop_sequence: null, usage: begun };
  const blocks = objectsIn(content);
  const delta = definedFields({ stop_reason, stop_sequence, stop_details, container });
  return [
    { type: "message_start", message: started },
    ...blocks.flatMap(eventsOfBlock),
    { type: "message_delta", delta, usage, ...definedFields({ context_management, input_transformations }) },
    { type: "message_stop" },
  ];
}

function eventsOfBlock(block: JsonObject, index: number): JsonObject[] {
  const { begun, deltas } = partsOf(completeBlock(block));
  return [
    { type: "content_block_start", index, content_block: begun },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

/** beginningOf returns a block that a server begins as Anthropic does, without what deltas say, and the deltas for what it had said. */
export function beginningOf(block: JsonObject): { readonly begun: JsonObject; readonly untold: readonly JsonObject[] } {
  const { text, thinking, input } = block;
  const isText = isFilledText(text);
  const isThinking = isFilledText(thinking);
  const isInput = typeof input === "string" ? input !== "" : isObject(input) && Object.keys(input).length > 0;
  if (!isText && !isThinking && !isInput) return { begun: input === "" ? { ...block, input: {} } : block, untold: [] };
  const { begun, deltas } = partsOf(block);
  return { begun, untold: deltas };
}

/** partsOf returns the block as it begins, and its deltas. Unknown types begin complete. */
function partsOf(block: JsonObject): { readonly begun: JsonObject; readonly deltas: readonly JsonObject[] } {
  const { type, text, thinking, signature, input, citations, content, encrypted_content } = block;
  if (type === "text" && typeof text === "string") {
    const cited = listOrEmpty(citations);
    const deltas = cited.map((citation: JsonValue) => ({ type: "citations_delta", citation }));
    return {
      begun: emptied(block, { text: "" }, cited),
      deltas: [{ type: "text_delta", text }, ...deltas],
    };
  }
  if (type === "thinking" && typeof thinking === "string") {
    const signed = typeof signature === "string" ? [{ type: "signature_delta", signature }] : [];
    return {
      begun: { ...block, thinking: "", signature: "" },
      deltas: [{ type: "thinking_delta", thinking }, ...signed],
    };
  }
  if (type === "compaction") {
    const summary = definedFields({ content, encrypted_content });
    const begun = { ...block, ...Object.fromEntries(Object.keys(summary).map((key) => [key, null])) };
    return { begun, deltas: [{ type: "compaction_delta", ...summary }] };
  }
  if (typeof type === "string" && type.endsWith("tool_use") && (isObject(input) || typeof input === "string")) {
    const partial_json = typeof input === "string" ? input : JSON.stringify(input);
    const deltas = [{ type: "input_json_delta", partial_json }];
    return { begun: { ...block, input: {} }, deltas };
  }
  return { begun: block, deltas: [] };
}

/** Empties the list of citations, which follow as deltas; an empty list stays as it was. */
function emptied(block: JsonObject, changes: JsonObject, items: readonly JsonValue[]): JsonObject {
  return items.length > 0 ? { ...block, ...changes, citations: [] } : { ...block, ...changes };
}
