/**
 * Completes a unary message to what every client of the Messages API reads: servers that resemble Anthropic's leave out, or have in another
 * form, what SDKs pass on unread.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isObject, mappedList, objectsIn, parsedJson } from "../../wire/json.ts";
import type { Attempt } from "../contract.ts";
import { isFinished, messageWordOf } from "../usage/finish-word.ts";
import { completeBlock } from "./usual-block.ts";

/** changesOfMessage returns the members that are others in a usual message; undefined where none is. */
export function changesOfMessage(message: JsonObject, operation: Operation): JsonObject | undefined {
  if (operation !== "messages") return undefined;
  const { type = null, role = null, content, stop_reason = null } = message;
  const changes: JsonObject = {};
  if (type === null) changes.type = "message";
  if (role === null) changes.role = "assistant";
  const blocks = Array.isArray(content) ? objectsIn(mappedList(content, usualBlock)) : undefined;
  const hasCalled = blocks?.some(({ type }) => type === "tool_use") ?? false;
  // It is whole, also where its server gives no reason, or an empty one.
  const told = isFinished(stop_reason) ? stop_reason : "end_turn";
  const reason = messageWordOf(told, hasCalled) as JsonValue;
  if (reason !== stop_reason) changes.stop_reason = reason;
  if (blocks && blocks !== content) changes.content = blocks;
  return Object.keys(changes).length > 0 ? changes : undefined;
}

/** usualBlock returns a mere text as a block, a call with its input as an object where that is JSON in a text, and any block complete. */
function usualBlock(block: JsonValue): JsonValue {
  if (typeof block === "string") return { type: "text", text: block };
  return isObject(block) ? completeBlock(withInput(block)) : block;
}

function withInput(block: JsonObject): JsonObject {
  const { type, input = null } = block;
  if (typeof type !== "string" || !type.endsWith("tool_use")) return block;
  if (input === null || input === "") return { ...block, input: {} };
  const read = typeof input === "string" ? parsedJson(input, true) : undefined;
  return isObject(read) ? { ...block, input: read } : block;
}

/** headOfMessage returns the head of the message that answers a call: of one that does not begin, or has no id or model of its own. */
export function headOfMessage(callId: string, model: string): JsonObject {
  return { id: `msg_${callId.replace(/^req_/, "")}`, type: "message", role: "assistant", model };
}

/** lackingHead returns the members that the head of a unary message lacks; undefined where it has all. */
export function lackingHead(
  { id = null, model = null, stop_sequence: sequence }: JsonObject,
  attempt: Attempt,
): JsonObject | undefined {
  if (attempt.operation !== "messages" || (id !== null && model !== null && sequence !== undefined)) return undefined;
  const head = headOfMessage(attempt.id, attempt.model);
  return { id: id ?? head.id ?? null, model: model ?? attempt.model, stop_sequence: sequence ?? null };
}
