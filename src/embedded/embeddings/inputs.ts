/**
 * The inputs of an embeddings request in order, each a text or a list of tokens. A missing input is the empty text, and one with media counts as
 * its JSON.
 */
import type { CreateEmbeddingsRequest } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import { invalidValue } from "../../call/refusals.ts";

export type EmbeddedInput = string | readonly number[];

const maxInputs = 2048;

/** inputsOf throws a Refusal for a list out of bounds. */
export function inputsOf(input: CreateEmbeddingsRequest["input"]): readonly EmbeddedInput[] {
  if (input.case === "inputTokens") return [input.value.tokens];
  if (input.case === "inputPart") return [JSON.stringify(input.value)];
  if (input.case !== "inputList") return [input.value ?? ""];
  const { items } = input.value;
  if (items.length < 1 || items.length > maxInputs) {
    throw invalidValue("input", `a list holds 1 to ${maxInputs} inputs, or the tokens of one`);
  }
  return items.map(({ item }) => {
    if (item.case === "part") return JSON.stringify(item.value);
    return item.case === "tokens" ? item.value.tokens : (item.value ?? "");
  });
}
