/** Answers and chunks of a chat in place of a message → a message and its events: servers that take any request for chat send them. */
import type { ToldUsage } from "../../../call/usage.ts";
import {
  definedFields,
  isObject,
  type JsonObject,
  type JsonValue,
  parsedJson,
  textOrEmpty,
} from "../../../wire/json.ts";
import { ChatUsageReader } from "../../usage/chat-counts.ts";
import { membersOf } from "../../usage/count.ts";
import { callsIn, firstOf, isOfChat, messageIn, textIn, thinkingIn } from "./chat-said.ts";
import { isNativePiece } from "./chunks.ts";

/** isForeignToMessages reports a piece of a stream that is of another API than messages. Their own events have a type. */
export function isForeignToMessages(piece: JsonObject): boolean {
  if (/^(message|content_block)_|^ping$/.test(textOrEmpty(piece.type))) return false;
  return isOfChat(piece) || isNativePiece(piece);
}

/** messageOfChat returns the message that an answer of a chat is; undefined where it says nothing. */
export function messageOfChat(answer: JsonObject): JsonObject | undefined {
  const choice = firstOf(answer.choices);
  const message = messageIn(choice);
  const content = [
    ...blockOf("thinking", thinkingIn(message), { signature: "" }),
    ...blockOf("text", textIn(message.content) || textOrEmpty(message.refusal)),
    ...callsIn(message).map(({ id = "", function: called }) => {
      const { name = "", arguments: written } = membersOf(called);
      return { type: "tool_use", id, name, input: inputOf(written) };
    }),
  ];
  if (content.length === 0) return undefined;
  const { id = "", model = "" } = answer;
  const stop_reason = choice.finish_reason ?? null;
  return {
    ...{ id, type: "message", role: "assistant", model, content, stop_reason, stop_sequence: null },
    ...told(answer),
  };
}

function inputOf(written: JsonValue | undefined): JsonValue {
  const input = typeof written === "string" ? parsedJson(written, true) : written;
  return isObject(input) ? input : {};
}

function blockOf(type: "thinking" | "text", text: string, more: JsonObject = {}): JsonObject[] {
  return text === "" ? [] : [{ type, [type]: text, ...more }];
}

/** told returns the usage that an answer or a chunk tells, by the names of messages. */
function told(answer: JsonObject): JsonObject {
  const counts = new ChatUsageReader();
  return counts.take(answer) ? { usage: messageUsage(counts.reported) } : {};
}

function messageUsage({ input, output, cacheRead, cacheWrite }: ToldUsage): JsonObject {
  return definedFields({
    ...{ input_tokens: input, output_tokens: output },
    ...{ cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheWrite },
  });
}

/** ChatAsEvents makes the events of a message of the chunks of one stream. */
export class ChatAsEvents {
  readonly #indexes = new Map<string, number>();
  /** The block of text or thinking that goes on. */
  #open: string | undefined;
  #hasBegun = false;
  #next = 0;

  /** events returns what a chunk says, in the events of a message. */
  events(chunk: JsonObject): JsonObject[] {
    const choice = firstOf(chunk.choices);
    const { finish_reason: end = null } = choice;
    const piece = messageIn(choice);
    const usage = told(chunk);
    const isEnd = end !== null && end !== "";
    const said = [
      ...this.#say("thinking", thinkingIn(piece)),
      ...this.#say("text", textIn(piece.content) || textOrEmpty(piece.refusal)),
      ...callsIn(piece).flatMap((call) => this.#call(call)),
      ...(isEnd ? this.#close() : []),
    ];
    const last = isEnd
      ? [{ type: "message_delta", delta: { stop_reason: end, stop_sequence: null }, usage: {}, ...usage }]
      : [];
    const late = !isEnd && usage.usage !== undefined ? [{ type: "message_delta", delta: {}, ...usage }] : [];
    return [...this.#begin(chunk), ...said, ...last, ...late];
  }

  #begin({ id = "", model = "" }: JsonObject): JsonObject[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    const head = {
      ...{ id, type: "message", role: "assistant", model, content: [] },
      stop_reason: null,
      stop_sequence: null,
    };
    return [{ type: "message_start", message: { ...head, usage: { input_tokens: 0, output_tokens: 0 } } }];
  }

  #say(type: "thinking" | "text", text: string): JsonObject[] {
    if (text === "") return [];
    const begun = this.#open === type ? [] : [...this.#close(), this.#start(type, { type, [type]: "" })];
    this.#open = type;
    return [...begun, this.#delta(type, { type: `${type}_delta`, [type]: text })];
  }

  /** #call leaves the blocks of calls open: their pieces may come in turns. */
  #call({ index = 0, id, function: called }: JsonObject): JsonObject[] {
    const key = `call ${index}`;
    const { name = "", arguments: piece } = membersOf(called);
    const begun = this.#indexes.has(key)
      ? []
      : [...this.#close(), this.#start(key, { type: "tool_use", id: textOrEmpty(id), name, input: {} })];
    const partial_json = isObject(piece) ? JSON.stringify(piece) : textOrEmpty(piece);
    return partial_json === "" ? begun : [...begun, this.#delta(key, { type: "input_json_delta", partial_json })];
  }

  #start(key: string, content_block: JsonObject): JsonObject {
    const index = this.#next++;
    this.#indexes.set(key, index);
    return { type: "content_block_start", index, content_block };
  }

  #delta(key: string, delta: JsonObject): JsonObject {
    return { type: "content_block_delta", index: this.#indexes.get(key) ?? 0, delta };
  }

  #close(): JsonObject[] {
    if (this.#open === undefined) return [];
    const index = this.#indexes.get(this.#open) ?? 0;
    this.#indexes.delete(this.#open);
    this.#open = undefined;
    return [{ type: "content_block_stop", index }];
  }
}
