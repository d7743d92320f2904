/**
 * JSON Schemas of functions as clients' languages, and older drafts, write them → the same schema by draft 2020-12, which every server
 * takes: PHP writes an empty map as `[]`, others null for what is absent, Google's clients type in capitals; draft 4 has
 * `"exclusiveMinimum": true`, draft 7 a list of `items`. What no draft allows goes into the description.
 */
import { described, isHuge, mapKeywords } from "../../providers/profile/schemas/root-schema.ts";
import { isObject, type JsonObject, type JsonValue, jsonType, listOrEmpty, mappedList } from "../../wire/json.ts";
import { keywordValue, schemaOf } from "./keyword-values.ts";

/** schemas are the keywords that hold a schema or several. */
const schemas: ReadonlySet<string> = new Set([
  ...["items", "prefixItems", "contains", "additionalProperties", "propertyNames"],
  ...["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"],
]);
/** values are the keywords whose value may be null. */
const values: ReadonlySet<string> = new Set(["default", "const", "example"]);

/** Lost is told the path of a keyword whose value no draft allows. */
type Lost = (path: string) => void;

/**
 * repairedSchema returns the schema as every server takes it; the same object where nothing is to be repaired, or it is huge. `path` is the
 * schema's.
 */
export function repairedSchema(schema: JsonObject, path = "", lost: Lost = () => {}): JsonObject {
  return isHuge(schema) ? schema : repaired(schema, path, lost);
}

function repaired(schema: JsonObject, path: string, lost: Lost): JsonObject {
  const current = ofCurrentDraft(schema);
  const members = Object.entries(current);
  const left: JsonObject = {};
  const kept = members.flatMap(([key, value]): [string, JsonValue][] => {
    if (value === null && !values.has(key)) return [];
    const read = keywordValue(key, value);
    if (read !== undefined) return [[key, repairedMember(key, read, `${path}.${key}`, lost)]];
    if (!isEmpty(key, value)) left[key] = value;
    return [];
  });
  for (const key of Object.keys(left)) lost(`${path}.${key}`);
  const isSame = kept.length === members.length && kept.every(([, value], i) => value === members[i]?.[1]);
  return isSame ? current : described(Object.fromEntries(kept), left);
}

/** isEmpty reports whether a value that no draft allows says nothing: `any` is no constraint, nor is a list of nothing. */
function isEmpty(key: string, value: JsonValue): boolean {
  return (
    (key === "type" && [value].flat().includes("any")) ||
    (Array.isArray(value) && value.length === 0) ||
    typeof value === "boolean"
  );
}

/** ofCurrentDraft returns a schema without what older drafts wrote otherwise; the same object where it has nothing of that. */
function ofCurrentDraft(schema: JsonObject): JsonObject {
  return withDemands(withTuple(withBounds(schema)));
}

/** withBounds turns draft 4's `"minimum": 0, "exclusiveMinimum": true` into `"exclusiveMinimum": 0`. */
function withBounds(schema: JsonObject): JsonObject {
  let current = schema;
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    const { [exclusive]: isExclusive, ...rest } = current;
    if (typeof isExclusive !== "boolean") continue;
    const { [bound]: value, ...others } = rest;
    current =
      isExclusive && value !== undefined && jsonType(value) === "number" ? { ...others, [exclusive]: value } : rest;
  }
  return current;
}

/** withTuple turns draft 7's list of `items`, a schema for each place, into `prefixItems`. */
function withTuple(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema;
  if (!Array.isArray(items) || items.length === 0) return schema;
  // OpenAI wants `items` of every array.
  const others = isObject(additionalItems) || additionalItems === false ? additionalItems : {};
  return { ...rest, items: others, prefixItems: items };
}

/** withDemands turns draft 3's `"required": true` of a property into its name in `required` of the object. */
function withDemands(schema: JsonObject): JsonObject {
  const { properties, required } = schema;
  if (!isObject(properties)) return schema;
  const demanded = Object.entries(properties).filter(([, one]) => isObject(one) && isTrue(one.required));
  if (demanded.length === 0) return schema;
  const names = typeof required === "string" && !isTrue(required) ? [required] : required;
  return { ...schema, required: [...listOrEmpty(names), ...demanded.map(([name]) => name)] };
}

function isTrue(value: JsonValue | undefined): boolean {
  return value === true || value === "true";
}

function repairedMember(key: string, value: JsonValue, path: string, lost: Lost): JsonValue {
  if (mapKeywords.has(key) && isObject(value)) return each(value, path, lost);
  if (!schemas.has(key)) return value;
  if (isObject(value)) return repaired(value, path, lost);
  if (!Array.isArray(value)) return value;
  const repair = (one: JsonValue, i: number) => (isObject(one) ? repaired(one, `${path}[${i}]`, lost) : one);
  return mappedList(value, repair);
}

function each(map: JsonObject, path: string, lost: Lost): JsonObject {
  const members = Object.entries(map).map(([name, value]): [string, JsonValue] => {
    const schema = schemaOf(value) ?? {};
    return [name, isObject(schema) ? repaired(schema, `${path}.${name}`, lost) : schema];
  });
  return members.every(([name, schema]) => schema === map[name]) ? map : Object.fromEntries(members);
}
