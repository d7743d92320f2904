/**
 * A chat conversation → instructions, and turns as the Messages API takes them: they alternate, begin with the
 * user's, none is empty, every tool call has its result in the next turn, and results come first in theirs.
 *
 * Instructions are collected from wherever they stand. Broken histories are mended: a call without a result gets one
 * that says so, and a result without a call becomes text of the user's.
 */
import { type ChatMessage, Role } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { missingField } from "../../../call/refusals.ts";
import { refusesPrefill } from "../../../providers/anthropic/generation.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import type { JsonObject } from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { interrupted, withoutCall } from "../../tools/paired-results.ts";
import { assistantBlocks } from "./assistant.ts";
import { cacheMark, contentBlocks } from "./content.ts";
import { thinkingKeys } from "./past-thinking.ts";
import { Calls } from "./tool-calls.ts";
import { mendTurns, type Turn } from "./turns.ts";

export interface Conversation {
  readonly system: readonly JsonObject[];
  readonly turns: readonly Turn[];
}

/** Keys outside the schema that every message may have. */
const marks = ["cache_control"];

/** conversationOf returns the conversation as the model takes it. `model` is the upstream's name of it. */
export function* conversationOf(
  messages: readonly ChatMessage[],
  model: string,
  dropped: Dropped,
): CooperativeTask<Conversation> {
  const builder = new ConversationBuilder(dropped);
  for (const [i, message] of messages.entries()) {
    yield* builder.add(message, `messages[${i}]`);
    if (endsSlice(i)) yield;
  }
  return builder.end(refusesPrefill(model));
}

class ConversationBuilder {
  readonly #dropped: Dropped;
  readonly #calls = new Calls();
  readonly #system: JsonObject[] = [];
  readonly #turns: Turn[] = [];

  constructor(dropped: Dropped) {
    this.#dropped = dropped;
  }

  *add(message: ChatMessage, path: string): CooperativeTask<void> {
    switch (message.role) {
      case Role.SYSTEM:
      case Role.DEVELOPER:
        this.#nameRest(message, path, marks);
        this.#system.push(...this.#marked(yield* contentBlocks(message, path, "system", this.#dropped), message, path));
        return;
      case Role.USER:
        this.#nameRest(message, path, marks);
        this.#turn("user").blocks.push(
          ...this.#marked(yield* contentBlocks(message, path, "user", this.#dropped), message, path),
        );
        return;
      case Role.ASSISTANT:
        this.#nameRest(message, path, [...marks, ...thinkingKeys]);
        yield* this.#assistant(message, path);
        return;
      case Role.TOOL:
      case Role.FUNCTION:
        this.#dropped.addExtra(message.extra, path, isErrorOf(message) === undefined ? marks : [...marks, "is_error"]);
        yield* this.#result(message, path);
        return;
    }
    throw missingField(`${path}.role`);
  }

  end(endsWithUser: boolean): Conversation {
    this.#answerOpenCalls();
    mendTurns(this.#turns, endsWithUser);
    return { system: this.#system, turns: this.#turns };
  }

  *#assistant(message: ChatMessage, path: string): CooperativeTask<void> {
    if (this.#turns.at(-1)?.role === "user") this.#answerOpenCalls();
    const blocks = this.#marked(yield* assistantBlocks(message, path, this.#calls, this.#dropped), message, path);
    // An empty message is no turn: its neighbours become one.
    if (blocks.length > 0) this.#turn("assistant").blocks.push(...blocks);
  }

  *#result(message: ChatMessage, path: string): CooperativeTask<void> {
    const { toolCallId = "", name, content, extra } = message;
    const id = this.#calls.answer(toolCallId, name);
    const blocks = yield* contentBlocks(message, path, "user", this.#dropped);
    if (id === undefined) {
      this.#dropped.add(toolCallId ? `${path}.tool_call_id` : name ? `${path}.name` : path);
      const heading = blocks.length > 0 ? [{ type: "text", text: withoutCall }] : [];
      this.#turn("user").blocks.push(...heading, ...this.#marked(blocks, message, path));
      return;
    }
    const result: JsonObject = { type: "tool_result", tool_use_id: id };
    // Claude refuses a mark inside a result: it is the result's.
    const marked = blocks.findLast(({ cache_control: mark }) => mark !== undefined);
    if (blocks.length > 0) result.content = content.case === "text" ? content.value : blocks.map(withoutMark);
    if (marked) result.cache_control = marked.cache_control as JsonObject;
    const isError = isErrorOf(message);
    if (isError !== undefined) result.is_error = isError;
    this.#turn("user").results.push({ ...result, ...cacheMark(extra, path, this.#dropped) });
  }

  #turn(role: Turn["role"]): Turn {
    const last = this.#turns.at(-1);
    if (last?.role === role) return last;
    const turn = { role, results: [], blocks: [] };
    this.#turns.push(turn);
    return turn;
  }

  #answerOpenCalls(): void {
    for (const id of this.#calls.end()) {
      const content = interrupted;
      this.#turn("user").results.push({ type: "tool_result", tool_use_id: id, content, is_error: true });
    }
  }

  /** Moves a cache mark of the message to its last block. */
  #marked(blocks: JsonObject[], { extra }: ChatMessage, path: string): JsonObject[] {
    const mark = cacheMark(extra, path, this.#dropped);
    const last = blocks.pop();
    if (last) return [...blocks, { ...last, ...mark }];
    if (mark.cache_control) this.#dropped.add(`${path}.cache_control`);
    return [];
  }

  #nameRest({ name, extra }: ChatMessage, path: string, known: readonly string[]): void {
    if (name) this.#dropped.add(`${path}.name`);
    this.#dropped.addExtra(extra, path, known);
  }
}

function withoutMark({ cache_control: _, ...block }: JsonObject): JsonObject {
  return block;
}

/** isErrorOf reads `is_error`, which is no word of chat's, but some callers send it. */
function isErrorOf({ extra }: ChatMessage): boolean | undefined {
  return typeof extra?.is_error === "boolean" ? extra.is_error : undefined;
}
