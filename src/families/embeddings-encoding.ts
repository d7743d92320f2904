/**
 * How the vectors of an embeddings answer are written: as lists of numbers, or as base64 of 32-bit floats, the least
 * significant byte first.
 *
 * Upstreams answer in the form that they can, callers get the form that they asked for, and clients take vectors by
 * their position, so these are brought into the order of the inputs. An answer that is already as it should be is passed
 * on untouched. One whose vectors cannot be read is the upstream's failure.
 */
import {
  type CreateEmbeddingsRequestSchema,
  type EmbeddingListSchema,
  EncodingFormat,
} from "../../gen/modelgateway/v1/embeddings_pb.ts";
import { upstreamFailed } from "../errors.ts";
import type { JsonObject, JsonValue } from "../wire/json.ts";
import type { Wire } from "../wire/wire.ts";

export type VectorFormat = "float" | "base64";

/** Returns the form that the caller asked for. */
export function formatAskedFor(request: Wire<typeof CreateEmbeddingsRequestSchema>): VectorFormat {
  return request.message().encodingFormat === EncodingFormat.BASE64 ? "base64" : "float";
}

/** Throws a Refusal. */
export function encodeVectors(
  answer: Wire<typeof EmbeddingListSchema>,
  format: VectorFormat,
): Wire<typeof EmbeddingListSchema> {
  const { data } = answer.json();
  if (!Array.isArray(data)) return answer;
  const items = data.map((item) => encodedItem(item, format));
  const ordered = inOrder(items);
  return ordered.every((item, i) => item === data[i]) ? answer : answer.with({ data: ordered });
}

/** Returns the same object where nothing changes. */
function encodedItem(item: JsonValue, format: VectorFormat): JsonValue {
  const embedding = (item as JsonObject | null)?.embedding;
  if (format === "base64" && Array.isArray(embedding))
    return { ...(item as JsonObject), embedding: toBase64(embedding) };
  if (format === "float" && typeof embedding === "string")
    return { ...(item as JsonObject), embedding: toFloats(embedding) };
  return item;
}

/** Items without an index stay where they are. */
function inOrder(items: readonly JsonValue[]): JsonValue[] {
  const indexOf = (item: JsonValue, position: number) => {
    const index = (item as JsonObject | null)?.index;
    return typeof index === "number" ? index : position;
  };
  const placed = items.map((item, position) => ({ item, index: indexOf(item, position) }));
  return placed.sort((a, b) => a.index - b.index).map(({ item }) => item);
}

function toBase64(vector: readonly JsonValue[]): string {
  const bytes = Buffer.allocUnsafe(4 * vector.length);
  for (const [i, value] of vector.entries()) {
    if (typeof value !== "number") throw unreadable();
    bytes.writeFloatLE(value, 4 * i);
  }
  return bytes.toString("base64");
}

function toFloats(base64: string): number[] {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length % 4 !== 0) throw unreadable();
  const vector = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
  // JSON has no other numbers.
  if (!vector.every(Number.isFinite)) throw unreadable();
  return vector;
}

function unreadable(): Error {
  return upstreamFailed("its vectors cannot be read");
}
