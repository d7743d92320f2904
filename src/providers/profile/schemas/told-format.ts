/** Tells the schema of an answer as an instruction, for servers that take any JSON only. They also demand that the prompt speaks of JSON. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isInstruction } from "../../../call/request/content-parts.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { isFilledText, isObject } from "../../../wire/json.ts";
import { jsonText } from "../../../wire/long/write-json.ts";

/**
 * withToldFormat returns the messages with the schema of a response format behind the first instruction, or as the first one; the same list
 * where the format has no schema.
 */
export function* withToldFormat(
  messages: readonly JsonObject[],
  format: JsonValue | undefined,
): CooperativeTask<readonly JsonObject[]> {
  const { json_schema: described } = isObject(format) ? format : {};
  const { schema, description } = isObject(described) ? described : {};
  if (!isObject(schema)) return messages;
  const told = isFilledText(description) ? `${description}\n\n` : "";
  const written = yield* jsonText(schema);
  const text = `${told}Answer with one JSON object that fits this JSON Schema, and with nothing else:\n${written}`;
  const [first, ...others] = messages;
  if (!isInstruction(first)) return [{ role: "system", content: text }, ...messages];
  const { content } = first;
  const joined = Array.isArray(content)
    ? [...content, { type: "text", text }]
    : [content, text].filter(isFilledText).join("\n\n");
  return [{ ...first, content: joined }, ...others];
}
