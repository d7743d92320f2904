/** Schemas that chat enforces: the Messages API enforces others, too, which chat refuses outright. */
import { isObject, type JsonObject, type JsonValue, jsonType } from "../../../wire/json.ts";

const ofOneSchema = ["items", "not", "additionalProperties"];
const ofSchemaLists = ["anyOf", "allOf", "oneOf", "prefixItems"];
const ofSchemaMaps = ["properties", "$defs", "definitions"];

/** isClosed reports whether every object of the schema is closed and requires all its keys. */
export function isClosed(schema: JsonValue): boolean {
  if (jsonType(schema) !== "object") return true;
  const node = schema as JsonObject;
  const isOfObjects = node.properties !== undefined || [node.type].flat().includes("object");
  if (isOfObjects && !(node.additionalProperties === false && allRequired(node))) return false;
  return subschemas(node).every(isClosed);
}

function allRequired({ properties, required }: JsonObject): boolean {
  const names = new Set(Array.isArray(required) ? required : []);
  return !isObject(properties) || Object.keys(properties).every((name) => names.has(name));
}

function subschemas(node: JsonObject): JsonValue[] {
  const pick = (keys: readonly string[]) => keys.map((key) => node[key]).filter((value) => value !== undefined);
  const maps = pick(ofSchemaMaps).filter((value) => jsonType(value) === "object");
  return [
    ...pick(ofOneSchema),
    ...pick(ofSchemaLists).filter(Array.isArray).flat(),
    ...maps.flatMap((map) => Object.values(map as JsonObject)),
  ];
}
