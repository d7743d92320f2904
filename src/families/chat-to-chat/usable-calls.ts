/**
 * Calls of tools as servers of chat write them → as OpenAI's clients read them: with an index in each piece of a stream, an id and a type in
 * the first, and arguments as text. Clients join the pieces of an index: what was said before is not said again, and another call gets
 * another index. An answer that needs no change passes unchanged.
 */
import type { ChatCompletionChunkSchema, ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { isObject, type JsonObject, type JsonValue, mappedList, textOrEmpty } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import type { CallPiece } from "../chat-output.ts";
import { ToolInput } from "../tool-input.ts";
import { CallList } from "../tools/call-list.ts";
import { translateStream } from "../translate-stream.ts";
import { byForm, type Translated } from "../translation.ts";

/** usableCalls returns what makes an answer one that OpenAI's clients read. `answerId` is part of the ids of calls that have none. */
export function usableCalls(answerId: string): Translated<"chat", "chat">["answer"] {
  return byForm<"chat", "chat">(
    (body) => withUsableCalls(body, answerId),
    (frames) => {
      const calls = new StreamedCalls(answerId);
      return translateStream(frames, (chunk) => [calls.take(chunk)]);
    },
  );
}

type Completion = Wire<typeof ChatCompletionSchema>;

function withUsableCalls(body: Completion, answerId: string): Completion {
  const { choices } = body.json();
  if (!Array.isArray(choices)) return body;
  const usable = mappedList(choices, (choice) =>
    withCallsOf(choice, "message", (calls) => wholeCalls(calls, answerId)),
  );
  return usable === choices ? body : body.with({ choices: usable });
}

/** withCallsOf returns a choice with other calls; the same object where nothing changes. */
function withCallsOf(
  choice: JsonValue,
  key: "message" | "delta",
  changed: (calls: readonly JsonValue[]) => JsonValue[],
) {
  const content = isObject(choice) ? choice[key] : undefined;
  if (!isObject(choice) || !isObject(content)) return choice;
  const { tool_calls: told = null } = content;
  if (told === null) return choice;
  const before = Array.isArray(told) ? told : [told];
  const calls = changed(before);
  if (Array.isArray(told) && calls.length === told.length && calls.every((call, i) => call === told[i])) return choice;
  return { ...choice, [key]: { ...content, tool_calls: calls } };
}

function wholeCalls(calls: readonly JsonValue[], answerId: string): JsonValue[] {
  const ids = new Set<JsonValue>();
  return calls.filter(isSomething).map((call, i) => {
    if (!isObject(call)) return call;
    const id = textOrEmpty(call.id);
    const ownId = id !== "" && !ids.has(id) ? id : `call_${answerId}_${i}`;
    ids.add(ownId);
    const called = calledIn(call);
    const isUsable =
      ownId === call.id &&
      (isObject(call.custom) || (isObject(call.function) && called.isText && called.input.trim() !== ""));
    if (isUsable) return call;
    const { name, arguments: _, ...rest } = call;
    return isObject(call.custom)
      ? { ...call, id: ownId }
      : { ...rest, id: ownId, type: "function", function: functionOf(call, called.input.trim() || "{}") };
  });
}

function isSomething(call: JsonValue): boolean {
  return !isObject(call) || Object.keys(call).length > 0;
}

/** functionOf returns the called function, whose name may stand in the call itself. */
function functionOf(call: JsonObject, input: string): JsonObject {
  const { name, ...rest } = isObject(call.function) ? call.function : {};
  return { ...rest, name: name ?? call.name ?? "", arguments: input };
}

interface Called {
  readonly name: string;
  /** Text, or the JSON of what is none. */
  readonly input: string;
  /** isText is whether the arguments are text, or absent as in the first piece of a stream. */
  readonly isText: boolean;
}

function calledIn(call: JsonObject): Called {
  const called = isObject(call.function) ? call.function : call;
  const { name, arguments: args = null } = called;
  if (typeof args === "string") return { name: textOrEmpty(name), input: args, isText: true };
  const isEmptyList = Array.isArray(args) && args.length === 0;
  const input = args === null ? "" : isEmptyList ? "{}" : JSON.stringify(args);
  return { name: textOrEmpty(name), input, isText: false };
}

/** StreamedCall is a call that has begun in a choice. */
interface StreamedCall {
  readonly index: number;
  readonly id: string;
  name: string;
  readonly input: ToolInput;
}

class StreamedCalls {
  readonly #answerId: string;
  readonly #choices = new Map<JsonValue, CallList<StreamedCall>>();

  constructor(answerId: string) {
    this.#answerId = answerId;
  }

  take(chunk: Wire<typeof ChatCompletionChunkSchema>): Wire<typeof ChatCompletionChunkSchema> {
    if (chunk.plainText) return chunk;
    const { choices } = chunk.json();
    if (!Array.isArray(choices)) return chunk;
    const usable = mappedList(choices, (choice) =>
      withCallsOf(choice, "delta", (pieces) => this.#pieces(pieces, isObject(choice) ? (choice.index ?? 0) : 0)),
    );
    return usable === choices ? chunk : chunk.with({ choices: usable });
  }

  #pieces(pieces: readonly JsonValue[], choice: JsonValue): JsonValue[] {
    const calls = this.#choices.get(choice) ?? new CallList<StreamedCall>();
    this.#choices.set(choice, calls);
    return pieces.filter(isSomething).map((piece) => {
      // A custom tool has no arguments, and only OpenAI's own server calls any.
      return isObject(piece) && !isObject(piece.custom) ? this.#piece(piece, calls, choice) : piece;
    });
  }

  #piece(piece: JsonObject, calls: CallList<StreamedCall>, choice: JsonValue): JsonObject {
    const read = pieceOf(piece);
    const known = calls.find(read);
    const call = known ?? this.#begin(read, calls, choice);
    const input = call.input.repeats(read.input) ? "" : read.input;
    call.input.add(read.input);
    const name = read.name.startsWith(call.name) ? read.name.slice(call.name.length) : read.name;
    call.name += name;
    const { isText } = calledIn(piece);
    const id = known ? "" : call.id;
    const isUsable = piece.index === call.index && (isText || read.input === "") && input === read.input;
    if (isUsable && name === read.name && id === read.id && (known || isObject(piece.function))) return piece;
    const { name: _, arguments: __, id: ___, function: called, ...rest } = piece;
    const told = { ...(isObject(called) ? called : {}), arguments: input };
    const { name: ____, ...unnamed } = told as JsonObject;
    return {
      ...rest,
      index: call.index,
      ...(id === "" ? {} : { id, type: "function" }),
      function: name === "" ? unnamed : { ...unnamed, name },
    };
  }

  #begin(piece: CallPiece, calls: CallList<StreamedCall>, choice: JsonValue): StreamedCall {
    const { index, id } = piece;
    const { all } = calls;
    const taken = new Set(all.map((call) => call.index));
    const own = index !== undefined && !taken.has(index) ? index : Math.max(-1, ...taken) + 1;
    const isFirst = id !== "" && !all.some((call) => call.id === id);
    const ownId = isFirst ? id : `call_${this.#answerId}_${choice}_${own}`;
    return calls.add(piece, { index: own, id: ownId, name: "", input: new ToolInput() });
  }
}

function pieceOf(piece: JsonObject): CallPiece {
  const { name, input } = calledIn(piece);
  const { index = null } = piece;
  const isIndex =
    typeof index === "string" ? /^\d{1,6}$/.test(index) : Number.isSafeInteger(index) && Number(index) >= 0;
  return { index: isIndex ? Number(index) : undefined, id: textOrEmpty(piece.id), name, input, signature: "" };
}
