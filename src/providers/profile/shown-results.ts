/**
 * Images, files and sounds in the results of tools, for servers of chat that take them from the user only: they stand in a message of the
 * user's behind the results, as translations have them. Agents write them into results for Claude and Gemini, and OpenAI refuses the request.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import type { Capabilities } from "./profile.ts";

/**
 * showResults returns the messages with such parts where the server takes them; the same list where all are. A result that must be one text has
 * no place for them, unless the profile says that they are kept.
 */
export function showResults(
  messages: readonly JsonObject[],
  { result_media: taken, plain_text: plain = [] }: Pick<Capabilities, "result_media" | "plain_text">,
): readonly JsonObject[] {
  const areMoved = taken === undefined ? plain.includes("tool") : taken === "user";
  if (!areMoved || !messages.some((message) => shownBy(message).length > 0)) return messages;
  const told: JsonObject[] = [];
  let shown: JsonValue[] = [];
  const show = () => {
    if (shown.length > 0) told.push({ role: "user", content: shown });
    shown = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") show();
    const others = shownBy(message);
    told.push(others.length > 0 ? { ...message, content: textsOf(message) } : message);
    if (others.length > 0)
      shown.push({ type: "text", text: `Attached to the result of ${message.tool_call_id}:` }, ...others);
  }
  show();
  return told;
}

/** shownBy returns the parts of a result that are no text. */
function shownBy({ role, content }: JsonObject): readonly JsonValue[] {
  if (role !== "tool" || !Array.isArray(content)) return [];
  return content.filter((part) => isObject(part) && part.type !== "text");
}

/** textsOf returns the texts of a result as one, for servers that take no list; a list where one is marked. */
function textsOf({ content }: JsonObject): JsonValue {
  const texts = (content as JsonValue[]).filter(isObject).filter(({ type }) => type === "text");
  const isPlain = texts.every((part) => Object.keys(part).length === 2);
  return isPlain ? texts.map(({ text }) => text).join("\n\n") : texts;
}
