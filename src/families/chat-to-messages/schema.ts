/**
 * A JSON Schema of the output → the part of it that the Messages API can hold a model to.
 *
 * The API closes every object and knows no bounds. Closing one that the caller left open loses nothing: what fits the
 * closed schema fits the open one. A bound, and an object opened on purpose, are left out and named.
 */
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import type { Dropped } from "./dropped.ts";

const bounds = new Set([
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"],
]);
/** Keywords whose value is a map of schemas, a list of schemas, or a schema. */
const maps = new Set(["properties", "$defs", "definitions"]);
const lists = new Set(["anyOf", "allOf", "oneOf", "prefixItems"]);

export function outputSchema(schema: JsonObject, path: string, dropped: Dropped): JsonObject {
  const narrowed: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    const keyPath = `${path}.${key}`;
    if (isLeftOut(key, value)) dropped.add(keyPath);
    else narrowed[key] = narrow(key, value, keyPath, dropped);
  }
  if (schema.type === "object" || schema.properties !== undefined) narrowed.additionalProperties = false;
  return narrowed;
}

function isLeftOut(key: string, value: JsonValue): boolean {
  if (key === "additionalProperties") return value !== false;
  return bounds.has(key) && !(key === "minItems" && (value === 0 || value === 1));
}

function narrow(key: string, value: JsonValue, path: string, dropped: Dropped): JsonValue {
  const each = (item: JsonValue, itemPath: string) => (isObject(item) ? outputSchema(item, itemPath, dropped) : item);
  if (key === "items") return each(value, path);
  if (lists.has(key) && Array.isArray(value)) return value.map((item, i) => each(item, `${path}[${i}]`));
  if (!maps.has(key) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, each(item, `${path}.${name}`)]));
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
