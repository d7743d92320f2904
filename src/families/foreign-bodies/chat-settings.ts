/** Settings of responses on the path of chat, and formats that are written flat → chat's own. A setting of chat's own wins. */
import { definedFields, isFilledText, isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";

/** hasOtherSettings reports settings that chat has by another name or in another form. It may be an outline. */
export function hasOtherSettings(json: JsonObject): boolean {
  const { text, instructions, max_output_tokens: bound, response_format: format } = json;
  return isObject(text) || typeof instructions === "string" || typeof bound === "number" || isFlat(format);
}

/** isFlat reports a schema that stands beside its type, as in responses. */
function isFlat(format: JsonValue | undefined): format is JsonObject {
  return isObject(format) && format.type === "json_schema" && isObject(format.schema) && !isObject(format.json_schema);
}

/** settingsInChatWords returns the changes to such settings. */
export function settingsInChatWords(json: JsonObject): Record<string, JsonValue | undefined> {
  const { text, max_output_tokens: bound, verbosity, response_format: own } = json;
  const { format: told, verbosity: detail } = isObject(text) ? text : {};
  const format = own ?? (isObject(told) ? told : undefined);
  const isBounded = (json.max_tokens ?? json.max_completion_tokens ?? null) !== null;
  return {
    ...(isObject(text) ? { text: undefined, ...definedFields({ verbosity: verbosity ?? detail }) } : {}),
    ...(typeof bound === "number" ? { max_output_tokens: undefined, ...(isBounded ? {} : { max_tokens: bound }) } : {}),
    ...(format === undefined || format === null ? {} : { response_format: isFlat(format) ? nested(format) : format }),
  };
}

function nested({ type, name = "answer", schema, strict, description }: JsonObject): JsonObject {
  return { ...definedFields({ type }), json_schema: definedFields({ name, description, schema, strict }) };
}

/** instructionsIn returns a message of the instructions that a request has beside its messages. */
export function instructionsIn({ instructions }: JsonObject): JsonObject[] {
  return isFilledText(instructions) ? [{ role: "system", content: instructions }] : [];
}
