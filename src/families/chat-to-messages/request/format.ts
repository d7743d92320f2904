/**
 * `response_format` → what makes the model answer in JSON.
 *
 * - A schema becomes `output_config.format`. Models too old for it, and those asked for a schema that the API does not enforce, must call a
 *   tool with that schema, whose input is the answer's content; where no call can be demanded, an instruction holds the schema.
 * - `json_object`, JSON without a schema, becomes an instruction after the caller's own: the API refuses open schemas, and a forced tool
 *   without a schema is often called with nothing.
 */
import { type CreateChatCompletionRequest, ResponseFormatType } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { rootSchema } from "../../../providers/profile/schemas/root-schema.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { isObject, type JsonObject } from "../../../wire/json.ts";
import { jsonText } from "../../../wire/long/write-json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { repairedSchema } from "../../tools/repaired-schema.ts";
import { supportsSchemas } from "../generations.ts";
import { enforcedSchema } from "./output-schema.ts";
import { type Choice, isForced } from "./tool-choice.ts";

/** Format has at most one of these. */
export interface Format {
  /** For `output_config.format`. */
  readonly output?: JsonObject;
  /** The tool whose call is the answer, without its name. */
  readonly tool?: JsonObject;
  /** For the end of `system`. */
  readonly instruction?: string;
}

const answerTool = "json_tool_call";
const onlyJson = "Answer with one JSON object and nothing else: no words before or after it, no code fence.";

/** `model` is the upstream's name of it; `isForcible` is whether it can be made to call a tool. */
export function* formatOf(
  { responseFormat: format }: CreateChatCompletionRequest,
  model: string,
  isForcible: boolean,
  dropped: Dropped,
): CooperativeTask<Format> {
  if (!format) return {};
  const path = "response_format";
  // Some servers have the schema beside the type.
  const { schema: beside, description: told } = format.extra ?? {};
  const isBeside = !format.jsonSchema && isObject(beside);
  dropped.addExtra(format.extra, path, isBeside ? ["type", "name", "description", "schema", "strict"] : ["type"]);
  if (format.type === ResponseFormatType.TEXT) return {};
  const isSchema = format.type === ResponseFormatType.JSON_SCHEMA || format.jsonSchema !== undefined || isBeside;
  if (!isSchema && format.type !== ResponseFormatType.JSON_OBJECT) {
    dropped.add(path);
    return {};
  }
  dropped.addExtra(format.jsonSchema?.extra, `${path}.json_schema`);
  const { schema, description } = isBeside
    ? { schema: beside, description: typeof told === "string" ? told : undefined }
    : (format.jsonSchema ?? {});
  if (!schema) return { instruction: onlyJson };
  const described = description === undefined || "description" in schema ? schema : { ...schema, description };
  const schemaPath = `${path}.json_schema.schema`;
  const lost: string[] = [];
  if (!isForcible && !supportsSchemas(model)) return { instruction: yield* instructionFor(described) };
  const repaired = repairedSchema(described, schemaPath, (path) => lost.push(path));
  yield;
  const narrowed = supportsSchemas(model) ? enforcedSchema(repaired, schemaPath) : undefined;
  if (narrowed) {
    for (const path of [...lost, ...narrowed.dropped]) dropped.add(path);
    return { output: { type: "json_schema", schema: narrowed.schema } };
  }
  if (!isForcible) return { instruction: yield* instructionFor(described) };
  for (const path of lost) dropped.add(path);
  const how = "Call this tool to give your answer; the input is the answer.";
  return {
    tool: { description: how, input_schema: rootSchema(repaired, (key) => dropped.add(`${schemaPath}.${key}`)) },
  };
}

/** instructionFor tells the model the schema of its answer. */
function* instructionFor(schema: JsonObject): CooperativeTask<string> {
  return `${onlyJson} It is valid for this JSON Schema: ${yield* jsonText(schema)}`;
}

/** answerToolName returns a name for the answer tool that no tool of the caller's has. */
export function answerToolName(taken: { has(name: string): boolean }): string {
  let name = answerTool;
  while (taken.has(name)) name += "_";
  return name;
}

/**
 * offerAnswerTool adds the answer tool: alone where no other may be called, else beside the others. A caller that demands a call of its own
 * tools gets that first.
 */
export function offerAnswerTool({ tools, json }: Choice, tool: JsonObject): Choice {
  if (isForced(json)) return { tools, json };
  if (tools.length === 0 || json?.type === "none") {
    const only = { type: "tool", name: tool.name as string, disable_parallel_tool_use: true };
    return { tools: [...tools, tool], json: only };
  }
  return { tools: [...tools, tool], json: { ...json, type: "any" } };
}
