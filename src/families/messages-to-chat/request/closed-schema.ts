/** Schemas that chat enforces: the Messages API enforces others, too, which chat refuses outright. */
import { isObject, type JsonObject, type JsonValue, listOrEmpty } from "../../../wire/json.ts";

const ofOneSchema = ["items", "not", "additionalProperties"];
const ofSchemaLists = ["anyOf", "allOf", "oneOf", "prefixItems"];
const ofSchemaMaps = ["properties", "$defs", "definitions"];

/** isClosed reports whether every object of the schema is closed and requires all its keys. */
export function isClosed(schema: JsonValue): boolean {
  if (!isObject(schema)) return true;
  const isOfObjects = schema.properties !== undefined || [schema.type].flat().includes("object");
  if (isOfObjects && !(schema.additionalProperties === false && allRequired(schema))) return false;
  return subschemas(schema).every(isClosed);
}

function allRequired({ properties, required }: JsonObject): boolean {
  const names = new Set(listOrEmpty(required));
  return !isObject(properties) || Object.keys(properties).every((name) => names.has(name));
}

function subschemas(schema: JsonObject): JsonValue[] {
  const pick = (keys: readonly string[]) => keys.map((key) => schema[key]).filter((value) => value !== undefined);
  return [
    ...pick(ofOneSchema),
    ...pick(ofSchemaLists).filter(Array.isArray).flat(),
    ...pick(ofSchemaMaps)
      .filter(isObject)
      .flatMap((map) => Object.values(map)),
  ];
}
