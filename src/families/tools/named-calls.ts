/**
 * Gives calls of a history that came without an id or a name one, and results without an id that of their call: of the calls that wait for
 * a result the oldest of the name that the result has, else the oldest. A result with an id that no call has gives it to the oldest call that
 * came without. Servers of small models, and Ollama's own API, number no calls, models write calls without a name, and nearly every server
 * refuses the whole request for one. Results of a response get the type of their call's. `paired-….ts` then say what becomes of results without
 * a call.
 */
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import {
  isObject,
  type JsonObject,
  type JsonValue,
  mappedByTasks,
  mappedInSlices,
  textOrEmpty,
} from "../../wire/json.ts";

/** unnamed is the name of a call that has none. */
const unnamed = "unnamed";

/** Naming reads a history in its order, and returns it with its ids and names: as long, and in the same order. */
type Naming = (list: JsonValue[], calls: WaitingCalls) => CooperativeTask<JsonValue[]>;

/** named reads a history ahead, to see whether anything is missing, and which ids results have for calls that came without. */
const named = (naming: Naming) =>
  function* (list: JsonValue[]): CooperativeTask<JsonValue[]> {
    const ahead = new WaitingCalls();
    if ((yield* naming(list, ahead)) === list) return list;
    return yield* naming(list, new WaitingCalls(ahead.told));
  };

/** namedMessages, namedTurns and namedItems return the same list where nothing is missing. */
export const namedMessages = named((list, calls) => mappedByTasks(list, (message) => nameMessage(message, calls)));
export const namedTurns = named((list, calls) => mappedByTasks(list, (turn) => nameTurn(turn, calls)));
export const namedItems = named((list, calls) => mappedInSlices(list, (item) => nameItem(item, calls)));

interface WaitingCall {
  /** The place among all calls. */
  readonly place: number;
  readonly id: string;
  isAnswered: boolean;
}

/** Waiting finds the oldest call without a result, and looks at no answered one twice. */
class Waiting {
  readonly #calls: WaitingCall[] = [];
  #answered = 0;

  add(call: WaitingCall): void {
    this.#calls.push(call);
  }

  oldest(): WaitingCall | undefined {
    while (this.#calls[this.#answered]?.isAnswered) this.#answered += 1;
    return this.#calls[this.#answered];
  }
}

class WaitingCalls {
  /** told are the ids that results have for calls that came without one, by the call's place. */
  readonly told = new Map<number, string>();
  readonly #known: ReadonlyMap<number, string> | undefined;
  readonly #used: Set<string>;
  readonly #types = new Map<string, string>();
  #all = new Waiting();
  #withoutId = new Waiting();
  #byId = new Map<string, Waiting>();
  #byName = new Map<string, Waiting>();
  #count = 0;
  /** The last id that was made, and for how many calls. */
  #made = { id: "", count: -1 };

  /** Without `known`, a history is read ahead: no result is then meant by an id that is made here. */
  constructor(known?: ReadonlyMap<number, string>) {
    this.#known = known;
    this.#used = new Set(known?.values());
  }

  /** Forgets calls of earlier turns: a result without an id is of the last one. */
  beginTurn(): void {
    this.#all = new Waiting();
    this.#withoutId = new Waiting();
    this.#byId = new Map();
    this.#byName = new Map();
  }

  /** `type` is that of the call's result, where there are several. */
  begin(id: string, name: string, type?: string): string {
    this.#count += 1;
    const own = id || this.#known?.get(this.#count) || this.unused();
    const call = { place: this.#count, id: own, isAnswered: false };
    this.#all.add(call);
    if (id === "") this.#withoutId.add(call);
    if (id !== "" || this.#known) {
      this.#used.add(own);
      addTo(this.#byId, own, call);
    }
    if (name !== "") addTo(this.#byName, name, call);
    if (type) this.#types.set(own, type);
    return own;
  }

  /** answer returns the id of a result's call; undefined where no call was made at all, and none can be meant. */
  answer(id: string, name: string): string | undefined {
    const call = id === "" ? this.#nextOf(name) : this.#named(id);
    if (!call) return id || (this.#count > 0 ? this.unused() : undefined);
    call.isAnswered = true;
    return id || call.id;
  }

  typeOf(id: string | undefined): string | undefined {
    return id === undefined ? undefined : this.#types.get(id);
  }

  #nextOf(name: string): WaitingCall | undefined {
    const alike = name === "" ? undefined : this.#byName.get(name)?.oldest();
    return alike ?? this.#all.oldest();
  }

  /** An id that no call has is the client's own for a call that came without one. */
  #named(id: string): WaitingCall | undefined {
    if (this.#used.has(id)) return this.#byId.get(id)?.oldest();
    const call = this.#withoutId.oldest();
    if (!call) return undefined;
    this.told.set(call.place, id);
    this.#used.add(id);
    return call;
  }

  /**
   * unused returns an id that no call has: the same for the same beginning of a conversation, so that a prompt cache keeps hitting. Results of
   * no call may share one.
   */
  unused(): string {
    let id = this.#made.count === this.#count ? this.#made.id : `call_${this.#count}`;
    for (let i = 2; this.#used.has(id); i++) id = `call_${this.#count}_${i}`;
    this.#made = { id, count: this.#count };
    return id;
  }
}

function addTo(queues: Map<string, Waiting>, key: string, call: WaitingCall): void {
  const queue = queues.get(key) ?? new Waiting();
  queue.add(call);
  queues.set(key, queue);
}

function* nameMessage(message: JsonValue, calls: WaitingCalls): CooperativeTask<JsonValue> {
  if (!isObject(message)) return message;
  const { role, tool_calls: list, tool_call_id: id, name, tool_name: ollamas } = message;
  if (role === "tool") {
    // Clients of Ollama's kind know no ids, and cut a conversation where they like.
    const answered = calls.answer(textOrEmpty(id), textOrEmpty(name ?? ollamas)) ?? calls.unused();
    return withMember(message, "tool_call_id", answered);
  }
  if (role !== "assistant" || !Array.isArray(list) || list.length === 0) return message;
  calls.beginTurn();
  const told = yield* mappedInSlices(list, (call) => {
    if (!isObject(call)) return call;
    const key = isObject(call.custom) ? "custom" : "function";
    const called = isObject(call[key]) ? call[key] : undefined;
    const own = called && withName(called);
    const identified = withMember(call, "id", calls.begin(textOrEmpty(call.id), textOrEmpty(own?.name)));
    return own === called || !own ? identified : { ...identified, [key]: own };
  });
  return told === list ? message : { ...message, tool_calls: told };
}

function* nameTurn(turn: JsonValue, calls: WaitingCalls): CooperativeTask<JsonValue> {
  const { role, content } = isObject(turn) ? turn : {};
  if (!Array.isArray(content)) return turn;
  if (role === "assistant" && content.some((block) => isOfType(block, "tool_use"))) calls.beginTurn();
  const told = yield* mappedInSlices(content, (block) => {
    if (isOfType(block, "tool_result") && role === "user")
      return withMember(block, "tool_use_id", calls.answer(textOrEmpty(block.tool_use_id), ""));
    if (!isOfType(block, "tool_use") || role !== "assistant") return block;
    const own = withName(block);
    return withMember(own, "id", calls.begin(textOrEmpty(block.id), textOrEmpty(own.name)));
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

function withMember(part: JsonObject, key: string, value: string | undefined): JsonObject {
  return value === undefined || part[key] === value ? part : { ...part, [key]: value };
}

function withName(called: JsonObject): JsonObject {
  return textOrEmpty(called.name) === "" ? { ...called, name: unnamed } : called;
}
