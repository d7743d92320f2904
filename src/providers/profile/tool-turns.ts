/**
 * Fits turns to servers that are strict about them: about the form of the ids of calls, what follows the results of
 * tools, and whose turn is the last.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { isObject, mappedInSlices } from "../../wire/json.ts";
import type { Capabilities } from "./profile.ts";

interface IdForm {
  /** fits reports whether the server takes an id. */
  fits(id: string): boolean;
  /** made returns an id in place of another. It follows from it, so that a prompt cache keeps hitting. */
  made(id: string): string;
}

const nine = /^[A-Za-z0-9]{9}$/;
/** The most characters of an id in chat and in responses, by OpenAI's refusals. */
const longest = { chat: 40, responses: 64 } as const;

/** idForm returns undefined for a server that takes any id. */
function idForm(form: Capabilities["call_ids"], operation: keyof typeof longest): IdForm | undefined {
  switch (form) {
    case "nine":
      return { fits: (id) => nine.test(id), made: (id) => hashOf(id, 9) };
    case "short":
      return { fits: (id) => id.length <= longest[operation], made: (id) => `call_${hashOf(id, 24)}` };
  }
  return undefined;
}

/** fitCallIds returns the changes to a message: its ids as the server takes them. */
export function* fitCallIds(
  message: JsonObject,
  { call_ids }: Capabilities,
): CooperativeTask<Record<string, JsonValue>> {
  const form = idForm(call_ids, "chat");
  if (!form) return {};
  const { tool_calls: calls, tool_call_id: id } = message;
  const changes: Record<string, JsonValue> = {};
  if (isOther(id, form)) changes.tool_call_id = form.made(id);
  if (!Array.isArray(calls)) return changes;
  const fitted = yield* mappedInSlices(calls, (call) =>
    isObject(call) && isOther(call.id, form) ? { ...call, id: form.made(call.id) } : call,
  );
  return fitted === calls ? changes : { ...changes, tool_calls: fitted };
}

/** fitItemIds returns the items of a response's input with ids of calls as the server takes them; the same value where all are. */
export function* fitItemIds(
  input: JsonValue | undefined,
  { call_ids }: Capabilities,
): CooperativeTask<JsonValue | undefined> {
  const form = idForm(call_ids, "responses");
  if (!form || !Array.isArray(input)) return input;
  return yield* mappedInSlices(input, (item) =>
    isObject(item) && isOther(item.call_id, form) ? { ...item, call_id: form.made(item.call_id) } : item,
  );
}

function isOther(id: JsonValue | undefined, form: IdForm): id is string {
  return typeof id === "string" && id !== "" && !form.fits(id);
}

/** hashOf returns letters and digits that follow from a text. */
function hashOf(text: string, length: number): string {
  return createHash("sha256")
    .update(text)
    .digest("base64")
    .replaceAll(/[^A-Za-z0-9]/g, "")
    .slice(0, length);
}

/**
 * withoutEmptyTurns returns the messages without those of the model that neither say nor call anything, where the server refuses them; the
 * same list where it has none. What such a turn has thought is named.
 */
export function withoutEmptyTurns(
  messages: readonly JsonObject[],
  { empty_turns: taken }: Pick<Capabilities, "empty_turns">,
  dropped: string[],
): readonly JsonObject[] {
  if (taken !== "none" || !messages.some(isEmptyTurn)) return messages;
  return messages.filter((message, i) => {
    if (!isEmptyTurn(message)) return true;
    if ([message.reasoning_content, message.reasoning].some(isSaid)) dropped.push(`messages[${i}]`);
    return false;
  });
}

/** The model goes on with a turn that is marked as its beginning. */
function isEmptyTurn({
  role,
  prefix,
  partial,
  content,
  tool_calls,
  function_call,
  refusal,
  audio,
}: JsonObject): boolean {
  if (role !== "assistant" || prefix === true || partial === true) return false;
  const parts = Array.isArray(content) ? content : [content ?? ""];
  const isSilent = parts.every((part) => (isObject(part) ? part.type === "text" && part.text === "" : part === ""));
  const calls = Array.isArray(tool_calls) && tool_calls.length === 0 ? null : tool_calls;
  return isSilent && [calls, function_call, refusal, audio].every((member) => (member ?? "") === "");
}

function isSaid(thought: JsonValue | undefined): boolean {
  return typeof thought === "string" && thought.trim() !== "";
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

/** Asks for the model's next turn after its own. */
const goOn: JsonObject = { role: "user", content: "Continue." };

/** endWithUser adds the user's turn where the server refuses to follow one of the model's; the same list where it takes it. */
export function endWithUser(
  messages: readonly JsonObject[],
  { last_turn: demanded }: Pick<Capabilities, "last_turn">,
): readonly JsonObject[] {
  const last = messages.at(-1);
  // A prefix is what these servers have for a turn that the model goes on with.
  const isRefused = demanded === "user" && last?.role === "assistant" && last.prefix !== true;
  return isRefused ? [...messages, goOn] : messages;
}
