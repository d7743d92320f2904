/**
 * Tells whether an answer of embeddings has all that it was asked for, since clients take vectors by their place, and finds the vectors in
 * other forms than OpenAI's.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** hasAllVectors reports whether each input of the request has its vector. Of an answer its outline suffices. */
export function hasAllVectors({ data }: JsonObject, { input = null }: JsonObject): boolean {
  return Array.isArray(data) && data.length >= inputsOf(input) && data.every(isVector);
}

/** inputsOf returns how many vectors an input asks for. A list of numbers is one text, in tokens. */
function inputsOf(input: JsonValue): number {
  if (!Array.isArray(input)) return 1;
  return input.every((item) => typeof item === "string" || Array.isArray(item)) ? input.length : 1;
}

function isVector(item: JsonValue): boolean {
  return isObject(item) && (Array.isArray(item.embedding) || typeof item.embedding === "string");
}

/**
 * vectorsIn returns the list that says what an answer of another form says; undefined where it has no vectors. llama.cpp outside `/v1`, and
 * Text Embeddings Inference, answer with a bare list; others have it as `embeddings`, or the one vector as `embedding`.
 */
export function vectorsIn(answer: JsonValue | undefined): JsonObject | undefined {
  if (Array.isArray(answer)) return listOf(answer, {});
  if (!isObject(answer)) return undefined;
  const { embeddings, embedding, output, ...rest } = answer;
  if (embeddings === undefined && isObject(output)) return vectorsIn({ ...rest, ...output });
  const vectors = (isObject(embeddings) ? embeddings.float : embeddings) ?? (embedding ? [embedding] : undefined);
  return Array.isArray(vectors) ? listOf(vectors, rest) : undefined;
}

function listOf(vectors: readonly JsonValue[], rest: JsonObject): JsonObject | undefined {
  const data = vectors.map((item, index) => (Array.isArray(item) ? { index, embedding: item } : item));
  return data.length > 0 && data.every(isVector) ? { ...rest, object: "list", data } : undefined;
}
