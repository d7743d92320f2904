/**
 * The messages of a chat → the items of a conversation.
 *
 * A turn of the assistant's becomes its reasoning, its message and its calls, each an item; the reasoning keeps its
 * position. What no item can hold is dropped and named, or refused where the model must not do without it.
 */
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import {
  definedFields,
  isObject,
  type JsonObject,
  type JsonValue,
  listOrEmpty,
  textOrEmpty,
} from "../../../wire/json.ts";
import { withBreakpoints } from "../../cache-marks.ts";
import { unsignedId } from "../../call-signature.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { pairedItems } from "../../tools/paired-items.ts";
import type { ReasoningItems, TranslationContext } from "../../translation.ts";
import { contentOf, textOfParts } from "./content.ts";
import { PastReasoning } from "./reasoning.ts";

/** itemsOf throws a Refusal for what the model must not do without. */
export function* itemsOf(
  messages: JsonValue | undefined,
  { reasoningItems, marksCache = false }: TranslationContext,
  dropped: Dropped,
): CooperativeTask<JsonObject[]> {
  const conversation = new Conversation(reasoningItems, dropped);
  for (const [i, message] of listOrEmpty(messages).entries()) {
    if (endsSlice(i)) yield;
    if (isObject(message)) yield* conversation.take(marksCache ? marked(message) : message, `messages[${i}]`);
  }
  return (yield* pairedItems(conversation.items)) as JsonObject[];
}

/** marked marks what is an item of its own: the model's turns are put together anew. */
function marked(message: JsonObject): JsonObject {
  return ["system", "developer", "user"].includes(message.role as string) ? withBreakpoints(message) : message;
}

class Conversation {
  readonly items: JsonObject[] = [];
  readonly #reasoning: ReasoningItems | undefined;
  readonly #dropped: Dropped;
  /** The ids of calls of custom tools. */
  readonly #custom = new Set<string>();
  /** The id given to the last `function_call`, which has none. */
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
        yield* this.#result(message, textOrEmpty(message.tool_call_id), path);
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
    const messages = yield* this.#said(message, path);
    const thoughts = new PastReasoning(message, path, this.#reasoning, this.#dropped);
    const goesOn = messages.length > 0 || calls.length > 0;
    this.items.push(...thoughts.before(0, goesOn), ...messages);
    for (const [i, call] of calls.entries()) {
      if (endsSlice(i)) yield;
      if (i > 0) this.items.push(...thoughts.before(i, true));
      this.items.push(call);
    }
    thoughts.dropRest();
  }

  *#said({ content, refusal }: JsonObject, path: string): CooperativeTask<JsonObject[]> {
    const text = yield* textOfParts(content, `${path}.content`, this.#dropped);
    const refused = textOrEmpty(refusal);
    if (refused === "") return text === "" ? [] : [{ type: "message", role: "assistant", content: text }];
    const parts = text === "" ? [] : [{ type: "output_text", text }];
    const messages = [...parts, { type: "refusal", refusal: refused }];
    return [{ type: "message", role: "assistant", content: messages }];
  }

  *#calls({ tool_calls, function_call: legacy }: JsonObject, path: string): CooperativeTask<JsonObject[]> {
    const items: JsonObject[] = [];
    for (const [i, call] of listOrEmpty(tool_calls).entries()) {
      if (endsSlice(i)) yield;
      items.push(...this.#call(call, `${path}.tool_calls[${i}]`));
    }
    if (!isObject(legacy)) return items;
    this.#legacy = `call_${this.items.length}`;
    const { name, arguments: args = "" } = legacy;
    return [...items, definedFields({ type: "function_call", call_id: this.#legacy, name, arguments: args })];
  }

  #call(call: JsonValue, path: string): JsonObject[] {
    if (!isObject(call)) return [];
    const { id, function: called, custom } = call;
    const call_id = unsignedId(textOrEmpty(id));
    if (isObject(called)) {
      const { name, arguments: args = "" } = called;
      return [definedFields({ type: "function_call", call_id, name, arguments: args })];
    }
    if (isObject(custom)) {
      this.#custom.add(call_id);
      return [definedFields({ type: "custom_tool_call", call_id, name: custom.name, input: custom.input ?? "" })];
    }
    this.#dropped.add(path);
    return [];
  }

  *#result({ content }: JsonObject, id: string, path: string): CooperativeTask<void> {
    const call_id = unsignedId(id);
    const type = this.#custom.has(call_id) ? "custom_tool_call_output" : "function_call_output";
    const output = hasOtherParts(content)
      ? yield* contentOf(content, `${path}.content`, this.#dropped)
      : yield* textOfParts(content, `${path}.content`, this.#dropped, "\n");
    this.items.push({ type, call_id, output });
  }

  /** Names the other members of a message. */
  #name(message: JsonObject, known: readonly string[], path: string): void {
    this.#dropped.addExtra(message, path, known);
  }
}

/** hasOtherParts reports whether a result has an image or a file among its parts: then it stays a list. */
function hasOtherParts(content: JsonValue | undefined): boolean {
  if (!Array.isArray(content)) return false;
  return content.some((part) => isObject(part) && (isObject(part.image_url) || isObject(part.file)));
}
