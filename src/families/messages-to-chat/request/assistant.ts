/**
 * An assistant's turn of the history → one chat message.
 *
 * Thinking without a signature came from this translation, so from a chat model that shows its reasoning. Some of
 * those fail unless it comes back with their tool calls, so it becomes `reasoning_content`. Thinking signed by a
 * vendor is valid for that vendor only and dropped, as is redacted thinking. Calls of the vendor's own tools become
 * calls (`vendor-blocks.ts`). Reasoning sealed by this gateway is kept where the upstream is asked for responses.
 */
import { ContentBlockType } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { missingField } from "../../../call/refusals.ts";
import { isSealedReasoning } from "../../../providers/profile/reasoning-seal.ts";
import { isSealedSignature } from "../../../providers/profile/sealed-signature.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { definedFields, type JsonObject } from "../../../wire/json.ts";
import {
  detailsIn,
  detailsMembers,
  endsText,
  signatureForCall,
  signatureForText,
  unsignedId,
  withText,
} from "../../call-signature.ts";
import { madeFrom } from "../../paths/origins.ts";
import type { Target } from "../../translation.ts";
import type { ToolNames } from "../tool-names.ts";
import type { Marks, PlacedBlock } from "./content.ts";
import { vendorCall } from "./vendor-blocks.ts";

/** ConversationContext is what the translation of a conversation needs. */
export interface ConversationContext {
  readonly names: ToolNames;
  readonly target: Target | undefined;
  /** readsSeals is whether sealed reasoning is unsealed further on. */
  readonly readsSeals: boolean;
  /** marks receives the paths of the marks of a cached prompt that are taken over. */
  readonly marks: Marks;
  /** Receives the paths of what is dropped. */
  readonly omitted: Set<string>;
}

export function* assistantMessage(
  blocks: readonly PlacedBlock[],
  { names, target, readsSeals, omitted }: ConversationContext,
): CooperativeTask<JsonObject> {
  let text = "";
  let reasoning = "";
  let unsigned = "";
  let signature = "";
  const calls: JsonObject[] = [];
  const details: JsonObject[] = [];
  const thoughts: JsonObject[] = [];
  for (const [i, placed] of blocks.entries()) {
    if (endsSlice(i)) yield;
    const { block, path } = placed;
    const sealed = readsSeals ? sealedBlock(block) : undefined;
    const vendors = vendorCall(block);
    if (sealed) thoughts.push(sealed);
    else if (vendors) calls.push(madeFrom(path, callJson(vendors, names, calls.length === 0, target)));
    else if (block.type === ContentBlockType.TEXT) text += block.text ?? "";
    else if (block.type === ContentBlockType.TOOL_USE) calls.push(toolCall(placed, names, calls.length === 0, target));
    else if (block.type === ContentBlockType.THINKING && !block.signature) {
      reasoning += block.thinking ?? "";
      unsigned += block.thinking ?? "";
    } else if (isSealedSignature(block.data)) {
      const sealedHere = detailsIn(block.data ?? "", target);
      if (sealedHere) {
        // A caller may seal more than a call takes arguments.
        for (const detail of withText(sealedHere, unsigned)) details.push(detail);
        if (endsText(sealedHere)) unsigned = "";
      } else signature = block.data ?? "";
    } else omitted.add(path);
  }
  return definedFields({
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    reasoning_content: reasoning || undefined,
    thinking_blocks: thoughts.length > 0 ? thoughts : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
    ...signatureForText(signature, target),
    ...detailsMembers(details),
  });
}

/** sealedBlock returns reasoning that this gateway sealed; undefined for any other block. */
function sealedBlock({ type, thinking = "", signature, data }: PlacedBlock["block"]): JsonObject | undefined {
  if (type === ContentBlockType.THINKING && isSealedReasoning(signature)) {
    return { type: "thinking", thinking, signature };
  }
  return type === ContentBlockType.REDACTED_THINKING && isSealedReasoning(data)
    ? { type: "redacted_thinking", data }
    : undefined;
}

function toolCall({ block, path }: PlacedBlock, names: ToolNames, isFirst: boolean, target?: Target): JsonObject {
  const { id, name, input } = block;
  if (!id) throw missingField(`${path}.id`);
  if (!name) throw missingField(`${path}.name`);
  return madeFrom(path, callJson({ id, name, input: input ?? {} }, names, isFirst, target));
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
}

function callJson({ id, name, input }: Call, names: ToolNames, isFirst: boolean, target?: Target): JsonObject {
  const called = { name: names.toChat(name), arguments: JSON.stringify(input) };
  return { id: unsignedId(id), type: "function", function: called, ...signatureForCall(id, isFirst, target) };
}
