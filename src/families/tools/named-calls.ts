/**
 * Gives calls of a history that came without an id or a name one, and results without an id that of their call: of the calls that wait for
 * a result the oldest of the name that the result has, else the oldest. Servers of small models, and Ollama's own API, number no calls, models
 * write calls without a name, and nearly every server refuses the whole request for one. Results of a response get the type of their call's.
 * `paired-….ts` then say what becomes of results without a call.
 */
import { type CooperativeTask, itemsPerSlice } from "../../runtime/cooperative.ts";
import { isObject, type JsonObject, type JsonValue, mappedInSlices, mappedList, textOrEmpty } from "../../wire/json.ts";

/** unnamed is the name of a call that has none. */
const unnamed = "unnamed";

/** Namer reads a part of a history in its order, and returns it with its ids and names. */
type Namer = (part: JsonValue, calls: WaitingCalls) => JsonValue;

const named =
  (nameOne: Namer) =>
  (list: JsonValue[]): CooperativeTask<JsonValue[]> =>
    inOrder(list, nameOne);

/** namedMessages, namedTurns and namedItems return the same list where nothing is missing. */
export const namedMessages = named(nameMessage);
export const namedTurns = named(nameTurn);
export const namedItems = named(nameItem);

/** inOrder looks whether anything is missing before it keeps account of all calls. */
function* inOrder(list: JsonValue[], nameOne: Namer): CooperativeTask<JsonValue[]> {
  const untold = new WaitingCalls();
  for (const [i, part] of list.entries()) {
    if (i % itemsPerSlice === itemsPerSlice - 1) yield;
    if (nameOne(part, untold) === part) continue;
    const calls = new WaitingCalls();
    return yield* mappedInSlices(list, (one) => nameOne(one, calls));
  }
  return list;
}

class WaitingCalls {
  readonly #used = new Set<string>();
  readonly #types = new Map<string, string>();
  #waiting = new Map<string, string>();
  #byName = new Map<string, Set<string>>();
  #count = 0;

  /** Forgets calls of earlier turns: a result without an id is of the last one. */
  beginTurn(): void {
    this.#waiting = new Map();
    this.#byName = new Map();
  }

  /** `type` is that of the call's result, where there are several. */
  begin(id: string, name: string, type?: string): string {
    this.#count += 1;
    const own = id || this.#unused();
    this.#used.add(own);
    this.#waiting.set(own, name);
    if (type) this.#types.set(own, type);
    const alike = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, alike.add(own));
    return own;
  }

  answer(id: string, name: string): string {
    const [alike = ""] = this.#byName.get(name) ?? [];
    const [oldest = ""] = this.#waiting.keys();
    const own = id || alike || oldest || this.#unused();
    this.#byName.get(this.#waiting.get(own) ?? "")?.delete(own);
    this.#waiting.delete(own);
    return own;
  }

  typeOf(id: string): string | undefined {
    return this.#types.get(id);
  }

  /** The same for the same beginning of a conversation, so that a prompt cache keeps hitting. */
  #unused(): string {
    let id = `call_${this.#count}`;
    for (let i = 2; this.#used.has(id); i++) id = `call_${this.#count}_${i}`;
    return id;
  }
}

function nameMessage(message: JsonValue, calls: WaitingCalls): JsonValue {
  if (!isObject(message)) return message;
  const { role, tool_calls: list, tool_call_id: id, name, tool_name: ollamas } = message;
  if (role === "tool")
    return withMember(message, "tool_call_id", calls.answer(textOrEmpty(id), textOrEmpty(name ?? ollamas)));
  if (role !== "assistant" || !Array.isArray(list) || list.length === 0) return message;
  calls.beginTurn();
  const told = mappedList(list, (call) => {
    if (!isObject(call)) return call;
    const key = isObject(call.custom) ? "custom" : "function";
    const called = isObject(call[key]) ? call[key] : undefined;
    const own = called && withName(called);
    const identified = withMember(call, "id", calls.begin(textOrEmpty(call.id), textOrEmpty(own?.name)));
    return own === called || !own ? identified : { ...identified, [key]: own };
  });
  return told === list ? message : { ...message, tool_calls: told };
}

function nameTurn(turn: JsonValue, calls: WaitingCalls): JsonValue {
  const { role, content } = isObject(turn) ? turn : {};
  if (!Array.isArray(content)) return turn;
  if (role === "assistant" && content.some((block) => isOfType(block, "tool_use"))) calls.beginTurn();
  const told = mappedList(content, (block) => {
    if (isOfType(block, "tool_result") && role === "user")
      return withMember(block, "tool_use_id", calls.answer(textOrEmpty(block.tool_use_id), ""));
    if (!isOfType(block, "tool_use") || role !== "assistant") return block;
    return withMember(withName(block), "id", calls.begin(textOrEmpty(block.id), textOrEmpty(block.name)));
  });
  return told === content ? turn : { ...(turn as JsonObject), content: told };
}

function nameItem(item: JsonValue, calls: WaitingCalls): JsonValue {
  if (!isObject(item)) return item;
  const { type, call_id: callId, id, name, output = null } = item;
  if (type === "function_call" || type === "custom_tool_call") {
    const own = withName(item);
    const known = textOrEmpty(callId) || textOrEmpty(id);
    return withMember(own, "call_id", calls.begin(known, textOrEmpty(own.name), `${type}_output`));
  }
  if (type !== "function_call_output" && type !== "custom_tool_call_output") return item;
  const answered = calls.answer(textOrEmpty(callId), textOrEmpty(name));
  // Strict servers refuse a result of null.
  const told = output === null ? { ...item, output: "" } : item;
  // Which kind a tool is may have changed with the model.
  return withMember(withMember(told, "call_id", answered), "type", calls.typeOf(answered) ?? type);
}

function isOfType(part: JsonValue, type: string): part is JsonObject {
  return isObject(part) && part.type === type;
}

function withMember(part: JsonObject, key: string, value: string): JsonObject {
  return part[key] === value ? part : { ...part, [key]: value };
}

function withName(called: JsonObject): JsonObject {
  return textOrEmpty(called.name) === "" ? { ...called, name: unnamed } : called;
}
