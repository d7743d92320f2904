/**
 * Calls of functions that stand for custom tools → calls of custom tools.
 *
 * In a stream such a call begins when its name is there, and its text follows in one piece when it is complete: before the
 * reason why its choice ends, or at the stream's end.
 */
import { ChatCompletionChunkSchema, type ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Frames } from "../../call/call.ts";
import { isFilledText, isObject, type JsonObject, type JsonValue, textOrEmpty, textOrJson } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { unwrappedText } from "../tools/free-text.ts";
import { translateStream } from "../translate-stream.ts";

type Chunk = Wire<typeof ChatCompletionChunkSchema>;

/** `custom` has the names of the custom tools. */
export function withCustomCalls(
  body: Wire<typeof ChatCompletionSchema>,
  custom: ReadonlySet<string>,
): Wire<typeof ChatCompletionSchema> {
  const { choices } = body.json();
  if (!Array.isArray(choices)) return body;
  return body.with({ choices: choices.map((choice) => withCalls(choice, custom)) });
}

function withCalls(choice: JsonValue, custom: ReadonlySet<string>): JsonValue {
  if (!isObject(choice) || !isObject(choice.message) || !Array.isArray(choice.message.tool_calls)) return choice;
  const calls = choice.message.tool_calls.map((call) => {
    const { name, text } = calledIn(call);
    if (!isObject(call) || !custom.has(name)) return call;
    const { function: _, ...rest } = call;
    return { ...rest, type: "custom", custom: { name, input: unwrappedText(text) } };
  });
  return { ...choice, message: { ...choice.message, tool_calls: calls } };
}

/** calledIn returns the name and the arguments of a call, or of a piece of one. */
function calledIn(call: JsonValue): { readonly name: string; readonly text: string } {
  const { name, arguments: args = "" } = isObject(call) && isObject(call.function) ? call.function : {};
  return { name: textOrEmpty(name), text: textOrJson(args) };
}

export function customFrames(
  frames: Frames<typeof ChatCompletionChunkSchema>,
  custom: ReadonlySet<string>,
): Frames<typeof ChatCompletionChunkSchema> {
  const calls = new CustomCalls(custom);
  return translateStream(
    frames,
    (chunk) => calls.take(chunk),
    () => calls.end(),
  );
}

/** OpenCall is a call whose text is not complete. */
interface OpenCall {
  readonly choice: JsonValue;
  readonly index: JsonValue;
  readonly id: JsonValue;
  readonly name: string;
  text: string;
}

class CustomCalls {
  readonly #custom: ReadonlySet<string>;
  #open: OpenCall[] = [];
  /** The members that all chunks have. */
  #head: JsonObject = {};

  constructor(custom: ReadonlySet<string>) {
    this.#custom = custom;
  }

  take(chunk: Chunk): Chunk[] {
    if (chunk.plainText) return [chunk];
    const { choices, usage, ...head } = chunk.json();
    this.#head = head;
    if (!Array.isArray(choices)) return [chunk];
    const before: Chunk[] = [];
    const kept: JsonValue[] = [];
    for (const choice of choices) {
      const changed = this.#choice(choice);
      const ends = isObject(choice) && isFilledText(choice.finish_reason);
      const ended = ends ? this.#complete(choice.index ?? 0) : [];
      if (ended.length === 0) {
        if (changed !== undefined) kept.push(changed);
        continue;
      }
      const { delta, ...rest } = (changed ?? choice) as JsonObject;
      if (changed !== undefined) before.push(this.#chunk({ ...rest, delta: delta ?? {}, finish_reason: null }));
      before.push(...ended);
      kept.push({ ...rest, delta: {} });
    }
    if (before.length === 0 && kept.length === choices.length && kept.every((choice, i) => choice === choices[i]))
      return [chunk];
    const isEmpty = kept.length === 0 && choices.length > 0 && (usage ?? null) === null;
    return isEmpty ? before : [...before, chunk.with({ choices: kept })];
  }

  end(): Chunk[] {
    return [...new Set(this.#open.map(({ choice }) => choice))].flatMap((choice) => this.#complete(choice));
  }

  /** Returns undefined where nothing is left to tell of a choice. */
  #choice(choice: JsonValue): JsonValue | undefined {
    if (!isObject(choice) || !isObject(choice.delta) || !Array.isArray(choice.delta.tool_calls)) return choice;
    const { tool_calls: pieces, ...delta } = choice.delta;
    const told = (pieces as JsonValue[]).flatMap((piece) => this.#piece(piece, choice.index ?? 0));
    if (told.length > 0) return { ...choice, delta: { ...delta, tool_calls: told } };
    const saysMore = Object.values(delta).some((value) => value !== null && value !== "");
    return saysMore ? { ...choice, delta } : undefined;
  }

  #piece(piece: JsonValue, choice: JsonValue): JsonValue[] {
    if (!isObject(piece)) return [piece];
    const { index = 0, id = null } = piece;
    const { name, text } = calledIn(piece);
    const open = this.#open.findLast((call) => call.choice === choice && call.index === index);
    const goesOn = open && (id === null || id === "" || id === open.id) && (name === "" || name === open.name);
    if (goesOn) {
      open.text += text;
      return [];
    }
    if (!this.#custom.has(name)) return [piece];
    this.#open.push({ choice, index, id, name, text });
    const { function: _, ...rest } = piece;
    return [{ ...rest, type: "custom", custom: { name, input: "" } }];
  }

  #complete(choice: JsonValue): Chunk[] {
    const ended = this.#open.filter((call) => call.choice === choice);
    this.#open = this.#open.filter((call) => call.choice !== choice);
    return ended.map(({ index, text }) => {
      const call = { index, custom: { input: unwrappedText(text) } };
      return this.#chunk({ index: choice, delta: { tool_calls: [call] }, finish_reason: null });
    });
  }

  #chunk(choice: JsonObject): Chunk {
    return Wire.ofJson(ChatCompletionChunkSchema, { ...this.#head, choices: [choice] }, true);
  }
}
