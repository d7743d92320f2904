/**
 * What an answer of OpenAI's dialect tells a meter: its usage, in parts that do not overlap, what the model wrote, and
 * whether it gave up.
 *
 * What cannot be understood is passed over: it is never the answer's fault. Streams come through here chunk by chunk,
 * so nothing is built or joined on the way.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { countOf } from "./count.ts";
import type { Meter, ToldUsage } from "./provider.ts";

/** Tells of a whole answer. What was written counts only where the output is not told. */
export function meterAnswer({ choices, usage }: JsonObject, meter: Meter): void {
  const told = tellUsage(usage, meter);
  if (!Array.isArray(choices)) return;
  for (const choice of choices as Choice[]) {
    if (told.output === undefined) writeChoice(choice, meter);
    if (hasGivenUp(choice?.finish_reason)) meter.gaveUp();
  }
}

/** Tells of a choice in a chunk. */
export function meterChoice(choice: JsonObject, meter: Meter): void {
  writeChoice(choice, meter);
  if (hasGivenUp(choice.finish_reason)) meter.gaveUp();
}

/** Tells usage on, and returns what of it was told. */
export function tellUsage(usage: JsonValue | undefined, meter: Meter): ToldUsage {
  if (typeof usage !== "object" || usage === null || Array.isArray(usage)) return nothing;
  const { input, cacheRead, cacheWrite } = inputParts(usage);
  const { output, reasoning } = outputParts(usage);
  const told = { input, cacheRead, cacheWrite, output, reasoning };
  meter.told(told);
  return told;
}

const nothing: ToldUsage = {};

/** The prompt's tokens have those of the cache in them: whatever is told, the parts make up the whole. */
function inputParts(usage: JsonObject): ToldUsage {
  const prompt = countOf(usage.prompt_tokens);
  if (prompt === undefined) return nothing;
  const details = usage.prompt_tokens_details as JsonObject | null | undefined;
  // DeepSeek has a name of its own for it, others a place.
  const { prompt_cache_hit_tokens: hit, cached_tokens: cached } = usage;
  const cacheRead = Math.min(prompt, countOf(details?.cached_tokens) ?? countOf(hit) ?? countOf(cached) ?? 0);
  const cacheWrite = Math.min(prompt - cacheRead, countOf(details?.cache_write_tokens) ?? 0);
  return { input: prompt - cacheRead - cacheWrite, cacheRead, cacheWrite };
}

/**
 * The completion's tokens have the reasoning in them, but not at xAI, nor at Gemini, which does not even tell of it:
 * there the total alone does.
 */
function outputParts(usage: JsonObject): ToldUsage {
  const output = countOf(usage.completion_tokens);
  if (output === undefined) return nothing;
  const details = usage.completion_tokens_details as JsonObject | null | undefined;
  const reasoning = countOf(details?.reasoning_tokens) ?? countOf(usage.reasoning_tokens);
  const beside = (countOf(usage.total_tokens) ?? 0) - (countOf(usage.prompt_tokens) ?? Number.NaN) - output;
  const isReasoning = reasoning === undefined ? !isOfCache(beside, usage) : beside === reasoning;
  if (beside > 0 && isReasoning) return { output: output + beside, reasoning: beside };
  return { output, reasoning: Math.min(output, reasoning ?? 0) };
}

/** Some count what was read from the cache or written to it beside the prompt. */
function isOfCache(tokens: number, { prompt_tokens_details }: JsonObject): boolean {
  const { cached_tokens, cache_write_tokens } = (prompt_tokens_details ?? {}) as JsonObject;
  return tokens === (countOf(cached_tokens) ?? 0) + (countOf(cache_write_tokens) ?? 0);
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
    if (said.audio.data) meter.wrote("");
  }
  // Vendors' own: pictures, and thoughts that are encrypted.
  if (hasAny(said.images) || hasAny(said.reasoning_details)) meter.wrote("");
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
    if (value !== "") meter.wrote(value);
  } else if (Array.isArray(value)) {
    for (const part of value) writeText(part?.text ?? part?.thinking, meter);
  }
}
