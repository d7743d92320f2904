/**
 * An assistant's turn in the history → one chat message.
 *
 * Thinking without a signature came from this translation, so from a chat model that shows its reasoning: some of
 * those fail when it does not come back with their tool calls, so it goes into `reasoning_content`. Thinking that a
 * vendor has signed only that vendor takes; it is left out, as is all that a chat model never says (redacted
 * thinking, the vendor's own tools and their results). What this gateway has sealed of reasoning goes back where it is
 * read: to who is asked for responses.
 */
import { ContentBlockType } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { missingField } from "../../../call/refusals.ts";
import { isSealedReasoning } from "../../../providers/profile/reasoning-seal.ts";
import { isSealedSignature } from "../../../providers/profile/sealed-signature.ts";
import { type CooperativeTask, itemsPerSlice } from "../../../runtime/cooperative.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { ownId, signatureBeside, signatureBesideText } from "../../call-signature.ts";
import { fieldsSet } from "../fields.ts";
import type { ToolNames } from "../names.ts";
import type { PlacedBlock } from "./content.ts";

/** What is told of a conversation, and by which names. */
export interface Telling {
  readonly names: ToolNames;
  /** The model's name at its upstream. */
  readonly target: string | undefined;
  /** Whether sealed reasoning is read by whoever takes the chat. */
  readonly readsSeals: boolean;
  /** Takes the paths of what is left out. */
  readonly unsaid: Set<string>;
}

export function* assistantMessage(
  blocks: readonly PlacedBlock[],
  { names, target, readsSeals, unsaid }: Telling,
): CooperativeTask<JsonObject> {
  let text = "";
  let reasoning = "";
  let signature = "";
  const calls: JsonObject[] = [];
  const thoughts: JsonObject[] = [];
  for (const [i, placed] of blocks.entries()) {
    if (i % itemsPerSlice === itemsPerSlice - 1) yield;
    const { block, path } = placed;
    const sealed = readsSeals ? sealedBlock(block) : undefined;
    if (sealed) thoughts.push(sealed);
    else if (block.type === ContentBlockType.TEXT) text += block.text ?? "";
    else if (block.type === ContentBlockType.TOOL_USE) calls.push(toolCall(placed, names, calls.length === 0, target));
    else if (block.type === ContentBlockType.THINKING && !block.signature) reasoning += block.thinking ?? "";
    else if (isSealedSignature(block.data)) signature = block.data ?? "";
    else unsaid.add(path);
  }
  return fieldsSet({
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    reasoning_content: reasoning || undefined,
    thinking_blocks: thoughts.length > 0 ? thoughts : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
    ...signatureBesideText(signature, target),
  });
}

/** Returns what this gateway has sealed; undefined for any other block. */
function sealedBlock({ type, thinking = "", signature, data }: PlacedBlock["block"]): JsonObject | undefined {
  if (type === ContentBlockType.THINKING && isSealedReasoning(signature)) {
    return { type: "thinking", thinking, signature };
  }
  return type === ContentBlockType.REDACTED_THINKING && isSealedReasoning(data)
    ? { type: "redacted_thinking", data }
    : undefined;
}

function toolCall({ block, path }: PlacedBlock, names: ToolNames, isFirst: boolean, target?: string): JsonObject {
  const { id, name, input } = block;
  if (!id) throw missingField(`${path}.id`);
  if (!name) throw missingField(`${path}.name`);
  const called = { name: names.toChat(name), arguments: JSON.stringify(input ?? {}) };
  return { id: ownId(id), type: "function", function: called, ...signatureBeside(id, isFirst, target) };
}
