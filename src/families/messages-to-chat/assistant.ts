/**
 * An assistant's turn in the history → one chat message.
 *
 * Thinking without a signature came from this translation, so from a chat model that shows its reasoning: some of
 * those fail when it does not come back with their tool calls, so it goes into `reasoning_content`. Thinking that a
 * vendor has signed only that vendor takes; it is left out, as is all that a chat model never says (redacted
 * thinking, the vendor's own tools and their results).
 */
import { ContentBlockType } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { missingField } from "../../errors.ts";
import { isSealedSignature } from "../../providers/sealed-signature.ts";
import type { JsonObject } from "../../wire/json.ts";
import { aTurn, type Work } from "../../work.ts";
import { ownId, signatureBeside, signatureBesideText } from "../call-signature.ts";
import type { PlacedBlock } from "./content.ts";
import { fieldsSet } from "./fields.ts";
import type { ToolNames } from "./names.ts";

/** What is told of a conversation, and by which names. */
export interface Telling {
  readonly names: ToolNames;
  /** The model's name at its upstream. */
  readonly target: string | undefined;
  /** Takes the paths of what is left out. */
  readonly unsaid: Set<string>;
}

export function* assistantMessage(
  blocks: readonly PlacedBlock[],
  { names, target, unsaid }: Telling,
): Work<JsonObject> {
  let text = "";
  let reasoning = "";
  let sealed = "";
  const calls: JsonObject[] = [];
  for (const [i, placed] of blocks.entries()) {
    if (i % aTurn === aTurn - 1) yield;
    const { block, path } = placed;
    if (block.type === ContentBlockType.TEXT) text += block.text ?? "";
    else if (block.type === ContentBlockType.TOOL_USE) calls.push(toolCall(placed, names, calls.length === 0, target));
    else if (block.type === ContentBlockType.THINKING && !block.signature) reasoning += block.thinking ?? "";
    else if (isSealedSignature(block.data)) sealed = block.data ?? "";
    else unsaid.add(path);
  }
  return fieldsSet({
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    reasoning_content: reasoning || undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
    ...signatureBesideText(sealed, target),
  });
}

function toolCall({ block, path }: PlacedBlock, names: ToolNames, isFirst: boolean, target?: string): JsonObject {
  const { id, name, input } = block;
  if (!id) throw missingField(`${path}.id`);
  if (!name) throw missingField(`${path}.name`);
  const called = { name: names.toChat(name), arguments: JSON.stringify(input ?? {}) };
  return { id: ownId(id), type: "function", function: called, ...signatureBeside(id, isFirst, target) };
}
