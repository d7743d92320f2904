/**
 * The chunks of a stream of OpenAI's dialect → the whole answer: all choices, calls by their index, reasoning, log probabilities,
 * usage. What vendors add is kept: lists are joined, of anything else the last word counts.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isObject } from "../../wire/json.ts";
import type { Accumulator } from "../dialect.ts";

/** Members by their names, which others choose. Lists among them are our own, and grow in place. */
type Members = Map<string, JsonValue | Members>;

/** What comes in pieces of text. */
const texts: ReadonlySet<string> = new Set([
  ...["content", "reasoning_content", "reasoning", "refusal", "text"],
  ...["arguments", "input", "data", "transcript"],
]);

/** What is told in parts. */
const parts: ReadonlySet<string> = new Set(["function", "custom", "function_call", "audio", "logprobs"]);

export function createChunkAccumulator(operation: Operation): Accumulator | undefined {
  return operation === "chat" || operation === "completions" ? new ChunkAccumulator(operation) : undefined;
}

interface Choice {
  readonly said: Members;
  readonly calls: Calls;
  /** Besides what it said. */
  readonly more: Members;
}

class ChunkAccumulator implements Accumulator {
  readonly #isText: boolean;
  readonly #head: Members = new Map();
  readonly #choices = new Map<JsonValue, Choice>();

  constructor(operation: Operation) {
    this.#isText = operation === "completions";
  }

  add({ choices, object: _, ...head }: JsonObject): void {
    addTo(this.#head, head);
    if (Array.isArray(choices)) for (const choice of choices) if (isObject(choice)) this.#addChoice(choice);
  }

  #addChoice({ index = 0, delta, message, ...more }: JsonObject): void {
    const choice = this.#choices.get(index) ?? { said: new Map(), calls: new Calls(), more: new Map() };
    this.#choices.set(index, choice);
    addTo(choice.more, more);
    const said = delta ?? message;
    if (!isObject(said)) return;
    const { tool_calls: calls, ...rest } = said;
    addTo(choice.said, rest);
    if (Array.isArray(calls)) for (const call of calls) if (isObject(call)) choice.calls.add(call);
  }

  answer(): JsonObject {
    const inOrder = [...this.#choices].sort(([a], [b]) => Number(a) - Number(b));
    const choices = inOrder.map(([index, choice]) => ({ index, ...this.#wholeOf(choice) }));
    return { ...asObject(this.#head), object: this.#isText ? "text_completion" : "chat.completion", choices };
  }

  #wholeOf({ said, calls, more }: Choice): JsonObject {
    const end = { logprobs: null, finish_reason: null, ...asObject(more) };
    if (this.#isText) return { text: "", ...end };
    const message = { role: "assistant", content: null, refusal: null, ...asObject(said) };
    return { message: calls.isEmpty ? message : { ...message, tool_calls: calls.whole() }, ...end };
  }
}

/** Calls, of which a piece is known by its index, by its id where it is not counted, and else goes on with the last. */
class Calls {
  readonly #calls = new Map<JsonValue, Members>();
  #last: Members | undefined;

  get isEmpty(): boolean {
    return this.#last === undefined;
  }

  add({ index, ...piece }: JsonObject): void {
    const key = index ?? (piece.id || undefined);
    let call = key === undefined ? this.#last : this.#calls.get(key);
    // Some count every call as the first: there another id begins another call.
    const id = call?.get("id");
    if (!call || (piece.id && id && piece.id !== id)) {
      call = new Map();
      if (this.#calls.has(key ?? null))
        this.#calls.set(`${this.#calls.size} before`, this.#calls.get(key ?? null) as Members);
      this.#calls.delete(key ?? null);
      this.#calls.set(key ?? null, call);
    }
    this.#last = call;
    addTo(call, piece);
  }

  whole(): JsonValue[] {
    return [...this.#calls.values()].map((call) => ({ type: "function", ...asObject(call) }));
  }
}

function addTo(members: Members, more: JsonObject): void {
  for (const [key, value] of Object.entries(more)) {
    const before = members.get(key);
    // Neither takes back what was said.
    if (value === null || value === "") members.set(key, before ?? value);
    else if (typeof value === "string" && typeof before === "string" && texts.has(key))
      members.set(key, before + value);
    else if (Array.isArray(value)) addAll(members, key, value);
    else if (isObject(value) && parts.has(key)) {
      const part: Members = before instanceof Map ? before : new Map();
      members.set(key, part);
      addTo(part, value);
    } else members.set(key, value);
  }
}

function addAll(members: Members, key: string, items: readonly JsonValue[]): void {
  const list = members.get(key);
  if (!Array.isArray(list)) members.set(key, [...items]);
  else for (const item of items) list.push(item);
}

function asObject(members: Members): JsonObject {
  return Object.fromEntries([...members].map(([key, value]) => [key, value instanceof Map ? asObject(value) : value]));
}
