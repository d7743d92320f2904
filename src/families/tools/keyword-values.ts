/**
 * The values that draft 2020-12 of JSON Schema allows for its keywords. Anthropic and OpenAI check schemas by that draft, and refuse a
 * whole request for one keyword of an older draft, or of nobody's.
 */
import { isObject, type JsonValue } from "../../wire/json.ts";
import { doubleOf, isExactNumber } from "../../wire/scan/exact-number.ts";

/** words are the types by the names that clients' languages have for them. */
const words: ReadonlyMap<string, string> = new Map([
  ...["object", "array", "string", "number", "integer", "boolean", "null"].map((type) => [type, type] as const),
  ...["dict", "dictionary", "map", "struct"].map((word) => [word, "object"] as const),
  ...["list", "tuple", "set"].map((word) => [word, "array"] as const),
  ...["str", "text", "char"].map((word) => [word, "string"] as const),
  ...["float", "double", "decimal"].map((word) => [word, "number"] as const),
  ...["int", "int32", "int64", "long"].map((word) => [word, "integer"] as const),
  ...["bool"].map((word) => [word, "boolean"] as const),
  ...["none", "nil"].map((word) => [word, "null"] as const),
]);

/** typeNamed returns the type of this name; undefined where there is none. */
function typeNamed(name: JsonValue): string | undefined {
  return typeof name === "string" ? words.get(name.toLowerCase()) : undefined;
}

/** Read returns a value as the draft has it; undefined for one that means nothing there. */
type Read = (value: JsonValue) => JsonValue | undefined;

const reads: ReadonlyMap<string, Read> = new Map<string, Read>([
  ["type", typeOf],
  ["$id", (value) => (typeof value === "string" && /^[^#]*#?$/.test(value) ? value : undefined)],
  ["required", namesOf],
  ["enum", (value) => (isObject(value) ? Object.values(value) : listOf(value))],
  ["examples", listOf],
  ...["title", "description", "pattern", "format", "$ref", "$comment"].map((key) => [key, textOf] as const),
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].map((key) => [key, numberOf] as const),
  ["multipleOf", (value) => above(0, numberOf(value))],
  ...["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"].map(
    (key) => [key, countOf] as const,
  ),
  ...["minProperties", "maxProperties"].map((key) => [key, countOf] as const),
  ...["uniqueItems", "deprecated", "readOnly", "writeOnly"].map((key) => [key, truthOf] as const),
  ...["anyOf", "oneOf", "allOf", "prefixItems"].map((key) => [key, schemasOf] as const),
  ...["items", "contains", "additionalProperties", "unevaluatedProperties"].map((key) => [key, schemaOf] as const),
  ...["not", "if", "then", "else", "propertyNames", "unevaluatedItems"].map((key) => [key, schemaOf] as const),
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"].map(
    (key) => [key, mapOf] as const,
  ),
]);

/** keywordValue returns the value of a keyword as the draft has it; undefined for one that means nothing there. */
export function keywordValue(key: string, value: JsonValue): JsonValue | undefined {
  const read = reads.get(key);
  return read ? read(value) : value;
}

/** schemaOf reads a schema: `true`, `false` or an object. The name of a type stands for a schema of that type. */
export function schemaOf(value: JsonValue): JsonValue | undefined {
  if (isObject(value) || typeof value === "boolean") return value;
  if (Array.isArray(value) && value.length === 0) return {};
  if (typeof value !== "string") return undefined;
  if (value === "true" || value === "false") return value === "true";
  const type = typeNamed(value);
  return type === undefined ? { description: value } : { type };
}

function typeOf(value: JsonValue): JsonValue | undefined {
  if (!Array.isArray(value)) return typeNamed(value);
  const known = value.map((name) => (name === null ? "null" : typeNamed(name)));
  if (known.length === 0 || known.includes(undefined)) return undefined;
  return isUnchanged(value, known) ? value : [...new Set(known as string[])];
}

function namesOf(value: JsonValue): JsonValue | undefined {
  if (typeof value === "string") return value === "true" || value === "false" ? undefined : [value];
  if (!Array.isArray(value)) return undefined;
  const names = [...new Set(value.filter((name) => typeof name === "string"))];
  return names.length === value.length ? value : names;
}

function listOf(value: JsonValue): JsonValue {
  return Array.isArray(value) ? value : [value];
}

function textOf(value: JsonValue): JsonValue | undefined {
  if (typeof value === "string") return value;
  return doubleOf(value) === undefined ? undefined : JSON.stringify(value);
}

function numberOf(value: JsonValue): JsonValue | undefined {
  if (typeof value === "number" || isExactNumber(value)) return value;
  const isNumber = typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value));
  return isNumber ? Number(value) : undefined;
}

function countOf(value: JsonValue): JsonValue | undefined {
  const count = numberOf(value);
  const double = doubleOf(count);
  return double !== undefined && Number.isInteger(double) && double >= 0 ? count : undefined;
}

function above(bound: number, value: JsonValue | undefined): JsonValue | undefined {
  const double = doubleOf(value);
  return double !== undefined && double > bound ? value : undefined;
}

function truthOf(value: JsonValue): boolean | undefined {
  if (typeof value === "boolean") return value;
  return value === "true" || value === "false" ? value === "true" : undefined;
}

function schemasOf(value: JsonValue): JsonValue | undefined {
  const list = isObject(value) ? [value] : value;
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const read = list.map((one) => schemaOf(one) ?? {});
  return isUnchanged(list, read) ? list : read;
}

function mapOf(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value) && value.length === 0) return {};
  return isObject(value) ? value : undefined;
}

function isUnchanged(before: readonly JsonValue[], after: readonly (JsonValue | undefined)[]): boolean {
  return new Set(after).size === before.length && before.every((one, i) => one === after[i]);
}
