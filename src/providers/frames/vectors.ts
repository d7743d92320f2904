/**
 * Tells whether an answer of embeddings has all that it was asked for, since clients take vectors by their place, and finds the vectors in
 * other forms than OpenAI's.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, listOrEmpty } from "../../wire/json.ts";

/** lacksVectors is the fault of an answer that has not. */
export const lacksVectors = "its answer lacks vectors";

/** hasAllVectors reports whether each input of the request has its vector. Of an answer its outline suffices. */
export function hasAllVectors({ data }: JsonObject, { input = null }: JsonObject): boolean {
  return Array.isArray(data) && data.length >= inputsOf(input) && data.every(isVector);
}

/** inputsOf returns how many vectors an input asks for. A list of numbers is one text, in tokens. */
export function inputsOf(input: JsonValue): number {
  return Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
}

/** isVector reports the entry of a vector in OpenAI's form. */
export function isVector(item: JsonValue): boolean {
  return isObject(item) && (Array.isArray(item.embedding) || typeof item.embedding === "string");
}

/**
 * vectorsIn returns the list that says what an answer of another form says; undefined where it has no vectors. llama.cpp outside `/v1`, and
 * Text Embeddings Inference, answer with a bare list; others have the vectors, or the only one, as `embeddings`, `embedding` or `data`, in an
 * object or within `output` or `result`.
 */
export function vectorsIn(answer: JsonValue | undefined): JsonObject | undefined {
  return vectorsWithin(answer, 0);
}

/** holders are the members that have the vectors, or an object with them. */
const holders = ["data", "embeddings", "embedding", "float", "output", "result", "predictions"] as const;
/** saysVectors are those whose texts are vectors in base64: elsewhere a text may be anything. */
const saysVectors: ReadonlySet<string> = new Set(["embeddings", "embedding"]);
/** deepest is how many objects may stand around the vectors. */
const deepest = 2;

function vectorsWithin(answer: JsonValue | undefined, depth: number): JsonObject | undefined {
  if (Array.isArray(answer)) return asList(listOf(answer, false), {});
  if (!isObject(answer)) return undefined;
  for (const key of holders) {
    const { [key]: held = null, ...rest } = answer;
    const list = asList(listOf(held, saysVectors.has(key)), rest);
    if (list) return list;
    const inner = isObject(held) && depth < deepest ? vectorsWithin(held, depth + 1) : undefined;
    if (inner) return { ...rest, ...inner };
  }
  return undefined;
}

function asList(vectors: readonly (JsonObject | undefined)[], rest: JsonObject): JsonObject | undefined {
  if (vectors.length === 0 || !vectors.every((vector) => vector !== undefined)) return undefined;
  const data = vectors.map((vector, index) => ({ index, ...vector }));
  return { ...rest, object: "list", data };
}

/** listOf returns an entry for each vector: of a list, of one vector, of an object with one, or of an object with entries by their places. */
function listOf(held: JsonValue, hasBase64: boolean): readonly (JsonObject | undefined)[] {
  const entryOf = (entry: JsonValue) => (typeof entry === "string" && !hasBase64 ? undefined : vectorOf(entry));
  const only = typeof held === "string" ? undefined : vectorOf(held);
  if (only) return [only];
  if (Array.isArray(held)) return held.map(entryOf);
  const places = isObject(held) ? Object.keys(held) : [];
  const areInOrder = places.every((place, i) => Number(place) === i);
  return areInOrder && isObject(held) ? Object.values(held).map(entryOf) : [];
}

/** vectorKeys are the names of a vector: OpenAI's, Jina's, Google's, Cohere's by its numbers, that of models with several kinds of vectors. */
const vectorKeys = ["embedding", "embeddings", "values", "vector", "float", "dense"] as const;

/** vectorOf returns the entry of a vector: numbers, base64, or an object that has them by some name. */
function vectorOf(entry: JsonValue | undefined): JsonObject | undefined {
  if (typeof entry === "string" || isNumbers(entry)) return { embedding: entry };
  if (!isObject(entry)) return undefined;
  for (const key of vectorKeys) {
    const { [key]: held = null, ...rest } = entry;
    const [first, ...others] = listOrEmpty(held);
    const vector = isNumbers(first) && others.length === 0 ? { embedding: first } : vectorOf(held);
    if (vector) return { ...rest, ...vector };
  }
  return undefined;
}

function isNumbers(value: JsonValue | undefined): value is number[] {
  return Array.isArray(value) && typeof value[0] === "number";
}
