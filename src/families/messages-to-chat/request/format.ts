/**
 * `output_config.format` → `response_format`.
 *
 * Both families enforce schemas, but chat's `strict` takes only closed objects whose keys are all required, and
 * refuses others outright. Other schemas go without `strict`, the closest that chat offers.
 */
import type { OutputFormat } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { invalidValue, missingField } from "../../../call/refusals.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { isClosed } from "./closed-schema.ts";

export function responseFormatOf(format: OutputFormat | undefined): JsonObject | undefined {
  if (!format) return undefined;
  const { type, schema } = format;
  if (type !== "json_schema") throw invalidValue("output_config.format.type", "expected json_schema");
  if (!schema) throw missingField("output_config.format.schema");
  return { type: "json_schema", json_schema: { name: "structured_output", schema, strict: isClosed(schema) } };
}
