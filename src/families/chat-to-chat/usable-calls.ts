/**
 * Calls of tools as servers of chat write them → as OpenAI's clients read them: with an index in each piece of a stream, an id and a type in
 * the first, arguments as text, and an end that says that something was called. Clients join the pieces of an index: what was said before is
 * not said again, and another call gets another index. A further piece that tells nothing is left out, as langchaingo begins a call by it. A
 * call is told whole before another, and the end of a choice comes behind all pieces, as OpenAI's client for Go takes a call for finished by
 * what follows it. An answer that needs no change passes unchanged.
 *
 * Gemini's server and others end by a plain `stop` after a call. Agents that go by it would never run what was called.
 */
import { ChatCompletionChunkSchema, type ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CallList, type CallPiece } from "../../call/tools/call-list.ts";
import { isEmptyList, plainInput, ToolInput } from "../../call/tools/tool-input.ts";
import { type ChatWord, callsSomething, chatWordOf, isFinished } from "../../providers/usage/finish-word.ts";
import {
  isFilledText,
  isObject,
  type JsonObject,
  type JsonValue,
  listOrEmpty,
  mappedList,
  textOrEmpty,
} from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { translateStream } from "../translate-stream.ts";
import { byForm, type Translated } from "../translation.ts";

/**
 * usableCalls returns what makes an answer one that OpenAI's clients read. `answerId` is part of the ids of calls that have none.
 * `isForced` is whether the request names the function to call: OpenAI's own server ends by `stop` then.
 */
export function usableCalls(answerId: string, isForced: boolean): Translated<"chat", "chat">["answer"] {
  return byForm<"chat", "chat">(
    (body) => withUsableCalls(body, answerId, isForced),
    (frames) => {
      const calls = new StreamedCalls(answerId, isForced);
      return translateStream(frames, (chunk) => calls.take(chunk));
    },
  );
}

type Completion = Wire<typeof ChatCompletionSchema>;

function withUsableCalls(body: Completion, answerId: string, isForced: boolean): Completion {
  const { choices } = body.json();
  if (!Array.isArray(choices)) return body;
  const usable = mappedList(choices, (choice) => {
    const called = withCallsOf(choice, "message", (calls) => wholeCalls(calls, answerId));
    const message = isObject(called) && isObject(called.message) ? called.message : {};
    const hasCalled = Array.isArray(message.tool_calls) && message.tool_calls.length > 0;
    return isObject(called) && hasCalled && !isForced ? endedByCall(called) : called;
  });
  return usable === choices ? body : body.with({ choices: usable });
}

/** endedByCall returns a choice that has called something with an end that says so; the same object where it does, or ends otherwise. */
function endedByCall(choice: JsonObject): JsonObject {
  return plainEnds.has(chatWordOf(choice.finish_reason)) ? { ...choice, finish_reason: "tool_calls" } : choice;
}

/** plainEnds are the words by which servers end a choice that has called tools, beside the right one. */
const plainEnds: ReadonlySet<ChatWord | undefined> = new Set(["stop", "function_call"] as const);

/** withCallsOf returns a choice with other calls; the same object where nothing changes. */
function withCallsOf(
  choice: JsonValue,
  key: "message" | "delta",
  changed: (calls: readonly JsonValue[]) => JsonValue[],
) {
  const content = isObject(choice) ? choice[key] : undefined;
  if (!isObject(choice) || !isObject(content)) return choice;
  const { tool_calls: told = null, function_call: legacy } = content;
  // Older servers answer tools as if they were asked for functions.
  const isLegacy = told === null && callsSomething(legacy);
  if (told === null && !isLegacy) return choice;
  const before = isLegacy ? [{ index: 0, function: legacy }] : Array.isArray(told) ? told : [told];
  const calls = changed(before);
  if (Array.isArray(told) && calls.length === told.length && calls.every((call, i) => call === told[i])) return choice;
  const { tool_calls: _, function_call: __, ...rest } = content;
  const others = isLegacy || legacy === undefined ? rest : { ...rest, function_call: legacy };
  return { ...choice, [key]: { ...others, ...(calls.length > 0 && { tool_calls: calls }) } };
}

function wholeCalls(calls: readonly JsonValue[], answerId: string): JsonValue[] {
  const ids = new Set<JsonValue>();
  return calls.filter(isSomething).map((call, i) => {
    const id = textOrEmpty(call.id);
    const ownId = id !== "" && !ids.has(id) ? id : `call_${answerId}_${i}`;
    ids.add(ownId);
    const called = calledIn(call);
    const input = plainInput(called.input.trim()) || "{}";
    const isUsable =
      ownId === call.id &&
      typeof call.type === "string" &&
      (isObject(call.custom) || (isNamed(call.function) && called.isText && called.input.trim() === input));
    if (isUsable) return call;
    const { name, arguments: _, ...rest } = call;
    return isObject(call.custom)
      ? { ...call, id: ownId, type: "custom" }
      : { ...rest, id: ownId, type: "function", function: functionOf(call, input) };
  });
}

/** isSomething tells a call, or a piece of one, from what servers fill lists of calls up with. */
function isSomething(call: JsonValue): call is JsonObject {
  return isObject(call) && Object.keys(call).length > 0;
}

function isNamed(called: JsonValue | undefined): boolean {
  return isObject(called) && typeof called.name === "string";
}

/** functionOf returns the called function, whose name may stand in the call itself. */
function functionOf(call: JsonObject, input: string): JsonObject {
  const { name, ...rest } = isObject(call.function) ? call.function : {};
  return { ...rest, name: textOrEmpty(name ?? call.name ?? null), arguments: input };
}

/** restOf returns the piece of a call that was held, if any. */
function restOf({ index, input }: StreamedCall): JsonObject[] {
  const rest = input.rest();
  return rest === "" ? [] : [{ index, function: { arguments: rest } }];
}

type Chunk = Wire<typeof ChatCompletionChunkSchema>;

/** tells reports whether anything is left to tell of a choice, but for its role, which has been told before. */
function tells(choice: JsonValue): boolean {
  if (!isObject(choice) || isFinished(choice.finish_reason)) return true;
  const told = { ...(isObject(choice.delta) ? choice.delta : {}), role: null, logprobs: choice.logprobs ?? null };
  return Object.values(told).some((value) => value !== null && value !== "");
}

function endsWithPieces(choice: JsonValue): boolean {
  if (!isObject(choice) || !isFinished(choice.finish_reason) || !isObject(choice.delta)) return false;
  return listOrEmpty(choice.delta.tool_calls).length > 0;
}

/** endedApart returns a chunk with these choices, behind one with the pieces of those that end. The usage stays with the end. */
function endedApart(chunk: Chunk, choices: JsonValue[]): Chunk[] {
  const pieces = choices.filter(endsWithPieces).map((choice) => ({ ...(choice as JsonObject), finish_reason: null }));
  if (pieces.length === 0) return [chunk.with({ choices })];
  const { usage: _, ...head } = chunk.json();
  const ends = mappedList(choices, (choice) =>
    endsWithPieces(choice) ? { ...(choice as JsonObject), delta: {}, logprobs: null } : choice,
  );
  return [Wire.ofJson(ChatCompletionChunkSchema, { ...head, choices: pieces }, true), chunk.with({ choices: ends })];
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
  const input = args === null ? "" : isEmptyList(args) ? "{}" : JSON.stringify(args);
  return { name: textOrEmpty(name), input, isText: false };
}

/** StreamedCall is a call that has begun in a choice. */
interface StreamedCall {
  readonly index: number;
  readonly id: string;
  name: string;
  readonly input: ToolInput;
  /** Pieces that were not told yet. */
  readonly waiting: JsonObject[];
  /** isPast is whether a later call is told by now. */
  isPast: boolean;
  /** beganEmpty is whether an empty object came with the name: some servers write one there before the input. */
  beganEmpty: boolean;
}

/** StreamedChoice is what a choice of a stream calls. */
interface StreamedChoice {
  readonly index: JsonValue;
  readonly calls: CallList<StreamedCall>;
  /** The indices of calls of custom tools. */
  readonly customs: Set<JsonValue>;
  /** The place of the call that is told now, among all. Those behind it wait. */
  place: number;
  /** About how many characters wait. */
  held: number;
}

/** mostHeld is how many characters wait at most: with more, calls are told as they come. */
const mostHeld = 1_000_000;
/** The characters of a piece beside its input, about. */
const charactersOfPiece = 100;

/**
 * nextPieces returns what may be told now: the pieces of one call behind those of another. What comes behind a call whose input is not complete
 * waits: langchaingo adds a later piece of that to the last call, and langchain4j throws at it. Whether an input follows the empty object by
 * which a call began is known in the end.
 */
function nextPieces(choice: StreamedChoice): JsonObject[] {
  const { all } = choice.calls;
  const last = all.at(-1);
  const told: JsonObject[] = [];
  for (let call = all[choice.place]; call; call = all[++choice.place]) {
    told.push(...call.waiting.splice(0));
    if (call === last) {
      choice.held = 0;
      break;
    }
    const isOver = call.input.mayBeComplete && (call.input.hasBegun || !call.beganEmpty);
    if (!isOver && choice.held <= mostHeld) break;
    call.isPast = true;
    if (isOver) told.push(...restOf(call));
  }
  return told;
}

class StreamedCalls {
  readonly #answerId: string;
  readonly #isForced: boolean;
  readonly #choices = new Map<JsonValue, StreamedChoice>();

  constructor(answerId: string, isForced: boolean) {
    this.#answerId = answerId;
    this.#isForced = isForced;
  }

  take(chunk: Chunk): Chunk[] {
    if (chunk.plainText) return [chunk];
    const { choices, usage = null } = chunk.json();
    if (!Array.isArray(choices)) return [chunk];
    const usable = mappedList(choices, (choice) => {
      const { index = 0 } = isObject(choice) ? choice : {};
      const told = withCallsOf(choice, "delta", (pieces) => this.#pieces(pieces, index));
      return isObject(told) ? this.#ended(told, index) : told;
    });
    if (usable === choices && !usable.some(endsWithPieces)) return [chunk];
    const telling = usable.filter((choice, i) => choice === choices[i] || tells(choice));
    return telling.length === 0 && usage === null ? [] : endedApart(chunk, telling);
  }

  /** #ended returns a choice that ends with what its calls lack: an input, which is empty where a function takes none, and the end's word. */
  #ended(choice: JsonObject, index: JsonValue): JsonObject {
    const calls = this.#choices.get(index)?.calls.all ?? [];
    if (calls.length === 0 || !isFinished(choice.finish_reason)) return choice;
    const word = chatWordOf(choice.finish_reason);
    const isByCall = word === "tool_calls" || plainEnds.has(word);
    const ended = this.#isForced || !isByCall ? choice : endedByCall(choice);
    const pieces = calls.flatMap((call) => {
      if (isByCall && call.input.isAbsent) call.input.add("{}");
      return [...call.waiting.splice(0), ...restOf(call)];
    });
    if (pieces.length === 0) return ended;
    const { delta } = choice;
    const { tool_calls: told = null, ...rest } = isObject(delta) ? delta : {};
    return { ...ended, delta: { ...rest, tool_calls: [...listOrEmpty(told), ...pieces] } };
  }

  #pieces(pieces: readonly JsonValue[], index: JsonValue): JsonValue[] {
    const choice = this.#choices.get(index) ?? { index, calls: new CallList(), customs: new Set(), place: 0, held: 0 };
    this.#choices.set(index, choice);
    const told: JsonObject[] = [];
    for (const piece of pieces.filter(isSomething)) {
      if (!isObject(piece.custom)) this.#take(piece, choice, told);
      else {
        // A custom tool has no arguments, and only OpenAI's own server calls any.
        choice.customs.add(piece.index ?? null);
        told.push(piece);
      }
    }
    return [...told, ...nextPieces(choice)];
  }

  /** #take takes a piece of a call. It is told at once where a later call is told by now. */
  #take(piece: JsonObject, choice: StreamedChoice, told: JsonObject[]): void {
    const read = pieceOf(piece);
    const known = choice.calls.find(read);
    const call = known ?? this.#begin(read, choice);
    const usable = usablePiece(piece, read, call, known === undefined);
    if (!known) call.beganEmpty = !call.input.isAbsent && !call.input.hasBegun;
    if (!usable) return;
    if (call.isPast) return void told.push(usable);
    call.waiting.push(usable);
    if (call !== choice.calls.all[choice.place]) choice.held += read.input.length + charactersOfPiece;
  }

  #begin(piece: CallPiece, { index: choice, calls, customs }: StreamedChoice): StreamedCall {
    const { index, id } = piece;
    const { all } = calls;
    const taken = new Set<JsonValue>([...all.map((call) => call.index), ...customs]);
    // OpenAI's client throws at a list of calls with a gap, as of a server that counts from 1.
    const isNext = index !== undefined && !taken.has(index) && index <= taken.size;
    const own = isNext ? index : Math.max(-1, ...[...taken].filter((one) => typeof one === "number")) + 1;
    const isFirst = id !== "" && !all.some((call) => call.id === id);
    const ownId = isFirst ? id : `call_${this.#answerId}_${choice}_${own}`;
    const untold = { name: "", input: new ToolInput(), waiting: [], isPast: false, beganEmpty: false };
    return calls.add(piece, { index: own, id: ownId, ...untold });
  }
}

/** usablePiece returns a piece as clients read it; undefined where it says nothing of a call that has begun. */
function usablePiece(piece: JsonObject, read: CallPiece, call: StreamedCall, isFirst: boolean): JsonObject | undefined {
  const input = call.input.add(read.input);
  const name = read.name.startsWith(call.name) ? read.name.slice(call.name.length) : read.name;
  call.name += name;
  const { isText } = calledIn(piece);
  const id = isFirst ? call.id : "";
  const isUsable = piece.index === call.index && (isText || read.input === "") && input === read.input;
  const hasBegun = !isFirst || (isObject(piece.function) && typeof piece.type === "string");
  const isSilent = !isFirst && name === "" && input === "";
  if (isUsable && name === read.name && id === read.id && hasBegun && !isSilent && !hasBlank(piece)) return piece;
  const { name: _, arguments: __, id: ___, function: called, type, ...rest } = piece;
  const told = { ...(isObject(called) ? called : {}), arguments: input };
  const { name: ____, ...unnamed } = told as JsonObject;
  const { index: _____, ...more } = { ...rest, ...unnamed };
  if (isSilent && Object.values(more).every((value) => value === null || value === "")) return undefined;
  return {
    ...rest,
    index: call.index,
    ...(isFilledText(type) ? { type } : {}),
    ...(id === "" ? {} : { id, type: "function" }),
    function: name === "" ? unnamed : { ...unnamed, name },
  };
}

/** hasBlank reports an empty id, type or name in place of none, as Alibaba's and others' further pieces have: some clients begin a call by it. */
function hasBlank({ id, type, function: called }: JsonObject): boolean {
  return id === "" || type === "" || (isObject(called) && called.name === "");
}

function pieceOf(piece: JsonObject): CallPiece {
  const { name, input } = calledIn(piece);
  const { index = null } = piece;
  const isIndex =
    typeof index === "string" ? /^\d{1,6}$/.test(index) : Number.isSafeInteger(index) && Number(index) >= 0;
  return { index: isIndex ? Number(index) : undefined, id: textOrEmpty(piece.id), name, input, signature: "" };
}
