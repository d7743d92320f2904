/**
 * A JSON Schema → the part that the Messages API enforces for an answer, or for the input of a strict tool.
 *
 * The rules are those of the vendor's own SDK. The API closes every object: what fits the closed schema fits the open
 * one. `oneOf` becomes `anyOf`, and `definitions` become `$defs`. What the API does not enforce (bounds, unknown
 * formats, `not`, `patternProperties`, explicitly open objects, unknown keywords) goes into the description and is
 * named as dropped. Keywords that only identify a schema are dropped silently.
 */
import { described, isHuge } from "../../../providers/profile/schemas/root-schema.ts";
import { isObject, type JsonObject, type JsonValue, listOrEmpty } from "../../../wire/json.ts";
import { isEnforceable } from "../enforceable.ts";

const formats: readonly JsonValue[] = [
  ...["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
];
/** Keywords that constrain nothing. */
const ignoredKeywords = new Set(["$schema", "$id", "$comment", "$anchor", "type"]);
const combinations = ["anyOf", "oneOf", "allOf"];
/** Keywords that stay as they are. A reference stands alone. */
const kept = new Set(["description", "title", "default", "required"]);

export interface EnforcedSchema {
  readonly schema: JsonObject;
  /** The paths of what the API does not enforce. */
  readonly dropped: readonly string[];
}

/** enforcedSchema returns undefined for a schema that the API refuses (`enforceable.ts`), and a huge one as it came. */
export function enforcedSchema(schema: JsonObject, path: string): EnforcedSchema | undefined {
  if (isHuge(schema)) return { schema, dropped: [] };
  const lost = new Set<string>();
  const enforced = narrowed(schema, path, lost);
  return isEnforceable(enforced) ? { schema: enforced, dropped: [...lost] } : undefined;
}

type Dropped = Pick<Set<string>, "add">;

function narrowed(written: JsonObject, path: string, dropped: Dropped): JsonObject {
  const schema = withoutSoleAllOf(written);
  const { $ref: reference } = schema;
  if (typeof reference === "string") return referenceSchema(schema, reference, path, dropped);
  const enforced = definitionsOf(schema, path, dropped);
  const left: JsonObject = {};
  const combination = combinations.find((key) => Array.isArray(schema[key]));
  for (const [key, value] of Object.entries(schema)) {
    const narrowedMember =
      key === combination ? combined(key, value, path, dropped) : narrow(schema, key, value, path, dropped);
    if (narrowedMember) Object.assign(enforced, narrowedMember);
    else if (!ignoredKeywords.has(key) && !isDefinitions(key)) left[key] = value;
  }
  for (const key of Object.keys(left)) dropped.add(`${path}.${key}`);
  const type = typeOf(schema);
  if (type !== undefined && !("enum" in enforced || "const" in enforced)) enforced.type = type;
  if (isOf(schema, "object")) {
    enforced.properties ??= {};
    enforced.additionalProperties = false;
  }
  return described(enforced, left);
}

/** withoutSoleAllOf returns a schema with what an `allOf` of one schema demands beside the rest, as Pydantic describes a reference. */
function withoutSoleAllOf(schema: JsonObject): JsonObject {
  const { allOf, ...rest } = schema;
  const [sole, ...others] = listOrEmpty(allOf);
  if (!isObject(sole) || others.length > 0) return schema;
  const isApart = Object.keys(sole).every((key) => !Object.hasOwn(rest, key) || annotations.has(key));
  return isApart ? { ...sole, ...rest } : schema;
}

/** annotations are keywords that demand nothing: those of the outer schema win. */
const annotations: ReadonlySet<string> = new Set(["title", "description", "default"]);

/** besideNone are keywords without which an answer would not fit: the API closes objects, so that none has a further member. */
const besideNone: ReadonlySet<string> = new Set([
  ...["properties", "required", "items", "enum", "const"],
  ...combinations,
]);

/**
 * referenceSchema keeps the reference. Its sibling keywords are dropped; one that has a sibling which may not be dropped stands within an
 * `allOf`, which the API refuses (`enforceable.ts`).
 */
function referenceSchema(schema: JsonObject, reference: string, path: string, dropped: Dropped): JsonObject {
  for (const key of Object.keys(schema)) {
    const isSaid =
      key === "$ref" || ignoredKeywords.has(key) || isDefinitions(key) || key === "description" || key === "title";
    if (!isSaid) dropped.add(`${path}.${key}`);
  }
  const own = { $ref: reference.replace(/^#\/definitions\//, "#/$defs/") };
  const isAlone = !Object.keys(schema).some((key) => besideNone.has(key));
  return { ...definitionsOf(schema, path, dropped), ...(isAlone ? own : { allOf: [own] }) };
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

/** narrow returns the narrowed keyword; undefined where it must be dropped. */
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
      return isObject(value) ? { items: narrowed(value, `${path}.items`, dropped) } : undefined;
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

/** A schema combines its alternatives more strictly than any of them. */
function combined(key: string, value: JsonValue, path: string, dropped: Dropped): JsonObject {
  const each = (item: JsonValue, i: number) =>
    isObject(item) ? narrowed(item, `${path}.${key}[${i}]`, dropped) : item;
  return { [key === "oneOf" ? "anyOf" : key]: (value as JsonValue[]).map(each) };
}

function schemasIn(map: JsonObject, path: string, dropped: Dropped): JsonObject {
  const each = (name: string, item: JsonValue) => (isObject(item) ? narrowed(item, `${path}.${name}`, dropped) : item);
  return Object.fromEntries(Object.entries(map).map(([name, item]) => [name, each(name, item)]));
}

/** typeOf returns the type, or the one that the keywords imply. */
function typeOf({ type, properties, items }: JsonObject): JsonValue | undefined {
  if (type !== undefined && type !== null) return type;
  if (isObject(properties)) return "object";
  return isObject(items) ? "array" : undefined;
}

function isOf(schema: JsonObject, type: string): boolean {
  return [typeOf(schema) ?? ""].flat().includes(type);
}

/** isPlain reports whether the API supports a pattern: no lookaround, back references or word boundaries. */
function isPlain(pattern: string): boolean {
  return !/\(\?[=!<]|\\[1-9bBkpP]/.test(pattern);
}

function isPlainValue(value: JsonValue): boolean {
  return !isObject(value) && !Array.isArray(value);
}
