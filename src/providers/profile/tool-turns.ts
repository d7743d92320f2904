/**
 * Fits calls of tools and their results to servers that are strict about them: about the form of the ids, and about
 * what follows the results.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import type { Capabilities } from "./profile.ts";

const nine = /^[A-Za-z0-9]{9}$/;

/** fitCallIds returns the changes to a message: its ids as the server takes them. */
export function fitCallIds(message: JsonObject, { call_ids: form }: Capabilities): Record<string, JsonValue> {
  if (form !== "nine") return {};
  const { tool_calls: calls, tool_call_id: id } = message;
  const changes: Record<string, JsonValue> = {};
  if (typeof id === "string" && !nine.test(id)) changes.tool_call_id = nineOf(id);
  if (Array.isArray(calls) && calls.some((call) => isObject(call) && isOther(call.id))) {
    changes.tool_calls = calls.map((call) =>
      isObject(call) && isOther(call.id) ? { ...call, id: nineOf(call.id) } : call,
    );
  }
  return changes;
}

function isOther(id: JsonValue | undefined): id is string {
  return typeof id === "string" && id !== "" && !nine.test(id);
}

/** nineOf returns nine letters and digits that follow from the id, so that a prompt cache keeps hitting. */
function nineOf(id: string): string {
  return createHash("sha256")
    .update(id)
    .digest("base64")
    .replaceAll(/[^A-Za-z0-9]/g, "")
    .slice(0, 9);
}

/** Stands between the results of tools and what else the user says. */
const bridge: JsonObject = { role: "assistant", content: "OK." };

/** bridgeResults returns the messages with the model's turns where the server demands them; the same list where none is missing. */
export function bridgeResults(
  messages: readonly JsonObject[],
  { after_tools: demanded }: Pick<Capabilities, "after_tools">,
): readonly JsonObject[] {
  if (demanded !== "assistant") return messages;
  const isMissing = ({ role }: JsonObject, i: number) => role === "user" && messages[i - 1]?.role === "tool";
  if (!messages.some(isMissing)) return messages;
  return messages.flatMap((message, i) => (isMissing(message, i) ? [bridge, message] : [message]));
}
