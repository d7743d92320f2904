/**
 * Finds the usage of an answer, or of a chunk, that has none in `usage`: servers that pass on another API's answer have it where that API
 * does, and by its names.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import { countOf, membersOf } from "./count.ts";

/** usageBeside returns a usage by names that `ChatUsageReader` reads; undefined where there is none. */
export function usageBeside(json: JsonObject): JsonObject | undefined {
  const { timings, meta, usageMetadata, usage_metadata, prompt_eval_count, inputTextTokenCount } = json;
  const completed = usageOfCompletion(json);
  if (completed) return completed;
  if (timings) return usageOfTimings(membersOf(timings));
  const named = usageMetadata ?? usage_metadata ?? json["amazon-bedrock-invocationMetrics"];
  if (isObject(named)) return named;
  if (meta) return usageOfUnits(membersOf(meta));
  const prompt = countOf(prompt_eval_count) ?? countOf(inputTextTokenCount);
  // Ollama's own API counts both, Amazon's Titan the text that becomes a vector.
  return prompt === undefined ? undefined : counted(prompt, countOf(json.eval_count));
}

/**
 * usageOfCompletion reads what llama.cpp's own completion tells, and text-generation-inference in its last piece. A prompt of 0 is one that
 * nobody told.
 */
function usageOfCompletion({ tokens_predicted, tokens_evaluated, details }: JsonObject): JsonObject | undefined {
  const { generated_tokens, input_length } = membersOf(details);
  const output = countOf(tokens_predicted) ?? countOf(generated_tokens);
  return output === undefined ? undefined : counted(countOf(tokens_evaluated) ?? countOf(input_length) ?? 0, output);
}

/**
 * usageOfUnits reads what Cohere's own API tells in `meta`, or in `usage`: what it bills, and else what it processed. It returns undefined
 * where neither has counts. Tokens of images are billed beside those of texts.
 */
export function usageOfUnits({ billed_units, tokens }: JsonObject): JsonObject | undefined {
  for (const units of [billed_units, tokens]) {
    const { input_tokens, image_tokens, output_tokens } = membersOf(units);
    const counts = [countOf(input_tokens), countOf(image_tokens)].filter((count) => count !== undefined);
    const output = countOf(output_tokens);
    if (counts.length > 0 || output !== undefined)
      return counted(
        counts.reduce((sum, count) => sum + count, 0),
        output,
      );
  }
  return undefined;
}

/**
 * usageOfTimings reads llama.cpp's timings; it returns undefined where they have no counts. `prompt_n` is without what came from the cache.
 */
function usageOfTimings({ prompt_n, predicted_n, cache_n }: JsonObject): JsonObject | undefined {
  const prompt = countOf(prompt_n);
  const output = countOf(predicted_n);
  if (prompt === undefined || output === undefined) return undefined;
  return counted(prompt + (countOf(cache_n) ?? 0), output);
}

function counted(prompt: number, output: number | undefined): JsonObject {
  return output === undefined ? { prompt_tokens: prompt } : { prompt_tokens: prompt, completion_tokens: output };
}
