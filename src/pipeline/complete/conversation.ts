/**
 * What tells a conversation from others: its account, and how it begins, up to the first thing that its user says. Later
 * turns begin alike, and so they find the prompt cache that the turns before have filled.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Call } from "../../call/call.ts";
import type { Operation } from "../../call/operations.ts";
import { writeJson } from "../../wire/long/write-json.ts";

/** In characters: what is longer tells no more. */
const longest = 8192;

/** Returns undefined for what has no conversation. */
export function conversationOf(asked: Operation, { caller, request }: Call): string | undefined {
  const beginning = beginningOf(asked, request.json());
  return beginning === undefined ? undefined : `${caller.accountId}\n${beginning.slice(0, longest)}`;
}

function beginningOf(asked: Operation, json: JsonObject): string | undefined {
  if (asked === "chat") return beginningIn(leading(json.messages));
  if (asked === "messages") return beginningIn([json.system ?? null, leading(json.messages)]);
  if (asked === "responses") return beginningIn([json.instructions ?? null, leading(json.input)]);
  return undefined;
}

/** Writes no more than is needed: what comes first may be megabytes. */
function beginningIn(value: JsonValue): string {
  let text = "";
  const work = writeJson(value, (part) => {
    text += part;
  });
  while (text.length < longest && !work.next().done);
  return text;
}

/** Returns all up to the first message of the user's; a text is the user's own. */
function leading(messages: JsonValue | undefined): JsonValue {
  if (!Array.isArray(messages)) return messages ?? null;
  const first = messages.findIndex((message) => (message as JsonObject | null)?.role === "user");
  return messages.slice(0, first === -1 ? 1 : first + 1);
}
