/** Writes usage as each API reports it. */
import type { Operation } from "../../call/operations.ts";
import type { Usage } from "../../call/usage.ts";
import type { JsonObject } from "../../wire/json.ts";

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

/** writeUsage returns the `usage` of an answer. */
export function writeUsage(operation: TellingOperation, used: Usage): JsonObject {
  return writers[operation](used);
}

function totalInput({ input, cacheRead, cacheWrite, cacheWriteHour }: Usage): number {
  return input + cacheRead + cacheWrite + cacheWriteHour;
}

function chatUsage(used: Usage): JsonObject {
  const { output, reasoning, cacheRead } = used;
  const input = totalInput(used);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function messageUsage({ input, cacheRead, cacheWrite, cacheWriteHour, output }: Usage): JsonObject {
  return {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite + cacheWriteHour,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
  };
}

function responseUsage(used: Usage): JsonObject {
  const { output, reasoning, cacheRead } = used;
  const input = totalInput(used);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
