/**
 * Tracks the choices of a stream of OpenAI's dialect: whether it may end, whether it is over though the upstream goes
 * on, and what it lacks at its end.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { CallList } from "../../call/tools/call-list.ts";
import { ToolInput } from "../../call/tools/tool-input.ts";
import { isObject, mappedList } from "../../wire/json.ts";
import { callsIn, namedCall } from "../frames/native/chat-said.ts";
import { isFinished } from "../usage/finish-word.ts";

interface Progress {
  hasFinished: boolean;
  hasSaid: boolean;
  hasCalled: boolean;
  /** The calls that it has begun, to tell whether their inputs are whole. */
  readonly calls: CallList<StreamedInput>;
}

interface StreamedInput {
  readonly id: string;
  readonly name: string;
  readonly input: ToolInput;
}

/**
 * afterUsageMs and forUsageMs are how long a finished stream is read on, in milliseconds: after its usage, and while waiting for its usage.
 */
const [afterUsageMs, forUsageMs] = [1_000, 5_000];

export class ChoiceTracker {
  readonly #operation: Operation;
  /** Number of choices asked for. */
  readonly #asked: number;
  /** By index. */
  readonly #seen = new Map<JsonValue, Progress>();
  #unfinished = 0;
  #head: JsonObject | undefined;
  #hasUsage = false;
  #awaitsModeration: boolean;
  #isOver = false;
  #mayGoOn = false;

  constructor(operation: Operation, request: JsonObject) {
    this.#operation = operation;
    this.#asked = askedIn(request);
    this.#awaitsModeration = isObject(request.moderation);
  }

  take(chunk: JsonObject, choices: readonly JsonValue[]): void {
    for (const choice of choices) if (isObject(choice)) this.#see(choice);
    if (this.#seen.size > 0) this.#head ??= chunk;
    const { usage, moderation } = chunk;
    if (!isObject(usage) && !isObject(moderation)) return;
    this.#hasUsage ||= isObject(usage);
    this.#awaitsModeration &&= !isObject(moderation);
    // OpenAI's last chunk has the usage, or the moderation where that was asked for, and no choices.
    const isLast = choices.length === 0 && this.#hasUsage && !this.#awaitsModeration;
    this.#isOver ||= isLast && this.allFinished && this.#seen.size >= this.#asked;
  }

  #see(choice: JsonObject): void {
    const { finish_reason, delta, message } = choice;
    const index = indexOf(choice);
    let progress = this.#seen.get(index);
    if (!progress) {
      progress = { hasFinished: false, hasSaid: false, hasCalled: false, calls: new CallList() };
      this.#seen.set(index, progress);
      this.#unfinished++;
    }
    const isMore = saysSomething(choice);
    this.#mayGoOn ||= progress.hasFinished && isMore;
    progress.hasSaid ||= isMore;
    // Some upstreams send an empty reason with every chunk.
    if (isFinished(finish_reason)) this.#finish(progress);
    const content = delta ?? message;
    if (!isObject(content)) return;
    progress.hasCalled ||= isSomething(content.tool_calls ?? null);
    for (const call of callsIn(content)) addInput(progress.calls, call);
  }

  #finish(progress: Progress): void {
    if (!progress.hasFinished) this.#unfinished--;
    progress.hasFinished = true;
  }

  /** allFinished is whether every choice has a finish reason. */
  get allFinished(): boolean {
    return this.#seen.size > 0 && this.#unfinished === 0;
  }

  /** asked is the number of choices that were asked for. */
  get asked(): number {
    return this.#asked;
  }

  /** hasAnswer is whether there is an answer, even without a finish reason. */
  get hasAnswer(): boolean {
    return [...this.#seen.values()].some(({ hasFinished, hasSaid }) => hasFinished || hasSaid);
  }

  /** isCut is whether a choice without a finish reason has a call whose input cannot be all of it. */
  get isCut(): boolean {
    const open = [...this.#seen.values()].filter(({ hasFinished }) => !hasFinished);
    return open.some(({ calls }) => calls.all.some(({ input }) => input.isUnderWay));
  }

  /** isOver is whether nothing that matters can follow. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** mayGoOn is whether a choice has gone on behind its end: an end says nothing here, as of servers that have one in every chunk. */
  get mayGoOn(): boolean {
    return this.#mayGoOn;
  }

  /** head has the members that all chunks have. */
  get head(): JsonObject {
    const { usage: _, choices: __, ...head } = this.#head ?? {};
    return head;
  }

  /** lingerMs is how long the end is waited for where it may be missing, in milliseconds; undefined while it must come. */
  get lingerMs(): number | undefined {
    if (!this.allFinished || this.#mayGoOn) return undefined;
    return this.#hasUsage && this.#seen.size >= this.#asked ? afterUsageMs : forUsageMs;
  }

  /** Returns a chunk that finishes the open choices; undefined without any. */
  lastChunk(): JsonObject | undefined {
    const open = [...this.#seen].filter(([, { hasFinished }]) => !hasFinished);
    if (open.length === 0) return undefined;
    for (const [, progress] of open) this.#finish(progress);
    const isText = this.#operation === "completions";
    const choices = open.map(([index, { hasCalled }]) => ({
      index,
      ...(isText ? { text: "" } : { delta: {} }),
      logprobs: null,
      finish_reason: hasCalled ? "tool_calls" : "stop",
    }));
    return { ...this.head, choices };
  }
}

/** addInput adds the next piece of a call's input. The text for a custom tool is no JSON. */
function addInput(calls: CallList<StreamedInput>, sent: JsonObject): void {
  const { id, name, input, isCustom } = namedCall(sent);
  const index = (sent.index ?? null) === null ? undefined : indexOf(sent);
  const piece = { index, id, name, input: isCustom ? "" : input, signature: "" };
  const call = calls.find(piece) ?? calls.add(piece, { id, name, input: new ToolInput() });
  call.input.add(piece.input);
}

/** indexOf returns the index of a choice or a call, which some servers write as a text, and some leave out: 0 for anything else. */
export function indexOf({ index }: JsonObject): number {
  if (typeof index === "string" && /^\d{1,6}$/.test(index)) return Number(index);
  return typeof index === "number" ? index : 0;
}

/** saysSomething reports whether a choice of a chunk says more than who speaks. */
export function saysSomething({ delta, message, text = null }: JsonObject): boolean {
  const content = delta ?? message;
  if (isSomething(text)) return true;
  return isObject(content) && Object.entries(content).some(([key, value]) => key !== "role" && isSomething(value));
}

function isSomething(value: JsonValue): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

/**
 * RepeatedMessages finds messages that tell again what a stream's deltas have told: MiniMax and others end a stream by the whole answer, and its
 * text and its calls would be there twice.
 */
export class RepeatedMessages {
  /** The members that deltas have told, by the index of their choice. */
  readonly #told = new Map<JsonValue, Set<string>>();

  /** unsaid returns the choices of a chunk in which such messages are deltas of what is new; the same list where none is one. */
  unsaid(choices: JsonValue[]): JsonValue[] {
    return mappedList(choices, (choice) => (isObject(choice) ? this.#unsaid(choice) : choice));
  }

  #unsaid(choice: JsonObject): JsonObject {
    const { delta = null, message = null } = choice;
    const index = indexOf(choice);
    const told = this.#told.get(index) ?? new Set<string>();
    if (isObject(delta)) {
      for (const [key, value] of Object.entries(delta))
        if (key !== "role" && isSomething(value)) told.add(memberOf(key));
      if (told.size > 0) this.#told.set(index, told);
    }
    if (delta !== null || !isObject(message) || told.size === 0) return choice;
    const { message: _, ...rest } = choice;
    const isNew = ([key]: readonly [string, unknown]) => key !== "role" && key !== "name" && !told.has(memberOf(key));
    return { ...rest, delta: Object.fromEntries(Object.entries(message).filter(isNew)) };
  }
}

/** memberOf returns one name for all by which servers tell thinking. */
function memberOf(key: string): string {
  return /^(?:reasoning|thinking)/.test(key) ? "reasoning" : key;
}

/** A legacy completion makes so many choices for each prompt. */
function askedIn({ n, prompt }: JsonObject): number {
  const each = typeof n === "number" ? n : 1;
  return Array.isArray(prompt) && typeof prompt[0] !== "number" ? each * prompt.length : each;
}
