/**
 * The inputs of a request for embeddings, in their order: each a text, or a list of tokens.
 *
 * A missing input is the empty text. A list of bare tokens is one input, so it can hold nothing else.
 */
import type { CreateEmbeddingsRequest } from "../../../../gen/modelgateway/v1/embeddings_pb.ts";
import { invalidValue } from "../../../errors.ts";

export type EmbeddedInput = string | readonly number[];

const maxInputs = 2048;

/** Throws a Refusal. */
export function inputsOf(input: CreateEmbeddingsRequest["input"]): readonly EmbeddedInput[] {
  if (input.case !== "inputList") return [input.value ?? ""];
  const items = input.value.items.map(({ item }) => item);
  if (items.length < 1 || items.length > maxInputs) {
    throw invalidValue("input", `a list holds 1 to ${maxInputs} inputs, or the tokens of one`);
  }
  const bare = items.flatMap((item) => (item.case === "token" ? [item.value] : []));
  if (bare.length === items.length) return [bare];
  if (bare.length > 0)
    throw invalidValue("input", "a list of tokens is one input; it cannot hold texts or lists as well");
  return items.map((item) => (item.case === "tokens" ? item.value.tokens : (item.value as string | undefined)) ?? "");
}
