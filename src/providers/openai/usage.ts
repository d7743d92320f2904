/**
 * What an answer of OpenAI's dialect tells a meter: its usage, in parts that do not overlap, what the model wrote, and
 * whether it gave up.
 *
 * What cannot be understood is passed over: it is never the answer's fault. Streams come through here chunk by chunk,
 * so nothing is built or joined on the way.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Meter } from "../contract.ts";
import { ChatUsageReader } from "../usage/chat-counts.ts";

/** Tells of a whole answer. What was written counts only where the output is not told. */
export function meterAnswer(answer: JsonObject, meter: Meter): void {
  const { choices } = answer;
  const counts = new ChatUsageReader();
  if (counts.take(answer)) meter.reportUsage(counts.reported);
  if (!Array.isArray(choices)) return;
  for (const choice of choices as Choice[]) {
    if (counts.reported.output === undefined) writeChoice(choice, meter);
    if (hasGivenUp(choice?.finish_reason)) meter.reportGivenUp();
  }
}

/** Tells of a choice in a chunk. */
export function meterChoice(choice: JsonObject, meter: Meter): void {
  writeChoice(choice, meter);
  if (hasGivenUp(choice.finish_reason)) meter.reportGivenUp();
}

/** The words of servers like OpenAI's for an end by an error or a filter. */
const givenUp = new Set(["content_filter", "error", "abort", "sensitive", "insufficient_system_resource"]);

function hasGivenUp(finish: unknown): boolean {
  if (typeof finish !== "string") return false;
  // Gemini says which filter, after a colon.
  return givenUp.has(finish) || finish.startsWith("content_filter:");
}

/** What is read of a choice: upstreams may say anything in its place. */
interface Choice extends Partial<Readonly<Record<"text" | "finish_reason", unknown>>> {
  readonly delta?: Said | null;
  readonly message?: Said | null;
}

type Said = Partial<
  Readonly<
    Record<"content" | "reasoning_content" | "reasoning" | "refusal" | "tool_calls" | "function_call", unknown> &
      Record<"images" | "reasoning_details", unknown>
  >
> & { readonly audio?: { readonly transcript?: unknown; readonly data?: unknown } | null };

function hasAny(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

function writeChoice(choice: Choice | null | undefined, meter: Meter): void {
  const said = choice?.delta ?? choice?.message;
  if (!said) {
    writeText(choice?.text, meter);
    return;
  }
  writeText(said.content, meter);
  // Some say the same under both names.
  writeText(said.reasoning_content || said.reasoning, meter);
  writeText(said.refusal, meter);
  if (Array.isArray(said.tool_calls)) for (const call of said.tool_calls) writeCall(call, meter);
  if (said.audio) {
    writeText(said.audio.transcript, meter);
    if (said.audio.data) meter.countText("");
  }
  // Vendors' own: pictures, and thoughts that are encrypted.
  if (hasAny(said.images) || hasAny(said.reasoning_details)) meter.countText("");
  if (said.function_call) writeNamed(said.function_call, meter);
}

function writeCall(call: { function?: unknown; custom?: unknown } | null | undefined, meter: Meter): void {
  writeNamed(call?.function ?? call?.custom, meter);
}

function writeNamed(called: unknown, meter: Meter): void {
  const { name, arguments: args, input } = (called ?? {}) as Record<"name" | "arguments" | "input", unknown>;
  writeText(name, meter);
  writeText(args, meter);
  writeText(input, meter);
}

/** A text; Mistral's models say it in parts, thoughts with parts of their own. */
function writeText(value: unknown, meter: Meter): void {
  if (typeof value === "string") {
    if (value !== "") meter.countText(value);
  } else if (Array.isArray(value)) {
    for (const part of value) writeText(part?.text ?? part?.thinking, meter);
  }
}
