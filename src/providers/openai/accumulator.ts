/**
 * Accumulates the chunks of OpenAI's dialect into a unary answer: choices, calls by index, reasoning, log
 * probabilities, usage. Vendors' additions are kept: lists are joined, and of anything else the last value counts.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { partsOf } from "../../call/request/content-parts.ts";
import { CallList, type CallPiece } from "../../call/tools/call-list.ts";
import { ToolInput } from "../../call/tools/tool-input.ts";
import { isObject, textOrEmpty } from "../../wire/json.ts";
import type { Accumulator } from "../dialect.ts";
import { indexOf } from "./choices.ts";

/** Members maps names that others choose. Lists in it are our own and grow in place. */
type Members = Map<string, JsonValue | Members>;

/** Strings that come in pieces. */
const texts: ReadonlySet<string> = new Set([
  ...["content", "reasoning_content", "reasoning", "reasoning_text", "refusal", "text"],
  ...["arguments", "input", "data", "transcript"],
]);

/** Objects that come in parts. */
const parts: ReadonlySet<string> = new Set(["function", "custom", "function_call", "audio", "logprobs"]);

export function createChunkAccumulator(operation: Operation): Accumulator | undefined {
  return operation === "chat" || operation === "completions" ? new ChunkAccumulator(operation) : undefined;
}

interface Choice {
  readonly said: Members;
  readonly calls: Calls;
  /** Everything but the message. */
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

  #addChoice(piece: JsonObject): void {
    const { index: _, delta, message, ...more } = piece;
    const index = indexOf(piece);
    const choice = this.#choices.get(index) ?? { said: new Map(), calls: new Calls(), more: new Map() };
    this.#choices.set(index, choice);
    addTo(choice.more, more);
    const content = delta ?? message;
    if (!isObject(content)) return;
    const { tool_calls: calls, ...rest } = content;
    addTo(choice.said, rest);
    // Some servers have a single call instead of a list.
    for (const call of Array.isArray(calls) ? calls : [calls]) if (isObject(call)) choice.calls.add(call);
  }

  answer(): JsonObject {
    const inOrder = [...this.#choices].sort(([a], [b]) => Number(a) - Number(b));
    const choices = inOrder.map(([index, choice]) => ({ index, ...this.#wholeOf(choice) }));
    return { ...asObject(this.#head), object: this.#isText ? "text_completion" : "chat.completion", choices };
  }

  #wholeOf({ said: content, calls, more }: Choice): JsonObject {
    const end = { logprobs: null, finish_reason: null, ...asObject(more) };
    if (this.#isText) return { text: "", ...end };
    const message = { role: "assistant", content: null, refusal: null, ...asObject(content) };
    return { message: calls.isEmpty ? message : { ...message, tool_calls: calls.whole() }, ...end };
  }
}

interface WholeCall {
  id: string;
  name: string;
  readonly input: ToolInput;
  /** Everything but the input. */
  readonly members: Members;
  /** The pieces of the input, as they are told. */
  readonly told: string[];
}

/** Calls accumulates tool calls by the same rules as those of a stream. */
class Calls {
  readonly #calls = new CallList<WholeCall>();

  get isEmpty(): boolean {
    return this.#calls.all.length === 0;
  }

  add({ index, ...sent }: JsonObject): void {
    // Some servers fill the list up with empty objects.
    if (Object.keys(sent).length === 0) return;
    const { piece, input, isFree } = pieceOf(sent);
    const { name } = isObject(piece.custom) ? piece.custom : isObject(piece.function) ? piece.function : piece;
    const of: CallPiece = {
      ...{ index: typeof index === "number" || typeof index === "string" ? Number(index) : undefined, signature: "" },
      ...{ id: textOrEmpty(piece.id), name: textOrEmpty(name), input },
    };
    const call = this.#calls.find(of) ?? this.#calls.add(of, newCall());
    // Some servers give each piece an id of its own.
    if (call.id !== "") delete piece.id;
    call.id ||= of.id;
    call.name = longerName(call.name, of.name);
    call.told.push(isFree ? input : call.input.add(input));
    addTo(call.members, piece);
  }

  whole(): JsonValue[] {
    return this.#calls.all.map(({ name, input, members, told }) => {
      const { function: called, custom, ...call } = asObject(members);
      const said = told.join("") + input.rest();
      if (isObject(custom)) return { type: "custom", ...call, custom: { ...custom, name, input: said } };
      const own = isObject(called) ? called : {};
      return { type: "function", ...call, function: { ...own, name, arguments: said } };
    });
  }
}

function newCall(): WholeCall {
  return { id: "", name: "", input: new ToolInput(), members: new Map(), told: [] };
}

/** pieceOf returns a piece without its input, which some servers write beside the name, or as an object. */
function pieceOf({ function: called, custom, arguments: beside, ...more }: JsonObject) {
  if (isObject(custom)) {
    const { input, ...rest } = custom;
    return { piece: { ...more, custom: rest } as JsonObject, input: textOrEmpty(input), isFree: true };
  }
  const { arguments: told = beside, ...rest } = isObject(called) ? called : {};
  const { name, ...others } = more;
  const named = rest.name === undefined && name !== undefined ? { ...rest, name } : rest;
  return { piece: { ...others, function: named } as JsonObject, input: writtenInput(told), isFree: false };
}

/** writtenInput returns an input as text. PHP writes an empty object as an empty list. */
function writtenInput(told: JsonValue = null): string {
  if (Array.isArray(told) && told.length === 0) return "{}";
  return typeof told === "object" && told !== null ? JSON.stringify(told) : textOrEmpty(told);
}

/** longerName returns a name with its next piece. Some vendors repeat it with every piece. */
function longerName(name: string, next: string): string {
  return next.startsWith(name) ? next : next === "" ? name : name + next;
}

function addTo(members: Members, more: JsonObject): void {
  for (const [key, value] of Object.entries(more)) {
    const before = members.get(key);
    if (key === "content" && (Array.isArray(value) || (Array.isArray(before) && typeof value === "string"))) {
      const list = Array.isArray(before) ? before : ownParts(before as JsonValue | undefined);
      members.set(key, list);
      addParts(list, partsOf(value));
      continue;
    }
    // Null and empty values do not take back what was said.
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

/** ownParts returns the parts of a content in a list of our own; so are the lists within them. */
function ownParts(content: JsonValue | undefined): JsonValue[] {
  const own: JsonValue[] = [];
  addParts(own, partsOf(content));
  return own;
}

/**
 * addParts adds the next piece of a content. Mistral's models send parts while they think and texts afterwards: what goes on with the last
 * part becomes one with it.
 */
function addParts(list: JsonValue[], more: readonly JsonValue[]): void {
  for (const part of more) {
    const last = list.at(-1);
    const key = isObject(part) && (part.type === "text" || part.type === "thinking") ? part.type : undefined;
    if (!isObject(part) || key === undefined) list.push(part);
    else if (isObject(last) && last.type === key) list[list.length - 1] = continued(last, part, key);
    else list.push(Array.isArray(part[key]) ? { ...part, [key]: ownParts(part[key]) } : part);
  }
}

/** continued returns a part with its next piece. A list within it is our own, and grows in place. */
function continued(last: JsonObject, part: JsonObject, key: "text" | "thinking"): JsonObject {
  const [begun, next] = [last[key], part[key]];
  if (typeof begun === "string" && typeof next === "string") return { ...last, ...part, [key]: begun + next };
  const list = Array.isArray(begun) ? begun : ownParts(begun);
  addParts(list, partsOf(next));
  return { ...last, ...part, [key]: list };
}

function addAll(members: Members, key: string, items: readonly JsonValue[]): void {
  const list = members.get(key);
  if (!Array.isArray(list)) members.set(key, [...items]);
  else for (const item of items) list.push(item);
}

function asObject(members: Members): JsonObject {
  return Object.fromEntries([...members].map(([key, value]) => [key, value instanceof Map ? asObject(value) : value]));
}
