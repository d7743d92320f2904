/**
 * Checks what strict clients require of answers: each checker throws at the first thing that one of them would refuse.
 *
 * The fields are those without which a validating client of the vendor's rejects the answer, or a common framework fails.
 */
import { expect } from "vitest";
import type { SseFrame } from "../../../src/wire/sse.ts";
import { checkSdkType } from "./sdk-types.ts";
import { type Any, absentOrText, count, eventsIn, nonEmpty, oneOf, present, text } from "./strict-values.ts";

// OpenAI.

const finishReasons = ["stop", "length", "tool_calls", "content_filter", "function_call"];
const completionReasons = ["stop", "length", "content_filter"];

function checkHead(answer: Any, object: string): void {
  nonEmpty(answer.id, "id");
  expect(answer.object).toBe(object);
  count(answer.created, "created");
  nonEmpty(answer.model, "model");
  expect(answer.choices).toBeInstanceOf(Array);
}

function checkChatUsage(usage: Any): void {
  for (const key of ["prompt_tokens", "completion_tokens", "total_tokens"]) count(usage[key], `usage.${key}`);
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  for (const details of [usage.prompt_tokens_details, usage.completion_tokens_details]) {
    for (const [key, value] of Object.entries(details ?? {})) count(value, key);
  }
  // Frameworks take the cached part from the whole.
  expect(usage.prompt_tokens_details?.cached_tokens ?? 0).toBeLessThanOrEqual(usage.prompt_tokens);
}

function checkCall(call: Any): void {
  nonEmpty(call.id, "tool_calls[].id");
  expect(call.type).toBe("function");
  nonEmpty(call.function.name, "tool_calls[].function.name");
  expect(call.function.arguments).toEqual(text);
}

export function checkChatCompletion(answer: Any): void {
  checkSdkType("ChatCompletion", answer);
  checkHead(answer, "chat.completion");
  expect(answer.choices.length).toBeGreaterThan(0);
  for (const [i, choice] of answer.choices.entries()) {
    expect(choice.index).toBe(i);
    oneOf(choice.finish_reason, finishReasons, "finish_reason");
    present(choice, "logprobs");
    const { message } = choice;
    expect(message.role).toBe("assistant");
    present(message, "content", "refusal");
    absentOrText(message.content, "content");
    absentOrText(message.refusal, "refusal");
    absentOrText(message.reasoning_content, "reasoning_content");
    if ("tool_calls" in message) expect(message.tool_calls.length).toBeGreaterThan(0);
    for (const call of message.tool_calls ?? []) checkCall(call);
    for (const { type } of message.annotations ?? []) expect(type).toBe("url_citation");
  }
  if (answer.usage !== undefined) checkChatUsage(answer.usage);
}

export function checkCompletion(answer: Any): void {
  checkSdkType("Completion", answer);
  checkHead(answer, "text_completion");
  expect(answer.choices.length).toBeGreaterThan(0);
  for (const [i, choice] of answer.choices.entries()) {
    expect(choice.index).toBe(i);
    expect(choice.text).toEqual(text);
    oneOf(choice.finish_reason, completionReasons, "finish_reason");
    present(choice, "logprobs");
  }
  if (answer.usage !== undefined) checkChatUsage(answer.usage);
}

export function checkEmbeddings(answer: Any, format: "float" | "base64"): void {
  checkSdkType("Embeddings", answer);
  expect(answer.object).toBe("list");
  nonEmpty(answer.model, "model");
  expect(answer.data.length).toBeGreaterThan(0);
  for (const [i, item] of answer.data.entries()) {
    expect(item.object).toBe("embedding");
    expect(item.index).toBe(i);
    const { embedding } = item;
    if (format === "float") expect(embedding.length > 0 && embedding.every(Number.isFinite)).toBe(true);
    else expect([text, Buffer.from(embedding, "base64").length % 4]).toEqual([embedding, 0]);
  }
  for (const key of ["prompt_tokens", "total_tokens"]) count(answer.usage[key], `usage.${key}`);
}

// Anthropic.

const stopReasons = [
  ...["end_turn", "max_tokens", "stop_sequence", "tool_use"],
  ...["pause_turn", "refusal", "model_context_window_exceeded"],
];

function checkMessageUsage(usage: Any): void {
  for (const key of ["input_tokens", "output_tokens"]) count(usage[key], `usage.${key}`);
  for (const key of ["cache_creation_input_tokens", "cache_read_input_tokens"]) {
    if ((usage[key] ?? null) !== null) count(usage[key], `usage.${key}`);
  }
}

function checkBlock(block: Any): void {
  switch (block.type) {
    case "text":
      expect(block.text).toEqual(text);
      // Anthropic's SDK for Java cannot add a citation to null, and the AI SDK refuses it.
      expect(block.citations).not.toBe(null);
      return;
    case "thinking":
      expect([block.thinking, block.signature]).toEqual([text, text]);
      return;
    case "redacted_thinking":
      expect(block.data).toEqual(text);
      return;
    case "tool_use":
      expect(block.id).toMatch(/^[\w-]+$/);
      nonEmpty(block.name, "tool_use.name");
      expect(Object.getPrototypeOf(block.input)).toBe(Object.prototype);
      return;
    default:
      throw new Error(`a block of type ${block.type}`);
  }
}

function checkMessageHead(message: Any): void {
  nonEmpty(message.id, "id");
  expect([message.type, message.role]).toEqual(["message", "assistant"]);
  nonEmpty(message.model, "model");
  expect(message.content).toBeInstanceOf(Array);
  present(message, "stop_reason", "stop_sequence");
  checkMessageUsage(message.usage);
}

export function checkMessage(message: Any): void {
  checkSdkType("Message", message);
  checkMessageHead(message);
  for (const block of message.content) checkBlock(block);
  oneOf(message.stop_reason, stopReasons, "stop_reason");
  expect(message.stop_sequence !== null).toBe(message.stop_reason === "stop_sequence");
}

export function checkTokenCount(answer: Any): void {
  checkSdkType("MessageTokensCount", answer);
  count(answer.input_tokens, "input_tokens");
}

// Both.

/** What validating clients take as absent and not as null, where it is unknown. Whoever reads the rest asks Anthropic itself. */
const unknownOfModels = ["capabilities", "line", "max_input_tokens", "max_tokens"];

export function checkModel(model: Any): void {
  checkSdkType("OpenAiModel", model);
  checkSdkType("ModelInfo", model, unknownOfModels);
  nonEmpty(model.id, "id");
  count(model.created, "created");
  nonEmpty(model.owned_by, "owned_by");
  nonEmpty(model.display_name, "display_name");
  expect([model.object, model.type, model.lifecycle]).toEqual(["model", "model", "active"]);
  expect([model.deprecated_at, model.retires_at]).toEqual([null, null]);
  expect(model.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(Date.parse(model.created_at)).toBe(model.created * 1000);
}

export function checkModels(answer: Any): void {
  expect(answer.object).toBe("list");
  expect(answer.has_more).toEqual(expect.any(Boolean));
  for (const model of answer.data) checkModel(model);
  expect([answer.first_id, answer.last_id]).toEqual([answer.data[0]?.id ?? null, answer.data.at(-1)?.id ?? null]);
  expect(new Set(answer.data.map(({ id }: Any) => id)).size).toBe(answer.data.length);
}

// Streams.

function payloads(frames: readonly SseFrame[]): Any[] {
  for (const { event } of frames) expect(event).toBeUndefined();
  expect(frames.at(-1)?.data.toString()).toBe("[DONE]");
  return frames.slice(0, -1).map(({ data }) => JSON.parse(data.toString()));
}

/** Checks what is the same in every piece of one answer. */
function checkOneAnswer(chunks: readonly Any[], object: string): void {
  expect(chunks.length).toBeGreaterThan(0);
  for (const chunk of chunks) {
    checkHead(chunk, object);
    checkSdkType(object === "text_completion" ? "Completion" : "ChatCompletionChunk", chunk);
  }
  const heads = chunks.map(({ id, created, model }) => JSON.stringify([id, created, model]));
  expect(new Set(heads).size).toBe(1);
}

/** The usage is a chunk of its own at the end where it was asked for, and nowhere otherwise. */
function checkUsageChunk(chunks: Any[], usageAsked: boolean): void {
  if (usageAsked) {
    const last = chunks.pop();
    expect(last.choices).toEqual([]);
    checkChatUsage(last.usage);
  }
  for (const chunk of chunks) {
    expect(chunk.usage ?? null).toBeNull();
    if (!usageAsked) expect(chunk).not.toHaveProperty("usage");
    expect(chunk.choices.length).toBeGreaterThan(0);
  }
}

export function checkChatStream(frames: readonly SseFrame[], { usage = false } = {}): void {
  const chunks = payloads(frames);
  checkOneAnswer(chunks, "chat.completion.chunk");
  checkUsageChunk(chunks, usage);
  const finished = new Set<number>();
  const begun = new Set<number>();
  const calls = new Map<string, string>();
  for (const { index, delta, finish_reason } of chunks.flatMap(({ choices }) => choices)) {
    count(index, "index");
    expect(finished.has(index)).toBe(false);
    if (!begun.has(index)) expect(delta.role).toBe("assistant");
    else if ("role" in delta) expect(delta.role).toBe("assistant");
    begun.add(index);
    absentOrText(delta.content, "content");
    absentOrText(delta.reasoning_content, "reasoning_content");
    for (const call of delta.tool_calls ?? []) checkCallDelta(call, `${index}.${call.index}`, calls);
    if ((finish_reason ?? null) === null) continue;
    oneOf(finish_reason, finishReasons, "finish_reason");
    finished.add(index);
  }
  expect([...finished].sort()).toEqual([...begun].sort());
  for (const input of calls.values()) JSON.parse(input);
}

/** The first piece of a call names it, the others only go on. */
function checkCallDelta(call: Any, place: string, calls: Map<string, string>): void {
  count(call.index, "tool_calls[].index");
  expect(call.function).toBeInstanceOf(Object);
  const before = calls.get(place);
  if (before === undefined) checkCall({ ...call, function: { arguments: "", ...call.function } });
  else {
    expect(Object.keys(call).filter((key) => !["index", "function"].includes(key))).toEqual([]);
    expect(Object.keys(call.function)).toEqual(["arguments"]);
  }
  calls.set(place, `${before ?? ""}${call.function.arguments ?? ""}`);
}

export function checkCompletionStream(frames: readonly SseFrame[], { usage = false } = {}): void {
  const chunks = payloads(frames);
  checkOneAnswer(chunks, "text_completion");
  checkUsageChunk(chunks, usage);
  const finished = new Set<number>();
  const begun = new Set<number>();
  for (const choice of chunks.flatMap(({ choices }) => choices)) {
    count(choice.index, "index");
    expect(finished.has(choice.index)).toBe(false);
    begun.add(choice.index);
    expect(choice.text).toEqual(text);
    present(choice, "finish_reason");
    if (choice.finish_reason === null) continue;
    oneOf(choice.finish_reason, completionReasons, "finish_reason");
    finished.add(choice.index);
  }
  expect([...finished].sort()).toEqual([...begun].sort());
}

const heads: Readonly<Record<string, object>> = {
  text: { type: "text", text: "" },
  thinking: { type: "thinking", thinking: "", signature: "" },
  tool_use: { type: "tool_use", input: {} },
};

const fieldOf: Readonly<Record<string, string>> = {
  text_delta: "text",
  citations_delta: "citation",
  input_json_delta: "partial_json",
  thinking_delta: "thinking",
  signature_delta: "signature",
};

const deltasOf: Readonly<Record<string, readonly string[]>> = {
  text: ["text_delta", "citations_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
};

export function checkMessageStream(frames: readonly SseFrame[]): void {
  const events = eventsIn(frames);
  const told = events.filter(({ type }) => type !== "ping");
  for (const event of told) checkSdkType("MessageStreamEvent", event);
  const [start, ...rest] = told;
  expect(start.type).toBe("message_start");
  checkMessageHead(start.message);
  expect(start.message).toMatchObject({ content: [], stop_reason: null, stop_sequence: null });
  const [delta, stop] = rest.splice(-2);
  checkMessageEnd(delta, stop);
  let index = -1;
  while (rest.length > 0) {
    const end = rest.findIndex(({ type }) => type === "content_block_stop");
    checkStreamedBlock(rest.splice(0, end + 1), ++index);
  }
}

function checkMessageEnd(delta: Any, stop: Any): void {
  expect([delta.type, stop]).toEqual(["message_delta", { type: "message_stop" }]);
  oneOf(delta.delta.stop_reason, stopReasons, "stop_reason");
  present(delta.delta, "stop_sequence");
  count(delta.usage.output_tokens, "usage.output_tokens");
}

/** A block is contiguous: its start, its pieces, its stop. */
function checkStreamedBlock(events: readonly Any[], index: number): void {
  for (const event of events) expect(event.index).toBe(index);
  const [start, ...pieces] = events;
  const stop = pieces.pop();
  expect([start.type, stop.type]).toEqual(["content_block_start", "content_block_stop"]);
  const { content_block: block } = start;
  checkBlock(block);
  expect(block).toMatchObject(heads[block.type] ?? {});
  let input = "";
  for (const { type, delta } of pieces) {
    expect(type).toBe("content_block_delta");
    oneOf(delta.type, deltasOf[block.type] ?? [], "delta.type");
    expect(delta[fieldOf[delta.type] as string]).toEqual(delta.type === "citations_delta" ? expect.any(Object) : text);
    input += delta.partial_json ?? "";
  }
  const signatures = pieces.filter(({ delta }) => delta.type === "signature_delta");
  expect(signatures.length).toBeLessThan(2);
  if (signatures.length === 1) expect(pieces.at(-1)).toBe(signatures[0]);
  if (input !== "") expect(Object.getPrototypeOf(JSON.parse(input))).toBe(Object.prototype);
}
