/**
 * Identifies a conversation by its account and its beginning, up to the first user message. All turns of a conversation begin
 * alike, and so find the prompt cache that the earlier turns have filled.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Call } from "../../call/call.ts";
import type { Operation } from "../../call/operations.ts";
import { writeJson } from "../../wire/long/write-json.ts";

/** maxLength is how much of the beginning is compared, in characters. */
const maxLength = 8192;

/** conversationOf returns undefined for an operation without conversations. */
export function conversationOf(asked: Operation, { caller, request }: Call): string | undefined {
  const beginning = beginningOf(asked, request.json());
  return beginning === undefined ? undefined : `${caller.accountId}\n${beginning.slice(0, maxLength)}`;
}

function beginningOf(asked: Operation, json: JsonObject): string | undefined {
  if (asked === "chat") return beginningIn(leading(json.messages));
  if (asked === "messages") return beginningIn([json.system ?? null, leading(json.messages)]);
  if (asked === "responses") return beginningIn([json.instructions ?? null, leading(json.input)]);
  return undefined;
}

/** beginningIn formats no more than is compared: the first message may have megabytes. */
function beginningIn(value: JsonValue): string {
  let text = "";
  const work = writeJson(value, (part) => {
    text += part;
  });
  while (text.length < maxLength && !work.next().done);
  return text;
}

/** leading returns the messages up to the first user message. A plain text is a user message. */
function leading(messages: JsonValue | undefined): JsonValue {
  if (!Array.isArray(messages)) return messages ?? null;
  const first = messages.findIndex((message) => (message as JsonObject | null)?.role === "user");
  return messages.slice(0, first === -1 ? 1 : first + 1);
}
