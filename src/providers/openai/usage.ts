/**
 * Reports an answer of OpenAI's dialect to a meter: its usage, the model's output, and whether the model gave up.
 *
 * Values that cannot be read are ignored: they are never the answer's fault. Streams pass through here chunk by
 * chunk, so nothing is built or joined.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import type { Meter } from "../contract.ts";
import { ChatUsageReader } from "../usage/chat-counts.ts";
import { finishWord } from "../usage/finish-word.ts";
import { SearchCounter } from "./searches.ts";

/** meterAnswer reports a unary answer. */
export function meterAnswer(answer: JsonObject, meter: Meter): void {
  const { choices } = answer;
  const counts = new ChatUsageReader();
  const reported = counts.take(answer) ? counts.reported : undefined;
  if (reported) meter.reportUsage(reported);
  if (!Array.isArray(choices)) return;
  const searches = reported?.searches === undefined ? new SearchCounter() : undefined;
  for (const choice of choices as Choice[]) {
    writeChoice(choice, meter);
    if (hasGivenUp(choice?.finish_reason)) meter.reportGivenUp();
    const told = isObject(choice as JsonValue) ? searches?.take(choice as JsonObject) : undefined;
    if (told !== undefined) meter.reportUsage({ searches: told });
  }
}

/** meterChoice reports a choice of a chunk. What the usage at the end of the stream says of `searches` replaces what they are so far. */
export function meterChoice(choice: JsonObject, searches: SearchCounter, meter: Meter): void {
  const told = searches.take(choice);
  if (told !== undefined) meter.reportUsage({ searches: told });
  writeChoice(choice, meter);
  if (hasGivenUp(choice.finish_reason)) meter.reportGivenUp();
}

/** Finish reasons for an end by an error or a filter. */
const givenUp = new Set([
  ...["content_filter", "error", "abort", "sensitive", "insufficient_system_resource"],
  ...["safety", "recitation", "prohibited_content"],
]);

function hasGivenUp(finish: JsonValue | undefined): boolean {
  return givenUp.has(finishWord(finish));
}

/** Choice is what is read of a choice. Upstreams may send anything in its place. */
interface Choice {
  readonly text?: unknown;
  readonly finish_reason?: JsonValue;
  readonly delta?: ContentOfChoice | null;
  readonly message?: ContentOfChoice | null;
}

type ContentOfChoice = Partial<
  Readonly<
    Record<"content" | "reasoning_content" | "reasoning" | "refusal" | "tool_calls" | "function_call", unknown> &
      Record<"images" | "reasoning_details" | "reasoning_text" | "thinking" | "thinking_content", unknown>
  >
> & { readonly audio?: { readonly transcript?: unknown; readonly data?: unknown } | null };

function hasAny(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

function writeChoice(choice: Choice | null | undefined, meter: Meter): void {
  const content = choice?.delta ?? choice?.message;
  if (!content) {
    writeText(choice?.text, meter);
    return;
  }
  writeText(content.content, meter);
  // Some vendors send the same text under both names.
  const { reasoning_content, reasoning, reasoning_text, reasoning_details, thinking, thinking_content } = content;
  const named = reasoning_content || reasoning || reasoning_text || reasoning_details;
  writeText(named || thinking || thinking_content, meter);
  writeText(content.refusal, meter);
  // A call may stand where a list of them should.
  for (const call of [content.tool_calls ?? []].flat()) writeCall(call as Call, meter);
  if (content.audio) {
    writeText(content.audio.transcript, meter);
    if (content.audio.data) meter.countText("");
  }
  // Vendors' additions: images and encrypted reasoning.
  if (hasAny(content.images) || hasAny(content.reasoning_details)) meter.countText("");
  if (content.function_call) writeNamed(content.function_call, meter);
}

type Call = { readonly function?: unknown; readonly custom?: unknown } | null | undefined;

function writeCall(call: Call, meter: Meter): void {
  writeNamed(call?.function ?? call?.custom ?? call, meter);
}

function writeNamed(called: unknown, meter: Meter): void {
  const { name, arguments: args, input } = (called ?? {}) as Record<"name" | "arguments" | "input", unknown>;
  writeText(name, meter);
  writeText(isObject(args as JsonValue) ? JSON.stringify(args) : args, meter);
  writeText(input, meter);
}

/**
 * writeText counts a text. Mistral's models send it in parts, reasoning in nested ones; other servers send one part, or mere texts, or the
 * JSON that the model wrote.
 */
function writeText(value: unknown, meter: Meter, depth = 0): void {
  if (typeof value === "string") {
    if (value !== "") meter.countText(value);
  } else if (Array.isArray(value)) {
    for (const part of value) writeText(part, meter, depth);
  } else if (typeof value === "number" || typeof value === "boolean") meter.countText(`${value}`);
  else if (isObject(value as JsonValue) && depth < deepest) {
    const { type, text, thinking, summary, reasoning } = value as JsonObject;
    const isPart = type !== undefined || text !== undefined || thinking !== undefined;
    writeText(isPart ? (text ?? thinking ?? summary ?? reasoning) : JSON.stringify(value), meter, depth + 1);
  }
}

/** deepest is how many parts are looked for within each other. */
const deepest = 3;
