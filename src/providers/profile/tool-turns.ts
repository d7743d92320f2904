/**
 * Fits turns to servers that are strict about them: about the form of the ids and names of calls, what follows the results of
 * tools, and whose turn is the last.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { fitName, type NameRule, wordRule } from "../../call/tools/fit-name.ts";
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { isFilledText, isObject, listOrEmpty, mappedInSlices } from "../../wire/json.ts";
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

/**
 * names are those of functions that were called. One that does not fit, and that the request does not offer, is offered by nobody: a model made
 * it up, or another server took it.
 */
const names = { chat: wordRule(64), responses: wordRule(128) } as const;
/** speakers are the names of those who say something. */
const speakers: NameRule = { fits: /^[^\s<|\\/>]{1,64}$/, refused: /[\s<|\\/>]/gu, kept: 55 };

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

/** Offered are the types of the tools that a request offers, by their names. */
export type Offered = ReadonlyMap<string, JsonValue>;

/** offeredIn reads the tools of a request, and of its items and namespaces. */
export function* offeredIn(request: JsonObject): CooperativeTask<Offered> {
  const offered = new Map<string, JsonValue>();
  const holders = [request];
  const isHolder = (part: JsonValue): part is JsonObject => isObject(part) && Array.isArray(part.tools);
  let count = 0;
  for (const { tools = [], functions = [], input = [] } of holders) {
    for (const item of listOrEmpty(input)) {
      if (endsSlice(count++)) yield;
      if (isHolder(item)) holders.push(item);
    }
    for (const tool of [tools, functions].flat()) {
      if (endsSlice(count++)) yield;
      if (isHolder(tool)) holders.push(tool);
      const { type = "function", function: called, name } = isObject(tool) ? tool : {};
      const own = isObject(called) ? called.name : name;
      if (typeof own === "string") offered.set(own, type);
    }
  }
  return offered;
}

/** fitCallIds returns the changes to a message: its ids as the server takes them, and names that it takes or that the request offers. */
export function* fitCallIds(
  message: JsonObject,
  { call_ids }: Capabilities,
  offered: Offered,
): CooperativeTask<Record<string, JsonValue | undefined>> {
  const form = idForm(call_ids, "chat");
  if (!form) return {};
  const { tool_calls: calls, tool_call_id: id, name } = message;
  const changes: Record<string, JsonValue | undefined> = {};
  if (isOther(id, form)) changes.tool_call_id = form.made(id);
  if (typeof name === "string" && !speakers.fits.test(name))
    changes.name = name === "" ? undefined : fitName(name, speakers);
  if (!Array.isArray(calls)) return changes;
  const fitted = yield* mappedInSlices(calls, (call) => {
    if (!isObject(call)) return call;
    const named = withFittingName(call, offered);
    return isOther(call.id, form) ? { ...named, id: form.made(call.id) } : named;
  });
  return fitted === calls ? changes : { ...changes, tool_calls: fitted };
}

/**
 * withFittingName returns a call of a function with a name that servers of such ids take; the same call where it has one, or is of an
 * offered tool.
 */
function withFittingName(call: JsonObject, offered: Offered): JsonObject {
  const { function: called } = call;
  if (!isObject(called) || typeof called.name !== "string") return call;
  // Kimi's own kind of function is one that others do not know.
  const isKnown = (call.type ?? "function") === "function" || call.type === offered.get(called.name);
  const isNamed = offered.has(called.name) || names.chat.fits.test(called.name);
  if (isNamed && isKnown) return call;
  const name = isNamed ? called.name : fitName(called.name, names.chat);
  return { ...call, type: "function", function: { ...called, name } };
}

/** ofNamedTools are the types of the items that call a tool by a name of the request's. */
const ofNamedTools: ReadonlySet<JsonValue | undefined> = new Set(["function_call", "custom_tool_call"]);

/** fitItemIds returns the items of a response's input with ids of calls as the server takes them; the same value where all are. */
export function* fitItemIds(
  input: JsonValue | undefined,
  { call_ids }: Capabilities,
  request: JsonObject,
): CooperativeTask<JsonValue | undefined> {
  const form = idForm(call_ids, "responses");
  if (!form || !Array.isArray(input)) return input;
  const offered = yield* offeredIn(request);
  return yield* mappedInSlices(input, (item) => {
    if (!isObject(item)) return item;
    const { type, name, call_id: id } = item;
    const isOdd = typeof name === "string" && !names.responses.fits.test(name) && !offered.has(name);
    const named = isOdd && ofNamedTools.has(type) ? { ...item, name: fitName(name, names.responses) } : item;
    return isOther(id, form) ? { ...named, call_id: form.made(id) } : named;
  });
}

function isOther(id: JsonValue | undefined, form: IdForm): id is string {
  return isFilledText(id) && !form.fits(id);
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

/** itemsWithThoughts puts a space for the reasoning before each turn of the model's that has none. A turn ends where results or others' words follow. */
export function* itemsWithThoughts(input: JsonValue | undefined): CooperativeTask<JsonValue | undefined> {
  if (!Array.isArray(input)) return input;
  const items: JsonValue[] = [];
  let hasThought = false;
  for (const [i, item] of input.entries()) {
    if (endsSlice(i)) yield;
    const { type = "message", role, content } = isObject(item) ? item : {};
    if (type === "reasoning") hasThought ||= Array.isArray(content) && content.length > 0;
    else {
      const isModels = type === "message" ? role === "assistant" : typeof type === "string" && type.endsWith("_call");
      if (isModels && !hasThought) items.push(blankThought);
      hasThought = isModels;
    }
    items.push(item);
  }
  return items.length === input.length ? input : items;
}

const blankThought = { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: " " }] };
