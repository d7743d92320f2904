/**
 * JSON Schemas of functions as clients' languages write them → the same schema as every server takes it: PHP writes an empty map
 * as `[]`, others null for what is absent, Google's clients types in capitals.
 */
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";

/** maps are the keywords whose value maps names to schemas. */
const maps: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"],
]);
/** schemas are the keywords that hold a schema or several. */
const schemas: ReadonlySet<string> = new Set([
  ...["items", "prefixItems", "contains", "additionalProperties"],
  ...["anyOf", "oneOf", "allOf", "not", "if", "then", "else"],
]);
/** values are the keywords whose value may be null. */
const values: ReadonlySet<string> = new Set(["default", "const", "enum", "examples", "example"]);

/** types has the types by their names in capitals. */
const types: ReadonlyMap<JsonValue, string> = new Map(
  ["object", "array", "string", "number", "integer", "boolean", "null"].map((type) => [type.toUpperCase(), type]),
);

/** repairedSchema returns the schema as every server takes it; the same object where nothing is to be repaired. */
export function repairedSchema(schema: JsonObject): JsonObject {
  const members = Object.entries(schema);
  const repaired = members.flatMap(([key, value]): [string, JsonValue][] => {
    if (value === null && !values.has(key)) return [];
    return [[key, repairedMember(key, value)]];
  });
  const isSame = repaired.length === members.length && repaired.every(([, value], i) => value === members[i]?.[1]);
  return isSame ? schema : Object.fromEntries(repaired);
}

function repairedMember(key: string, value: JsonValue): JsonValue {
  if (key === "type") return typeOf(value);
  if (maps.has(key)) return isObject(value) ? each(value) : isEmptyList(value) ? {} : value;
  if (!schemas.has(key)) return value;
  if (isObject(value)) return repairedSchema(value);
  if (!Array.isArray(value)) return value;
  if (isEmptyList(value)) return key === "items" ? {} : value;
  const list = value.map((one) => (isObject(one) ? repairedSchema(one) : one));
  return list.every((one, i) => one === value[i]) ? value : list;
}

function each(map: JsonObject): JsonObject {
  const repaired = Object.entries(map).map(([name, schema]): [string, JsonValue] => {
    return [name, isObject(schema) ? repairedSchema(schema) : isEmptyList(schema) ? {} : schema];
  });
  return repaired.every(([name, schema]) => schema === map[name]) ? map : Object.fromEntries(repaired);
}

function isEmptyList(value: JsonValue): boolean {
  return Array.isArray(value) && value.length === 0;
}

function typeOf(type: JsonValue): JsonValue {
  if (!Array.isArray(type)) return types.get(type) ?? type;
  return type.some((one) => types.has(one)) ? type.map((one) => types.get(one) ?? one) : type;
}
