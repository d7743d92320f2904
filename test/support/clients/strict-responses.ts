/**
 * Checks what strict clients require of responses and of streamed speech: each checker throws at the first thing that one of them
 * would refuse. The rules of the other endpoints are in strict.ts.
 */
import { expect } from "vitest";
import type { SseFrame } from "../../../src/wire/sse.ts";
import { checkSdkType } from "./sdk-types.ts";
import { type Any, count, eventsIn, nonEmpty, present, text } from "./strict-values.ts";

// Responses.

function checkUsage(usage: Any): void {
  for (const key of ["input_tokens", "output_tokens", "total_tokens"]) count(usage[key], `usage.${key}`);
  expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
  count(usage.input_tokens_details.cached_tokens, "cached_tokens");
  count(usage.input_tokens_details.cache_write_tokens, "cache_write_tokens");
  count(usage.output_tokens_details.reasoning_tokens, "reasoning_tokens");
}

function checkPart(part: Any): void {
  if (part.type === "refusal") expect(part.refusal).toEqual(text);
  else {
    expect([part.type, part.text]).toEqual(["output_text", text]);
    for (const list of [part.annotations, part.logprobs]) expect(list).toBeInstanceOf(Array);
  }
}

const own: Readonly<Record<string, (item: Any) => void>> = {
  message(item) {
    expect(item.role).toBe("assistant");
    for (const part of item.content) checkPart(part);
  },
  function_call(item) {
    nonEmpty(item.call_id, "call_id");
    nonEmpty(item.name, "name");
    expect(item.arguments).toEqual(text);
  },
  custom_tool_call(item) {
    nonEmpty(item.call_id, "call_id");
    nonEmpty(item.name, "name");
    expect(item.input).toEqual(text);
  },
  reasoning(item) {
    for (const part of item.summary) expect(part).toEqual({ type: "summary_text", text });
  },
};

function checkItem(item: Any, status: string): void {
  nonEmpty(item.id, "item.id");
  expect(item.status).toBe(status);
  const check = own[item.type];
  if (!check) throw new Error(`an item of type ${item.type}`);
  check(item);
}

function checkHead(response: Any): void {
  nonEmpty(response.id, "id");
  expect(response.object).toBe("response");
  count(response.created_at, "created_at");
  nonEmpty(response.model, "model");
  expect(response.parallel_tool_calls).toEqual(expect.any(Boolean));
  for (const list of [response.output, response.tools]) expect(list).toBeInstanceOf(Array);
  expect(response.tool_choice ?? null).not.toBeNull();
  present(response, "error", "incomplete_details", "instructions", "metadata", "temperature", "top_p", "usage");
}

export function checkResponse(response: Any): void {
  checkSdkType("Response", response);
  checkHead(response);
  expect(["completed", "incomplete"]).toContain(response.status);
  expect(response.error).toBeNull();
  if (response.status === "completed") expect(response.incomplete_details).toBeNull();
  else expect(["max_output_tokens", "content_filter"]).toContain(response.incomplete_details.reason);
  for (const [i, item] of response.output.entries()) {
    // Only the last can have been cut.
    checkItem(item, i === response.output.length - 1 ? response.status : "completed");
    if (item.type === "function_call" && item.status === "completed") nonEmpty(item.arguments, "arguments");
  }
  expect(new Set(response.output.map(({ id }: Any) => id)).size).toBe(response.output.length);
  checkUsage(response.usage);
}

export function checkResponseStream(frames: readonly SseFrame[]): void {
  const events = eventsIn(frames);
  for (const [i, event] of events.entries()) {
    expect(event.sequence_number).toBe(i);
    checkSdkType("ResponseStreamEvent", event);
  }
  const [created, progress, ...rest] = events;
  const end = rest.pop();
  expect([created.type, progress.type]).toEqual(["response.created", "response.in_progress"]);
  for (const { response } of [created, progress]) {
    checkHead(response);
    expect(response).toMatchObject({ id: end.response.id, status: "in_progress", output: [] });
  }
  checkResponse(end.response);
  expect(end.type).toBe(`response.${end.response.status}`);
  // Calls may be told side by side: each item's own events are in order, and so are their beginnings.
  const byItem = Map.groupBy(rest, ({ output_index }) => output_index);
  expect([...byItem.keys()]).toEqual(end.response.output.map((_: Any, i: number) => i));
  expect([...byItem.values()].map(checkStreamedItem)).toEqual(end.response.output);
}

/** wholes are what tells of a part of an item, by the part's name: its pieces, and what they are together. */
const wholes: Readonly<Record<string, string>> = {
  "response.output_text": "text",
  "response.refusal": "refusal",
  "response.function_call_arguments": "arguments",
  "response.custom_tool_call_input": "input",
  "response.reasoning_summary_text": "text",
};

/** An item is added, told in pieces, and done. Returns it as it is at last. */
function checkStreamedItem(events: readonly Any[]): Any {
  const [added, ...pieces] = events;
  const { item, type } = pieces.pop();
  expect([added.type, type]).toEqual(["response.output_item.added", "response.output_item.done"]);
  checkItem(added.item, "in_progress");
  checkItem(item, item.status);
  expect(item).toMatchObject({ id: added.item.id, type: added.item.type });
  let said = "";
  for (const event of pieces) {
    expect(event.item_id).toBe(item.id);
    const [, about = "", what] = /^(.*)\.(added|delta|done)$/.exec(event.type) ?? [];
    if (about.endsWith("_part")) {
      expect(event.part).toBeInstanceOf(Object);
      said = "";
    } else if (what === "delta") said += event.delta;
    else expect(event[wholes[about] as string]).toBe(said);
    if (/output_text|content_part|refusal/.test(about)) count(event.content_index, "content_index");
    if (about.includes("reasoning_summary")) count(event.summary_index, "summary_index");
    if (about === "response.output_text") expect(event.logprobs).toBeInstanceOf(Array);
  }
  return item;
}

// Speech.

export function checkSpeechStream(frames: readonly SseFrame[]): void {
  const events = eventsIn(frames);
  const done = events.pop();
  expect(events.length).toBeGreaterThan(0);
  for (const { type, audio } of events) {
    expect(type).toBe("speech.audio.delta");
    nonEmpty(audio, "audio");
    expect(Buffer.from(audio, "base64").toString("base64")).toBe(audio);
  }
  expect(done.type).toBe("speech.audio.done");
  for (const key of ["input_tokens", "output_tokens", "total_tokens"]) count(done.usage[key], `usage.${key}`);
  expect(done.usage.total_tokens).toBe(done.usage.input_tokens + done.usage.output_tokens);
}
