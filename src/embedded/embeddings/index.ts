/**
 * `embedded-embedding`: vectors by feature hashing, the same for the same text on every machine.
 *
 * Texts that share words, parts of words or tokens have similar vectors; meaning is not known. Every vector has
 * length 1 and is a list of floats: the encoding for the caller is chosen at the door. Long inputs yield to other
 * work and stop when the caller disconnects.
 */
import { EmbeddingListSchema } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import type { Answer } from "../../call/call.ts";
import { invalidValue } from "../../call/refusals.ts";
import type { Attempt } from "../../providers/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { loadTokenizer } from "../../tokens/tokenizer.ts";
import { Wire } from "../../wire/wire.ts";
import { type EmbeddedInput, inputsOf } from "./inputs.ts";
import { Pace } from "./pace.ts";
import { vectorOf } from "./vector.ts";

const defaultDimensions = 512;
const maxDimensions = 4096;

/** embed throws a Refusal for inputs and dimensions out of bounds, and when the caller disconnects. */
export async function embed(attempt: Attempt<"embeddings">): Promise<Answer<typeof EmbeddingListSchema>> {
  const { request, model, signal, meter } = attempt;
  const { input, dimensions = defaultDimensions } = request.message();
  if (dimensions < 1 || dimensions > maxDimensions) {
    throw invalidValue("dimensions", `this model makes vectors of 1 to ${maxDimensions} numbers`);
  }
  const inputs = inputsOf(input);
  const pace = new Pace(signal);
  await pace.rest();
  const data = [];
  for (const [index, one] of inputs.entries()) {
    data.push({ object: "embedding", index, embedding: await vectorOf(one, dimensions, pace) });
  }
  const tokens = await tokensIn(inputs, signal);
  meter.reportUsage({ input: tokens });
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return { kind: "whole", body: Wire.ofJson(EmbeddingListSchema, { object: "list", data, model, usage }) };
}

async function tokensIn(inputs: readonly EmbeddedInput[], signal: Signal): Promise<number> {
  const texts: string[] = [];
  let tokens = 0;
  for (const input of inputs) {
    if (typeof input === "string") texts.push(input);
    else tokens += input.length;
  }
  return tokens + (await (await loadTokenizer()).countAll(texts, signal));
}
