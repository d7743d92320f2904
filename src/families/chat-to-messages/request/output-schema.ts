/**
 * A JSON Schema → the part of it that the Messages API can hold an answer to, or the input of a strict tool.
 *
 * The rules are those of the vendor's own SDK. The API closes every object: what fits the closed schema fits the open one.
 * `oneOf` is said as `anyOf`, and old `definitions` as `$defs`. What the API cannot hold the model to (bounds, unknown formats,
 * `not`, `patternProperties`, objects opened on purpose, whatever else no rule names) is told to the model in the description,
 * and named as left out. What only says which schema it is goes without a word.
 */
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { Dropped } from "../../dropped.ts";

const formats: readonly JsonValue[] = [
  ...["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
];
/** Constrain nothing. */
const ignoredKeywords = new Set(["$schema", "$id", "$comment", "$anchor", "type"]);
const combinations = ["anyOf", "oneOf", "allOf"];
/** Beside the combinations and what `keeps` says; a reference stands alone. */
const kept = new Set(["description", "title", "default", "required"]);

export function outputSchema(schema: JsonObject, path: string, dropped: Dropped): JsonObject {
  const { $ref: reference } = schema;
  if (typeof reference === "string") return referenceSchema(schema, reference, path, dropped);
  const narrowed = definitionsOf(schema, path, dropped);
  const left: JsonObject = {};
  const combination = combinations.find((key) => Array.isArray(schema[key]));
  for (const [key, value] of Object.entries(schema)) {
    const narrowedMember = key === combination ? combined(key, value, path, dropped) : narrow(schema, key, value, path, dropped);
    if (narrowedMember) Object.assign(narrowed, narrowedMember);
    else if (!ignoredKeywords.has(key) && !isDefinitions(key)) left[key] = value;
  }
  for (const key of Object.keys(left)) dropped.add(`${path}.${key}`);
  const type = typeOf(schema);
  if (type !== undefined && !("enum" in narrowed || "const" in narrowed)) narrowed.type = type;
  if (isOf(schema, "object")) {
    narrowed.properties ??= {};
    narrowed.additionalProperties = false;
  }
  return describeDropped(narrowed, left);
}

/** What stands beside a reference is lost. */
function referenceSchema(schema: JsonObject, reference: string, path: string, dropped: Dropped): JsonObject {
  for (const key of Object.keys(schema)) {
    const isSaid =
      key === "$ref" || ignoredKeywords.has(key) || isDefinitions(key) || key === "description" || key === "title";
    if (!isSaid) dropped.add(`${path}.${key}`);
  }
  return {
    ...definitionsOf(schema, path, dropped),
    $ref: reference.replace(/^#\/definitions\//, "#/$defs/"),
  };
}

function isDefinitions(key: string): boolean {
  return key === "$defs" || key === "definitions";
}

function definitionsOf(schema: JsonObject, path: string, dropped: Dropped): JsonObject {
  const definitions = ["definitions", "$defs"].flatMap((key) => {
    const value = schema[key];
    return isObject(value) ? Object.entries(schemasIn(value, `${path}.${key}`, dropped)) : [];
  });
  return definitions.length > 0 ? { $defs: Object.fromEntries(definitions) } : {};
}

/** Returns what is said of a keyword; undefined where it has to be left out. */
function narrow(
  schema: JsonObject,
  key: string,
  value: JsonValue,
  path: string,
  dropped: Dropped,
): JsonObject | undefined {
  switch (key) {
    case "properties":
      return isObject(value) ? { properties: schemasIn(value, `${path}.properties`, dropped) } : undefined;
    case "items":
      return isObject(value) ? { items: outputSchema(value, `${path}.items`, dropped) } : undefined;
    case "additionalProperties":
      return value === false ? { additionalProperties: false } : undefined;
    case "minItems":
      return value === 0 || value === 1 ? { minItems: value } : undefined;
    case "format":
      return formats.includes(value) && isOf(schema, "string") ? { format: value } : undefined;
    case "pattern":
      return typeof value === "string" && isPlain(value) ? { pattern: value } : undefined;
    case "const":
      return isPlainValue(value) ? { const: value } : undefined;
    case "enum":
      return Array.isArray(value) && value.length > 0 && value.every(isPlainValue) ? { enum: value } : undefined;
  }
  return kept.has(key) ? { [key]: value } : undefined;
}

/** An object fits one of several schemas more strictly than any. */
function combined(key: string, value: JsonValue, path: string, dropped: Dropped): JsonObject {
  const each = (item: JsonValue, i: number) =>
    isObject(item) ? outputSchema(item, `${path}.${key}[${i}]`, dropped) : item;
  return { [key === "oneOf" ? "anyOf" : key]: (value as JsonValue[]).map(each) };
}

function schemasIn(map: JsonObject, path: string, dropped: Dropped): JsonObject {
  const each = (name: string, item: JsonValue) =>
    isObject(item) ? outputSchema(item, `${path}.${name}`, dropped) : item;
  return Object.fromEntries(Object.entries(map).map(([name, item]) => [name, each(name, item)]));
}

/** A type that nobody said is that of the keywords. */
function typeOf({ type, properties, items }: JsonObject): JsonValue | undefined {
  if (type !== undefined && type !== null) return type;
  if (isObject(properties)) return "object";
  return isObject(items) ? "array" : undefined;
}

function isOf(schema: JsonObject, type: string): boolean {
  return [typeOf(schema) ?? ""].flat().includes(type);
}

/** The vendor's SDK writes it so, too. */
function describeDropped(schema: JsonObject, left: JsonObject): JsonObject {
  const rest = Object.entries(left).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  if (rest.length === 0) return schema;
  const { description } = schema;
  const before = typeof description === "string" && description !== "" ? `${description}\n\n` : "";
  return { ...schema, description: `${before}{${rest.join(", ")}}` };
}

/** Whether a pattern has nothing that the API cannot follow: looking around, back references, bounds of words. */
function isPlain(pattern: string): boolean {
  return !/\(\?[=!<]|\\[1-9bBkpP]/.test(pattern);
}

function isPlainValue(value: JsonValue): boolean {
  return value === null || typeof value !== "object";
}
