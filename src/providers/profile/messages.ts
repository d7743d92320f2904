/** Fits the messages of a chat request to a server's template. No text is lost. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { isFilledText, isObject, mappedByTasks } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { newParseBudget, type ParseBudget, withObjectArguments } from "./call-arguments.ts";
import { alternatingTurns, singleCalls } from "./calls/turns.ts";
import { placeInstructions } from "./instructions.ts";
import { isMarkedList, markMessage } from "./keys/cache-marks.ts";
import { keepKnownKeys } from "./keys/message-keys.ts";
import type { Capabilities } from "./profile.ts";
import { showResults } from "./shown-results.ts";
import { bridgeResults, endWithUser, fitCallIds, type Offered, offeredIn, withoutEmptyTurns } from "./tool-turns.ts";

export interface FittedMessages {
  readonly messages: readonly JsonObject[];
  readonly dropped: readonly string[];
}

/**
 * fitMessages returns a request's messages and the paths of what was left out; undefined where they can stay as they are. `isOwn` says that the
 * caller wrote them: signed thinking that a translation kept is the server's own.
 */
export function* fitMessages(
  request: JsonObject,
  capabilities: Capabilities,
  isOwn: boolean,
): CooperativeTask<FittedMessages | undefined> {
  const { messages } = request;
  if (!Array.isArray(messages)) return undefined;
  const dropped: string[] = [];
  const budget = newParseBudget();
  // Names are fitted for servers that are strict about ids, too.
  const offered: Offered = capabilities.call_ids === "any" ? new Map() : yield* offeredIn(request);
  const marking = { taken: capabilities.cache_marks, dropped };
  const fitted = (yield* mappedByTasks(messages, function* (message, i) {
    const path = `messages[${i}]`;
    const marked = yield* markMessage(message as JsonObject, path, marking);
    const own = yield* fitMessage(marked, capabilities, { isOwn, path, budget, offered }, dropped);
    return yield* keepKnownKeys(own, path, capabilities, dropped);
  })) as JsonObject[];
  const said = showResults(withoutEmptyTurns(fitted, capabilities, dropped), capabilities);
  const placed = alternatingTurns(placeInstructions(singleCalls(said, capabilities), capabilities), capabilities);
  const folded = endWithUser(bridgeResults(placed, capabilities), capabilities);
  const isChanged = folded.length !== messages.length || folded.some((message, i) => message !== messages[i]);
  return isChanged ? { messages: folded, dropped } : undefined;
}

interface MessagePlace {
  readonly isOwn: boolean;
  readonly path: string;
  readonly budget: ParseBudget;
  readonly offered: Offered;
}

function* fitMessage(
  written: JsonObject,
  capabilities: Capabilities,
  { isOwn, path, budget, offered }: MessagePlace,
  dropped: string[],
): CooperativeTask<JsonObject> {
  const message = withoutThinkingParts(written, capabilities, path, dropped);
  const changes: Record<string, JsonValue | undefined> = yield* fitCallIds(message, capabilities, offered);
  const role = message.role === "developer" ? "system" : message.role;
  // Marked parts stay: only servers that take lists take marks.
  if (capabilities.plain_text?.some((plain) => plain === role) && !isMarkedList(message.content, capabilities)) {
    const text = textOf(message.content);
    if (text !== undefined) changes.content = text;
  }
  if (capabilities.null_content === "text" && (message.content ?? null) === null) changes.content = "";
  if (isOwn) dropSignedThinking(message, capabilities, path, changes, dropped);
  fitThoughts(message, capabilities, path, changes, dropped);
  fillThoughts(message, capabilities, changes);
  const calls = changes.tool_calls ?? message.tool_calls;
  const fittedCalls = yield* withObjectArguments(calls, budget);
  if (fittedCalls !== calls) changes.tool_calls = fittedCalls;
  // Servers answer with an empty list, which others refuse.
  if (Array.isArray(message.tool_calls) && message.tool_calls.length === 0) changes.tool_calls = undefined;
  for (const key of capabilities.refuses ?? []) {
    const [, name] = /^messages\[\]\.(\w+)$/.exec(key) ?? [];
    if (name === undefined || message[name] === undefined) continue;
    changes[name] = undefined;
    if (message[name] !== null) dropped.push(`${path}.${name}`);
  }
  return Object.keys(changes).length === 0 ? message : withChanges(message, changes);
}

/**
 * withoutThinkingParts returns a message of the model whose thinking does not stand among the parts of its content, as Mistral's server has
 * it: other servers have a key for it, and most refuse the part. The same message where it has none, or where the server takes it.
 */
function withoutThinkingParts(
  message: JsonObject,
  { thoughts, message_keys: keys = [] }: Capabilities,
  path: string,
  dropped: string[],
): JsonObject {
  const { role, content } = message;
  if (thoughts === undefined || keys.includes("thinking") || role !== "assistant" || !Array.isArray(content))
    return message;
  if (!content.some(isThinkingPart)) return message;
  const said = content.filter((part) => !isThinkingPart(part));
  const told = { ...message, content: said.length > 0 ? said : "" };
  const isKept = thoughts !== "none" && (message[thoughts] ?? null) === null;
  if (isKept) return { ...told, [thoughts]: content.filter(isThinkingPart).map(thoughtIn).join("\n\n") };
  for (const [i, part] of content.entries()) if (isThinkingPart(part)) dropped.push(`${path}.content[${i}]`);
  return told;
}

function isThinkingPart(part: JsonValue): part is JsonObject {
  return isObject(part) && part.type === "thinking";
}

function thoughtIn({ thinking = null }: JsonObject): string {
  const texts = Array.isArray(thinking) ? thinking : [thinking];
  return texts
    .map((text) => (isObject(text) ? text.text : text))
    .filter((text) => typeof text === "string")
    .join("");
}

/** Drops blocks of thinking, which another family's vendor has signed. */
function dropSignedThinking(
  { role, thinking_blocks: blocks = null }: JsonObject,
  { thoughts }: Capabilities,
  path: string,
  changes: Record<string, JsonValue | undefined>,
  dropped: string[],
): void {
  if (thoughts === undefined || role !== "assistant" || blocks === null) return;
  changes.thinking_blocks = undefined;
  dropped.push(`${path}.thinking_blocks`);
}

/** Renames or drops reasoning: some servers have another name for it, and some refuse it. */
function fitThoughts(
  message: JsonObject,
  { thoughts }: Capabilities,
  path: string,
  changes: Record<string, JsonValue | undefined>,
  dropped: string[],
): void {
  if (thoughts === undefined || message.role !== "assistant") return;
  for (const name of ["reasoning_content", "reasoning"]) {
    const thought = message[name];
    if (name === thoughts || (thought ?? null) === null) continue;
    changes[name] = undefined;
    if (thoughts === "none") dropped.push(`${path}.${name}`);
    else if ((message[thoughts] ?? null) === null) changes[thoughts] = thought as JsonValue;
  }
}

/** Some servers refuse an earlier message of a model that thinks without its reasoning, and an empty one, too. */
function fillThoughts(
  message: JsonObject,
  { thoughts, thoughts_demanded: isDemanded }: Capabilities,
  changes: Record<string, JsonValue | undefined>,
): void {
  if (!isDemanded || message.role !== "assistant" || thoughts === undefined || thoughts === "none") return;
  const { [thoughts]: present } = withChanges(message, changes);
  if (!isFilledText(present)) changes[thoughts] = " ";
}

/** textOf joins a list of texts; undefined for a string, and for lists with anything else. */
function textOf(content: JsonValue | undefined): string | undefined {
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part) => (isObject(part) ? part.text : undefined));
  return texts.every((text) => typeof text === "string") ? texts.join("\n\n") : undefined;
}

function withChanges(message: JsonObject, changes: Changes): JsonObject {
  const entries = Object.entries({ ...message, ...changes }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as JsonObject;
}
