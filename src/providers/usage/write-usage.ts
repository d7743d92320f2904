/** Writes usage as each API reports it: every count of tokens that has a price, where there is any of it. */
import type { Operation } from "../../call/operations.ts";
import { totalInput, type Usage } from "../../call/usage.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import { countOf } from "./count.ts";

/** TellingOperation is one whose answers tell usage. */
export type TellingOperation = Exclude<Operation, "count_tokens" | "speech">;

const writers: { readonly [O in TellingOperation]: (used: Usage) => JsonObject } = {
  chat: chatUsage,
  completions: chatUsage,
  embeddings: (used) => ({ prompt_tokens: totalInput(used), total_tokens: totalInput(used) }),
  messages: messageUsage,
  responses: responseUsage,
};

/** tellsUsage reports whether answers of an operation tell usage. */
export function tellsUsage(operation: Operation): operation is TellingOperation {
  return Object.hasOwn(writers, operation);
}

/** asksForUsage reports whether a request for a stream of chunks asks for its usage. */
export function asksForUsage({ stream_options: options }: JsonObject): boolean {
  return isObject(options) && options.include_usage === true;
}

/** writeUsage returns the `usage` of an answer. */
export function writeUsage(operation: TellingOperation, used: Usage): JsonObject {
  return writers[operation](used);
}

/**
 * completedUsage returns the usage that an upstream told, with the counts in the places of its own. Of these none is kept, by whatever
 * name: what it told is not what is charged.
 */
export function completedUsage(told: JsonValue | undefined, operation: TellingOperation, used: Usage): JsonObject {
  const others = isObject(told) ? Object.entries(told).filter(([name]) => !countsTokens.test(name)) : [];
  return { ...Object.fromEntries(others), ...writeUsage(operation, used) };
}

/** countsTokens matches the names of counts of tokens in all APIs, and of what divides or adds to them: `prompt_tokens`, `totalTokenCount`. */
const countsTokens = /tokens?(_?details|count)?$|^(cache_creation|iterations)$/i;

function chatUsage(used: Usage): JsonObject {
  const { output } = used;
  const input = totalInput(used);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: inputDetails(used),
    completion_tokens_details: outputDetails(used),
  };
}

function inputDetails({ cacheRead, cacheWrite, cacheWriteHour, inputAudio, inputImage }: Usage): JsonObject {
  const others = {
    cache_write_tokens: cacheWrite + cacheWriteHour,
    audio_tokens: inputAudio,
    image_tokens: inputImage,
  };
  // These are OpenAI's names, where what is kept for longer is kept for 12 hours.
  const split = { ttl_12h_tokens: cacheWriteHour, ttl_30m_tokens: cacheWrite };
  const longer = cacheWriteHour > 0 && { cache_write_tokens_details: split };
  return { cached_tokens: cacheRead, ...whereAny(others), ...longer };
}

function outputDetails({ reasoning, outputAudio }: Usage): JsonObject {
  return { reasoning_tokens: reasoning, ...whereAny({ audio_tokens: outputAudio }) };
}

/** whereAny returns the counts that are not zero. */
function whereAny(counts: { readonly [name: string]: number | undefined }): JsonObject {
  const some: Record<string, number> = {};
  for (const [name, count = 0] of Object.entries(counts)) if (count > 0) some[name] = count;
  return some;
}

function messageUsage(used: Usage): JsonObject {
  const { input, cacheWrite, cacheWriteHour, output, reasoning } = used;
  const split = { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: cacheWriteHour };
  return {
    cache_creation: split,
    output_tokens_details: reasoning > 0 ? { thinking_tokens: reasoning } : null,
    input_tokens: input,
    ...cachedOfMessage(used),
    output_tokens: output,
  };
}

function cachedOfMessage({ cacheRead, cacheWrite, cacheWriteHour }: Usage) {
  return { cache_creation_input_tokens: cacheWrite + cacheWriteHour, cache_read_input_tokens: cacheRead };
}

/** inputOfMessage returns the counts of a message's input, of the cache's where there is any. */
export function inputOfMessage(used: Usage): JsonObject {
  return { input_tokens: used.input, ...whereAny(cachedOfMessage(used)) };
}

/**
 * tellsLess reports whether the end of a message tells less of what it tells than was told before. Where it compacted, its sums leave that out,
 * and are not compared.
 */
export function tellsLess(end: JsonValue | undefined, before: Usage): boolean {
  if (!isObject(end) || Array.isArray(end.iterations)) return false;
  const isLess = (counts: JsonObject) => {
    const told = Object.entries(counts).filter(([name]) => countOf(end[name]) !== undefined);
    return told.reduce((left, [name, count]) => left + Number(count) - Number(end[name]), 0) > 0;
  };
  return isLess({ output_tokens: before.output }) || isLess({ input_tokens: before.input, ...cachedOfMessage(before) });
}

/** responseUsage has all details that typed clients require, also those of which there is none. */
function responseUsage(used: Usage): JsonObject {
  const { output, cacheWrite, cacheWriteHour } = used;
  const input = totalInput(used);
  return {
    input_tokens: input,
    input_tokens_details: { cache_write_tokens: cacheWrite + cacheWriteHour, ...inputDetails(used) },
    output_tokens: output,
    output_tokens_details: outputDetails(used),
    total_tokens: input + output,
  };
}
