/**
 * Consecutive items of the model's → one assistant's message.
 *
 * Reasoning comes first, then text, then calls, since chat keeps calls next to their results. Reasoning becomes
 * `reasoning_content`, which some models want with their calls, and the vendor's own signed blocks where the request
 * ends up in the vendor's own API or goes back to the aggregator that passed them on. Reasoning that nothing follows is
 * dropped.
 */

import { type ResponseItem, ResponseItemType } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { missingField } from "../../../call/refusals.ts";
import { definedFields, isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import {
  detailsIn,
  detailsMembers,
  endsText,
  signatureForCall,
  signatureForText,
  signatureOf,
  unsignedId,
  withText,
} from "../../call-signature.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { madeFrom } from "../../paths/origins.ts";
import { wrappedText } from "../../tools/wrapped-tool.ts";
import type { Target } from "../../translation.ts";
import { unsealed } from "../seal.ts";
import type { ToolNames } from "../tool-names.ts";
import { isText } from "./content.ts";

/** ConversationContext is what the turns of a conversation share. */
export interface ConversationContext {
  readonly names: ToolNames;
  readonly customTools: boolean | undefined;
  /** passesBlocks is whether chat goes on to a translation that reads signed thinking and parts of results. */
  readonly passesBlocks: boolean;
  readonly dropped: Dropped;
  readonly target: Target | undefined;
}

export class AssistantTurn {
  readonly #path: string;
  readonly #reasoning: string[] = [];
  /** The reasoning since the last seal. */
  readonly #unsigned: string[] = [];
  readonly #blocks: JsonValue[] = [];
  readonly #texts: string[] = [];
  #refusal = "";
  readonly #calls: JsonObject[] = [];
  readonly #details: JsonObject[] = [];
  /** The sealed signature of its text; empty without one. */
  #signature = "";

  readonly #context: ConversationContext;

  /** `path` is that of its first item. */
  constructor(path: string, context: ConversationContext) {
    this.#path = path;
    this.#context = context;
  }

  /** isClosed is whether a message or reasoning that comes now belongs to the next turn. */
  get isClosed(): boolean {
    return this.#calls.length === 0 && (this.#texts.length > 0 || this.#refusal !== "");
  }

  say({ content, extra }: ResponseItem): void {
    this.#signature ||= signatureOf(extra);
    if (content.case === "contentText") this.#texts.push(content.value);
    if (content.case !== "contentParts") return;
    const { parts } = content.value;
    const text = parts
      .filter(isText)
      .map((part) => part.text ?? "")
      .join("");
    this.#refusal += parts.map(({ refusal = "" }) => refusal).join("");
    if (text !== "") this.#texts.push(text);
  }

  reason({ summary, content, encryptedContent }: ResponseItem, path: string): void {
    const { dropped, passesBlocks } = this.#context;
    const full = content.case === "contentParts" ? content.value.parts : [];
    const thoughts = (full.length > 0 ? full : summary).map(({ text = "" }) => text).filter(Boolean);
    this.#reasoning.push(...thoughts);
    this.#unsigned.push(...thoughts);
    if (encryptedContent === undefined) return;
    const blocks = unsealed(encryptedContent);
    const others = (blocks ?? []).filter((block) => !this.#takeDetails(block));
    // A caller may seal more than a call takes arguments.
    if (passesBlocks) for (const other of others) this.#blocks.push(other);
    if (!blocks || (!passesBlocks && others.length > 0)) dropped.add(`${path}.encrypted_content`);
  }

  /** Takes OpenRouter's details. Returns false for any other block. */
  #takeDetails(block: JsonValue): boolean {
    const seal = isObject(block) && typeof block.data === "string" ? block.data : "";
    const details = detailsIn(seal, this.#context.target);
    if (!details) return false;
    const thoughts = endsText(details) ? this.#unsigned.splice(0) : [];
    for (const detail of withText(details, thoughts.join("\n\n"))) this.#details.push(detail);
    return true;
  }

  call(item: ResponseItem, path: string): void {
    const { callId, name: called, input = "" } = item;
    if (!callId) throw missingField(`${path}.call_id`);
    if (!called) throw missingField(`${path}.name`);
    const { names, customTools } = this.#context;
    const name = names.chatNameOf(item.namespace || undefined, called);
    const isCustom = item.type === ResponseItemType.CUSTOM_TOOL_CALL;
    if (isCustom && customTools !== false) this.#push(callId, path, { type: "custom", custom: { name, input } });
    else this.callTool(callId, path, name, isCustom ? wrappedText(input) : argumentsOf(item));
  }

  /** Adds a call by the tool's name in chat. `path` is its item's, and `input` JSON text. */
  callTool(callId: string, path: string, name: string, input: string): void {
    this.#push(callId, path, { type: "function", function: { name, arguments: input } });
  }

  #push(callId: string, path: string, call: JsonObject): void {
    const signature = signatureForCall(callId, this.#calls.length === 0, this.#context.target);
    this.#calls.push(madeFrom(path, { id: unsignedId(callId), ...call, ...signature }));
  }

  /** Returns the turn's message, if it has one. */
  message(): JsonObject[] {
    const says = this.#texts.length > 0;
    if (!says && this.#refusal === "" && this.#calls.length === 0) {
      if (this.#reasoning.length > 0 || this.#blocks.length > 0) this.#context.dropped.add(this.#path);
      return [];
    }
    const message = definedFields({
      role: "assistant",
      content: says ? this.#texts.join("\n") : null,
      refusal: this.#refusal || undefined,
      reasoning_content: this.#reasoning.length > 0 ? this.#reasoning.join("\n\n") : undefined,
      thinking_blocks: this.#blocks.length > 0 ? this.#blocks : undefined,
      tool_calls: this.#calls.length > 0 ? this.#calls : undefined,
      ...signatureForText(this.#signature, this.#context.target),
      ...detailsMembers(this.#details),
    });
    return [madeFrom(this.#path, message)];
  }
}

function argumentsOf({ arguments: text, extra }: ResponseItem): string {
  return text ?? JSON.stringify(extra?.arguments ?? {});
}
