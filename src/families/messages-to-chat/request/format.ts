/**
 * `output_config.format` → `response_format`.
 *
 * Both families enforce schemas, but chat's `strict` takes only closed objects whose keys are all required, and
 * refuses others outright. Other schemas go without `strict`, the closest that chat offers.
 */
import type { OutputFormat } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { invalidValue, missingField } from "../../../call/refusals.ts";
import { type JsonObject, type JsonValue, jsonType } from "../../../wire/json.ts";

export function responseFormatOf(format: OutputFormat | undefined): JsonObject | undefined {
  if (!format) return undefined;
  const { type, schema } = format;
  if (type !== "json_schema") throw invalidValue("output_config.format.type", "expected json_schema");
  if (!schema) throw missingField("output_config.format.schema");
  return { type: "json_schema", json_schema: { name: "structured_output", schema, strict: isClosed(schema) } };
}

const ofOneSchema = ["items", "not", "additionalProperties"];
const ofSchemaLists = ["anyOf", "allOf", "oneOf", "prefixItems"];
const ofSchemaMaps = ["properties", "$defs", "definitions"];

/** isClosed reports whether every object of the schema is closed and requires all its keys. */
function isClosed(schema: JsonValue): boolean {
  if (jsonType(schema) !== "object") return true;
  const node = schema as JsonObject;
  const isObject = node.properties !== undefined || [node.type].flat().includes("object");
  if (isObject && !(node.additionalProperties === false && allRequired(node))) return false;
  return subschemas(node).every(isClosed);
}

function allRequired({ properties = {}, required = [] }: JsonObject): boolean {
  return Array.isArray(required) && Object.keys(properties as object).every((key) => required.includes(key));
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
