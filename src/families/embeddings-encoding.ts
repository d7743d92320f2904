/**
 * The encoding of vectors: lists of numbers, or base64 of 32-bit floats, least significant byte first.
 *
 * Upstreams answer in the encoding they support, and callers get the one they asked for. Clients take vectors by
 * position, so they are sorted into the order of the inputs. Clients in typed languages refuse answers and vectors that lack `object` or
 * `model`, which are added. An answer that needs no change passes through.
 * Unreadable and empty vectors are the upstream's failure. Base64 of other numbers, which some vendors have (`output_dtype`), is passed on
 * to callers that asked for them. Perplexity's signed bytes, which it has for everybody, are not read as floats.
 */
import type { CreateEmbeddingsRequestSchema, EmbeddingListSchema } from "../../gen/modelgateway/v1/embeddings_pb.ts";
import type { Answer } from "../call/call.ts";
import { upstreamFailed } from "../call/refusals.ts";
import { isFilledText, isObject, type JsonObject, type JsonValue } from "../wire/json.ts";
import type { Wire } from "../wire/wire.ts";

export type VectorFormat = "float" | "base64";

/** vectorsAsAsked returns what makes an answer one of the encoding that a valid request asks for. It throws like `encodeVectors`. */
export function vectorsAsAsked(request: Wire<typeof CreateEmbeddingsRequestSchema>) {
  return (answer: Answer<typeof EmbeddingListSchema>): Answer<typeof EmbeddingListSchema> => {
    if (answer.kind !== "whole") return answer;
    const encoded = encodeVectors(answer.body, formatAskedFor(request), !asksForOtherNumbers(request));
    return { ...answer, body: withHead(encoded, request.outline().model) };
  };
}

/** withHead returns an answer that says that it is a list, and of which model; the same one where it does. */
function withHead(
  answer: Wire<typeof EmbeddingListSchema>,
  asked: JsonValue | undefined,
): Wire<typeof EmbeddingListSchema> {
  const { object, model } = answer.outline();
  const hasModel = isFilledText(model);
  if (object === "list" && hasModel) return answer;
  return answer.with({ object: "list", model: hasModel ? model : (asked ?? null) });
}

/** formatAskedFor returns the encoding that a valid request asks for. */
export function formatAskedFor(request: Wire<typeof CreateEmbeddingsRequestSchema>): VectorFormat {
  return request.outline().encoding_format === "base64" ? "base64" : "float";
}

/** asksForOtherNumbers reports a request for vectors of other numbers than floats. */
function asksForOtherNumbers(request: Wire<typeof CreateEmbeddingsRequestSchema>): boolean {
  const { output_dtype: type = null } = request.outline();
  return type !== null && type !== "float";
}

/** encodeVectors throws a Refusal for unreadable vectors. `areFloats` says that base64 is of floats; else it stays as it came. */
export function encodeVectors(
  answer: Wire<typeof EmbeddingListSchema>,
  format: VectorFormat,
  areFloats = true,
): Wire<typeof EmbeddingListSchema> {
  // An outline suffices to see that numbers stay as they are.
  if (!changedItems(answer.outline(), format, areFloats)) return answer;
  const changed = changedItems(answer.json(), format, areFloats);
  return changed ? answer.with({ data: changed }) : answer;
}

/** changedItems returns undefined where nothing changes. */
function changedItems({ data }: JsonObject, format: VectorFormat, areFloats: boolean): JsonValue[] | undefined {
  if (!Array.isArray(data)) throw unreadable();
  const ordered = inOrder(data.map((item) => typedItem(encodedItem(item, format, areFloats))));
  return ordered.every((item, i) => item === data[i]) ? undefined : ordered;
}

/** typedItem returns the same object where nothing changes. */
function typedItem(item: JsonValue): JsonValue {
  return isObject(item) && item.object !== "embedding" ? { ...item, object: "embedding" } : item;
}

/** encodedItem returns the same object where nothing changes. */
function encodedItem(item: JsonValue, format: VectorFormat, areFloats: boolean): JsonValue {
  const embedding = (item as JsonObject | null)?.embedding;
  if (Array.isArray(embedding)) {
    const vector = onlyVector(embedding);
    checkNumbers(vector);
    if (vector.length === 0) throw unreadable();
    if (format === "float") return vector === embedding ? item : { ...(item as JsonObject), embedding: vector };
    return { ...(item as JsonObject), embedding: toBase64(vector) };
  }
  if (typeof embedding !== "string") throw unreadable();
  if (!areFloats) return item;
  const floats = toFloats(embedding);
  return format === "base64" ? item : { ...(item as JsonObject), embedding: [...floats] };
}

/** llama.cpp has a list of vectors, mostly of one. */
function onlyVector(embedding: JsonValue[]): JsonValue[] {
  const [first] = embedding;
  return embedding.length === 1 && Array.isArray(first) ? first : embedding;
}

/** inOrder sorts items by their index, which may be a text. Those without one keep their position, which becomes their index. */
function inOrder(items: readonly JsonValue[]): JsonValue[] {
  const indexOf = (item: JsonValue, position: number) => {
    const index = (item as JsonObject | null)?.index;
    return typeof index === "number" || (typeof index === "string" && /^\d{1,6}$/.test(index))
      ? Number(index)
      : position;
  };
  const placed = items.map((item, position) => ({ item, index: indexOf(item, position) }));
  const ordered = placed.sort((a, b) => a.index - b.index).map(({ item }) => item as JsonObject);
  return ordered.map((item, position) => (item.index === position ? item : { ...item, index: position }));
}

function checkNumbers(vector: readonly JsonValue[]): asserts vector is readonly number[] {
  if (!vector.every(Number.isFinite)) throw unreadable();
}

function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(4 * vector.length);
  for (const [i, value] of vector.entries()) {
    // A number too large for 32 bits would become infinity.
    if (!Number.isFinite(Math.fround(value))) throw unreadable();
    bytes.writeFloatLE(value, 4 * i);
  }
  return bytes.toString("base64");
}

function toFloats(base64: string): Float32Array {
  const bytes = Buffer.from(base64, "base64");
  // The decoder ignores unknown characters, and stops at the first `=`.
  const whole = Math.floor((base64.replace(/={1,2}$/, "").length * 3) / 4);
  if (bytes.length === 0 || bytes.length !== whole || bytes.length % 4 !== 0) throw unreadable();
  const vector = new Float32Array(bytes.length / 4);
  for (let i = 0; i < vector.length; i++) vector[i] = bytes.readFloatLE(4 * i);
  // JSON has finite numbers only, and bytes that are other numbers give some that no model says.
  if (!vector.every((value) => Math.abs(value) < mostOfModels)) throw unreadable();
  return vector;
}

/** mostOfModels is more than the numbers of any model's vectors. */
const mostOfModels = 2 ** 100;

function unreadable(): Error {
  return upstreamFailed("its vectors cannot be read");
}
