/**
 * The messages of a chat → the items of a conversation.
 *
 * A turn of the assistant's becomes its reasoning, what it said, and its calls, each an item; its reasoning stands where its vendor
 * told it. What no item can hold is left out and named, but for what the model must not do without.
 */

import { type CooperativeTask, itemsPerSlice } from "../../runtime/cooperative.ts";
import { asText, isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import { ownId } from "../call-signature.ts";
import type { Dropped } from "../chat-to-messages/request/dropped.ts";
import { fieldsSet } from "../messages-to-chat/fields.ts";
import type { ReasoningItems } from "../translation.ts";
import { contentOf, textOfParts } from "./content.ts";
import { Thoughts } from "./thoughts.ts";

/** Throws a Refusal for what the model must not do without. */
export function* itemsOf(
  messages: JsonValue | undefined,
  reasoning: ReasoningItems | undefined,
  dropped: Dropped,
): CooperativeTask<JsonObject[]> {
  const conversation = new Conversation(reasoning, dropped);
  for (const [i, message] of (Array.isArray(messages) ? messages : []).entries()) {
    if (i % itemsPerSlice === itemsPerSlice - 1) yield;
    if (isObject(message)) yield* conversation.take(message, `messages[${i}]`);
  }
  return conversation.items;
}

class Conversation {
  readonly items: JsonObject[] = [];
  readonly #reasoning: ReasoningItems | undefined;
  readonly #dropped: Dropped;
  /** The ids of the calls of custom tools. */
  readonly #custom = new Set<string>();
  /** The last call in the oldest form, which has no id. */
  #legacy = "";

  constructor(reasoning: ReasoningItems | undefined, dropped: Dropped) {
    this.#reasoning = reasoning;
    this.#dropped = dropped;
  }

  *take(message: JsonObject, path: string): CooperativeTask<void> {
    const { role } = message;
    switch (role) {
      case "assistant":
        yield* this.#assistant(message, path);
        return;
      case "tool":
        yield* this.#result(message, asText(message.tool_call_id), path);
        return;
      case "function":
        yield* this.#result(message, this.#legacy, path);
        return;
    }
    this.#name(message, ["role", "content"], path);
    const content = yield* contentOf(message.content, `${path}.content`, this.#dropped);
    this.items.push({ type: "message", role: role ?? "user", content });
  }

  *#assistant(message: JsonObject, path: string): CooperativeTask<void> {
    const known = ["role", "content", "refusal", "tool_calls", "function_call", "thinking_blocks"];
    this.#name(message, [...known, "reasoning_content", "reasoning"], path);
    const calls = yield* this.#calls(message, path);
    const said = yield* this.#said(message, path);
    const thoughts = new Thoughts(message, path, this.#reasoning, this.#dropped);
    const goesOn = said.length > 0 || calls.length > 0;
    this.items.push(...thoughts.before(0, goesOn), ...said);
    for (const [i, call] of calls.entries()) {
      if (i % itemsPerSlice === itemsPerSlice - 1) yield;
      if (i > 0) this.items.push(...thoughts.before(i, true));
      this.items.push(call);
    }
    thoughts.nameRest();
  }

  *#said({ content, refusal }: JsonObject, path: string): CooperativeTask<JsonObject[]> {
    const text = yield* textOfParts(content, `${path}.content`, this.#dropped);
    const refused = asText(refusal);
    if (refused === "") return text === "" ? [] : [{ type: "message", role: "assistant", content: text }];
    const parts = text === "" ? [] : [{ type: "output_text", text }];
    const said = [...parts, { type: "refusal", refusal: refused }];
    return [{ type: "message", role: "assistant", content: said }];
  }

  *#calls({ tool_calls, function_call: legacy }: JsonObject, path: string): CooperativeTask<JsonObject[]> {
    const items: JsonObject[] = [];
    for (const [i, call] of (Array.isArray(tool_calls) ? tool_calls : []).entries()) {
      if (i % itemsPerSlice === itemsPerSlice - 1) yield;
      items.push(...this.#call(call, `${path}.tool_calls[${i}]`));
    }
    if (!isObject(legacy)) return items;
    this.#legacy = `call_${this.items.length}`;
    const { name, arguments: args = "" } = legacy;
    return [...items, fieldsSet({ type: "function_call", call_id: this.#legacy, name, arguments: args })];
  }

  #call(call: JsonValue, path: string): JsonObject[] {
    if (!isObject(call)) return [];
    const { id, function: called, custom } = call;
    const call_id = ownId(asText(id));
    if (isObject(called)) {
      const { name, arguments: args = "" } = called;
      return [fieldsSet({ type: "function_call", call_id, name, arguments: args })];
    }
    if (isObject(custom)) {
      this.#custom.add(call_id);
      return [fieldsSet({ type: "custom_tool_call", call_id, name: custom.name, input: custom.input ?? "" })];
    }
    this.#dropped.add(path);
    return [];
  }

  *#result({ content }: JsonObject, id: string, path: string): CooperativeTask<void> {
    const call_id = ownId(id);
    const type = this.#custom.has(call_id) ? "custom_tool_call_output" : "function_call_output";
    const output = yield* textOfParts(content, `${path}.content`, this.#dropped, "\n");
    this.items.push({ type, call_id, output });
  }

  /** Names what a message has besides these. */
  #name(message: JsonObject, known: readonly string[], path: string): void {
    this.#dropped.addExtra(message, path, known);
  }
}
