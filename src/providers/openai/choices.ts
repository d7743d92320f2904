/**
 * How far the choices of a stream of OpenAI's dialect have come: whether it may end, whether it is over though its upstream goes
 * on, and what it lacks at its end.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isObject } from "../../wire/json.ts";

interface Progress {
  hasFinished: boolean;
  hasSaid: boolean;
  hasCalled: boolean;
}

/** How much longer a stream is read that has finished, in milliseconds: with its usage, and for its usage. */
const [afterUsageMs, forUsageMs] = [1_000, 5_000];

export class ChoiceTracker {
  readonly #operation: Operation;
  /** How many were asked for. */
  readonly #asked: number;
  /** By their index. */
  readonly #seen = new Map<JsonValue, Progress>();
  #unfinished = 0;
  #head: JsonObject | undefined;
  #hasUsage = false;
  #isOver = false;

  constructor(operation: Operation, request: JsonObject) {
    this.#operation = operation;
    this.#asked = askedIn(request);
  }

  take(chunk: JsonObject, choices: readonly JsonValue[]): void {
    for (const choice of choices) if (isObject(choice)) this.#see(choice);
    if (this.#seen.size > 0) this.#head ??= chunk;
    if (isObject(chunk.usage)) {
      // The last of OpenAI's chunks tells the usage and nothing else.
      this.#isOver ||= choices.length === 0 && this.allFinished && this.#seen.size >= this.#asked;
      this.#hasUsage = true;
    }
  }

  #see({ index = 0, finish_reason = null, delta, message, text }: JsonObject): void {
    let progress = this.#seen.get(index);
    if (!progress) {
      progress = { hasFinished: false, hasSaid: false, hasCalled: false };
      this.#seen.set(index, progress);
      this.#unfinished++;
    }
    // Some say an empty reason with every piece.
    if (finish_reason !== null && finish_reason !== "") this.#finish(progress);
    const said = delta ?? message;
    if (text) progress.hasSaid = true;
    if (!isObject(said)) return;
    progress.hasSaid ||= Object.entries(said).some(([key, value]) => key !== "role" && isSomething(value));
    progress.hasCalled ||= isSomething(said.tool_calls ?? null);
  }

  #finish(progress: Progress): void {
    if (!progress.hasFinished) this.#unfinished--;
    progress.hasFinished = true;
  }

  /** Whether every choice has said why it ended. */
  get allFinished(): boolean {
    return this.#seen.size > 0 && this.#unfinished === 0;
  }

  /** Whether there is an answer, be it one that does not say why it ended. */
  get hasAnswer(): boolean {
    return [...this.#seen.values()].some(({ hasFinished, hasSaid }) => hasFinished || hasSaid);
  }

  /** Whether nothing that matters can come any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** For how long, at most, the end is waited for that need not come any more; undefined while it must. */
  get lingerMs(): number | undefined {
    if (!this.allFinished) return undefined;
    return this.#hasUsage && this.#seen.size >= this.#asked ? afterUsageMs : forUsageMs;
  }

  /** Returns the chunk that says why choices ended of which that was not said; undefined where there are none. */
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
    const { usage: _, ...head } = this.#head ?? {};
    return { ...head, choices };
  }
}

function isSomething(value: JsonValue): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

/** The legacy completion makes so many choices of each prompt. */
function askedIn({ n, prompt }: JsonObject): number {
  const each = typeof n === "number" ? n : 1;
  return Array.isArray(prompt) && typeof prompt[0] !== "number" ? each * prompt.length : each;
}
