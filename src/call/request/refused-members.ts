/**
 * Members of a request that its server has refused by name. What was refused in one entry of a list is left out in all of them, so that a
 * conversation need not be refused once for each turn.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { isObject, mappedByTasks, mappedInSlices } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import type { Operation } from "../operations.ts";
import { hasCallsOrSignatures, withoutSignatures } from "./call-signatures.ts";
import { blocksIn } from "./content-parts.ts";
import { switchesFor, type Wanted } from "./reasoning-switches.ts";
import { hasSchemaless, withSchemas } from "./schemaless-tools.ts";
import { toldTypes, withToldBlocks } from "./told-blocks.ts";

/** anyEntry stands in a path for the place in a list. */
const anyEntry = "*";

/** RefusedForms is what of a chat request's form a server that nobody knows has turned out to refuse. */
export interface RefusedForms {
  /** Keys that OpenAI's API does not have: those of messages and tools alone, or further ones beside them. */
  readonly place?: "messages" | "request" | undefined;
  /** The role `developer`, or instructions behind the first message. */
  readonly areInstructions?: boolean | undefined;
  /** Lists of texts in place of one. */
  readonly areParts?: boolean | undefined;
  /** A last turn that is the model's own, which it would go on with. */
  readonly isPrefill?: boolean | undefined;
  /** A schema for the answer. */
  readonly isSchema?: boolean | undefined;
  /** JSON without a schema for the answer. */
  readonly isAnyJson?: boolean | undefined;
  /** A demand for a call of a tool. */
  readonly isDemand?: boolean | undefined;
  /** Instructions by a role of their own. */
  readonly isSystem?: boolean | undefined;
  /** Turns of one speaker behind each other. */
  readonly areTurns?: boolean | undefined;
  /** Tools while the model reasons. */
  readonly areReasonedTools?: boolean | undefined;
  /** Turns of the model's that neither say nor call anything. */
  readonly areEmptyTurns?: boolean | undefined;
  /** A content of null, or none, as beside calls. */
  readonly areNulls?: boolean | undefined;
  /** Turns of the model's without what it thought. */
  readonly areThoughtless?: boolean | undefined;
  /** Several calls in one turn of the model's. */
  readonly areCalls?: boolean | undefined;
}

/** RefusedMember is a member of objects, or the blocks of a type. */
export interface RefusedMember {
  readonly path: readonly string[];
  /** The type of the object that has the member, null where it has none, or that of the blocks: servers check each type by itself. */
  readonly of: JsonValue;
  /** The other name of a bound, by which its server may know it; undefined for what is left out. */
  readonly as?: string;
  /** Whether it is left out of this call alone, for another conversation may have what is taken. */
  readonly isOnce?: true;
  /** Whether the caller misses nothing without it. */
  readonly isDoneHere?: true;
}

/** needed are members without which a request asks for something else, or for nothing. */
const needed: ReadonlySet<string> = new Set([
  ...["model", "messages", "input", "prompt", "system", "instructions", "stream", "n", "stop", "stop_sequences"],
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "previous_response_id", "conversation"],
  ...["tools", "functions", "tool_choice", "function_call", "response_format", "output_format", "format"],
  ...["logprobs", "top_logprobs", "modalities", "audio", "suffix", "echo", "voice", "voices"],
  ...["dimensions", "dimension", "output_dimension", "output_dtype", "embedding_types", "input_type", "task"],
  ...["type", "role", "content", "text", "name", "id", "output", "arguments", "function", "custom"],
  ...["tool_calls", "tool_call_id", "tool_use_id", "call_id", "source", "data", "media_type", "url", "image_url"],
  ...["file", "file_data", "file_id", "signature", "thinking", "summary", "encrypted_content"],
]);

/** otherBound has the other name of a chat's bound: newer servers know one of the two, and older ones the other. */
const otherBound: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_completion_tokens"],
  ["max_completion_tokens", "max_tokens"],
]);

/**
 * doneHere are members for which the gateway itself answers as it is asked, whatever the server does: vectors get their encoding behind it,
 * for which OpenAI's SDKs ask in every request, and streams their usage, for which the gateway asks in each.
 */
const doneHere: ReadonlyMap<Operation, string> = new Map([
  ["embeddings", "encoding_format"],
  ["chat", "stream_options"],
  ["completions", "stream_options"],
]);

/** isUsageRefused reports whether a server refuses to be asked for the usage of its streams, and not another of their options alone. */
export function isUsageRefused(members: readonly RefusedMember[] = []): boolean {
  return members.some(
    ({ path: [key, option = "include_usage"] }) => key === "stream_options" && option === "include_usage",
  );
}

/**
 * doneHereIn returns the members of a request that its server need not know; none where it has none. Options to which the caller adds some are
 * none: what is refused may be those, and a caller must not have its own usage left unasked.
 */
export function doneHereIn(request: JsonObject, operation: Operation): RefusedMember[] {
  const key = doneHere.get(operation);
  const value = key === undefined ? null : (request[key] ?? null);
  const isAddedTo = isObject(value) && Object.keys(value).some((name) => name !== "include_usage");
  return key === undefined || value === null || isAddedTo ? [] : [{ path: [key], of: null, isDoneHere: true }];
}

/** schemas are members whose content is nobody's to change. */
const schemas: ReadonlySet<string> = new Set(["input_schema", "parameters", "schema", "json_schema"]);

/**
 * memberAt finds the member that a server names by this path in a request, which may be an outline. Words that are no members are passed
 * over: servers name the types of objects between them. It returns undefined for a path that leads nowhere, and for members that a request
 * cannot do without, unless a chat has another name for them.
 */
export function memberAt(
  request: JsonObject,
  words: readonly string[],
  operation: Operation,
): RefusedMember | undefined {
  const path: string[] = [];
  let at: JsonValue | undefined = request;
  let holder: JsonObject = request;
  let last: string | undefined;
  for (const [i, word] of words.entries()) {
    last = undefined;
    if (isObject(at) && isTag(word, at, words[i + 1])) continue;
    if (Array.isArray(at) && /^\d+$/.test(word)) {
      at = at[Number(word)];
      path.push(anyEntry);
    } else if (isObject(at)) {
      const key = keyIn(at, word);
      if (key === undefined) continue;
      holder = at;
      at = at[key];
      path.push(key);
      last = key;
    }
  }
  const other = path.length === 1 && operation === "chat" && otherBound.get(path[0] as string);
  if (other) return { path, of: null, as: other };
  if (path.length === 1 && isUsual(path[0] as string, at)) return { path, of: null, isOnce: true };
  const isSpeaker = path.join(".") === nameOfSpeaker && holder.role !== "function";
  if (last === undefined || (!isSpeaker && isNeeded(last, at, path, operation))) return undefined;
  const done = doneHereIn(request, operation).find((one) => one.path.join(".") === path.join("."));
  return done ?? { path, of: holder.type ?? null };
}

/** isUsual reports a value that says what leaving its member out says: SDKs send such, and servers refuse the members as such. */
function isUsual(key: string, value: JsonValue | undefined): boolean {
  if (key === "n") return value === 1;
  if (key === "tool_choice") return value === "auto";
  if (key === "response_format") return isObject(value) && value.type === "text";
  return (key === "logprobs" || key === "echo") && value === false;
}

/** nameOfSpeaker is the path of the name of who speaks, which a turn need not have; the result of a function has that of the function. */
const nameOfSpeaker = "messages.*.name";

/** keyIn returns the key that a server names: some write keys as their own code does, as xAI `presencePenalty`. Undefined where there is none. */
function keyIn(object: JsonObject, word: string): string | undefined {
  if (Object.hasOwn(object, word)) return word;
  const key = word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return key !== word && Object.hasOwn(object, key) ? key : undefined;
}

/** dispensable are the types of blocks without which a conversation says the same: what a model thought before. */
export const dispensable: ReadonlySet<JsonValue | undefined> = new Set(["thinking", "redacted_thinking"]);

/**
 * blocksOf returns the blocks of these types that a request, which may be an outline, has, and that are left out or told as texts. All types
 * are looked for at once: a refusal may name very many, and a conversation may be very long.
 */
export function blocksOf(
  { messages }: JsonObject,
  types: ReadonlySet<JsonValue | undefined>,
  operation: Operation,
): RefusedMember[] {
  if (!Array.isArray(messages)) return [];
  const left = [...types.intersection(dispensable)].filter((type) => messages.some((turn) => hasBlock(turn, type)));
  const told = isOfMessages(operation) ? toldTypes(messages, types.difference(dispensable)) : [];
  return [...left, ...told].map((type) => ({ path: pathOfBlocks, of: type ?? null }));
}

/**
 * sealsOf returns what a model has thought before, which its vendor has sealed; none where a request has none. It may be an outline. Where the
 * answer goes on with a turn that begins without its thinking then, Claude cannot think within a budget.
 */
export function sealsOf(request: JsonObject): RefusedMember[] {
  const { input, messages } = request;
  const blocks = blocksOf(request, dispensable, "chat");
  const isBudgeted = isObject(request.thinking) && request.thinking.type === "enabled";
  const goesOn = blocks.length > 0 && isBudgeted && Array.isArray(messages) && hasBlock(messages.at(-1), "tool_result");
  const budget = goesOn ? ["thinking", "context_management"].filter((key) => Object.hasOwn(request, key)) : [];
  const items = Array.isArray(input) && input.some(isThought) ? [{ path: pathOfItems, of: "reasoning" }] : [];
  const found = [...blocks, ...items, ...budget.map((key) => ({ path: [key], of: null }))];
  return found.map((one) => ({ ...one, isOnce: true }));
}

function isOfMessages(operation: Operation): boolean {
  return operation === "messages" || operation === "count_tokens";
}

/** schemalessOf returns the tools of a chat or of a request for a message that have no schema; none where all have one. It may be an outline. */
export function schemalessOf(request: JsonObject, operation: Operation): RefusedMember[] {
  if (operation !== "chat" && !isOfMessages(operation)) return [];
  const of = operation === "chat" ? "function" : null;
  return hasSchemaless(request, of) ? [{ path: pathOfTools, of }] : [];
}

/**
 * reasoningOf returns what asks a model for what it does not do. A model that always reasons takes any other degree of it: its switches are
 * left out of the call alone.
 */
export function reasoningOf(request: JsonObject, unwanted: Wanted | undefined): RefusedMember[] {
  const paths = unwanted ? switchesFor(request, unwanted) : [];
  return paths.map((path) => ({
    path,
    of: null,
    ...(unwanted === "none" ? { isOnce: true } : {}),
  }));
}

/** signaturesOf returns the signatures beside the calls and texts of a chat, which is signed anew; none where it has neither. */
export function signaturesOf({ messages }: JsonObject): RefusedMember[] {
  const isAny = Array.isArray(messages) && messages.some(hasCallsOrSignatures);
  return isAny ? [{ path: pathOfSignatures, of: null, isOnce: true }] : [];
}

function hasBlock(turn: JsonValue | undefined, type: JsonValue | undefined): boolean {
  return blocksIn(turn).some((block) => isObject(block) && block.type === type);
}

function isThought(item: JsonValue): boolean {
  return isObject(item) && item.type === "reasoning";
}

/** BlockPlace is where a server says that a type is none that it knows. */
export interface BlockPlace {
  readonly turn: number;
  /** The place of the block in the content of its turn. */
  readonly block: number;
  /** The words between that and the type: names of the server's own, or members of the block. */
  readonly within: readonly string[];
}

/** typeAt returns the type of a block; undefined where there is none, and where the type is that of something in the block. */
export function typeAt({ messages }: JsonObject, { turn, block: place, within }: BlockPlace): JsonValue | undefined {
  const block = blocksIn(Array.isArray(messages) ? messages[turn] : undefined)[place];
  if (!isObject(block)) return undefined;
  const isWithin = within.some((word) => word !== block.type && Object.hasOwn(block, word));
  return isWithin ? undefined : block.type;
}

const pathOfTools = ["tools", "schemaless"] as const;
const pathOfBlocks = ["messages", anyEntry, "content", anyEntry] as const;
const pathOfItems = ["input", anyEntry] as const;
const pathOfSignatures = ["messages", anyEntry, "tool_calls", "signatures"] as const;

function isOfSignatures({ path }: RefusedMember): boolean {
  return path === pathOfSignatures;
}

function isOfTools({ path }: RefusedMember): boolean {
  return path === pathOfTools;
}

function isOfBlocks({ path }: RefusedMember): boolean {
  return path === pathOfBlocks;
}

function isOfItems({ path }: RefusedMember): boolean {
  return path === pathOfItems;
}

/** isTag reports a word that is the type of the object, and not the member of that name: the next is a member beside it. */
function isTag(word: string, object: JsonObject, next: string | undefined): boolean {
  return object.type === word && next !== undefined && Object.hasOwn(object, next);
}

function isNeeded(key: string, value: JsonValue | undefined, path: readonly string[], operation: Operation): boolean {
  // At the top, thinking is a switch, where a block has its text; and how speech is to sound is no part of what is said.
  const isManner = path.length === 1 && (key === "thinking" || (operation === "speech" && key === "instructions"));
  const hasFormat = isObject(value) && (value.format ?? null) !== null;
  return (!isManner && needed.has(key)) || hasFormat || path.some((one) => schemas.has(one));
}

/** isSameMember reports whether two are the same, or the two names of one bound: a server that refuses both knows neither. */
export function isSameMember(one: RefusedMember, other: RefusedMember): boolean {
  const path = other.path.join(".");
  return one.of === other.of && (one.path.join(".") === path || one.as === path);
}

export interface WithoutMembers {
  readonly changes: Changes;
  /** The paths of what was left out. */
  readonly dropped: readonly string[];
}

/** withoutMembers returns what becomes of a request without these members. */
export function* withoutMembers(
  request: JsonObject,
  members: readonly RefusedMember[],
): CooperativeTask<WithoutMembers> {
  const dropped: string[] = [];
  const bounds = underOtherNames(request, members);
  let left: JsonValue = { ...request, ...bounds } as JsonObject;
  const blocks = members.filter(isOfBlocks);
  const isPlain = (one: RefusedMember) =>
    !one.as && !isOfBlocks(one) && !isOfItems(one) && !isOfSignatures(one) && !isOfTools(one);
  // The options of a stream stay here, where the gateway reads what the caller wants. The provider leaves them out.
  const isLeft = (one: RefusedMember) => one.isDoneHere && isUsageRefused([one]);
  for (const { path, of, isDoneHere } of members.filter((one) => isPlain(one) && !isLeft(one)))
    left = yield* without(left, path, { of, at: "", dropped: isDoneHere ? [] : dropped });
  if (members.some(isOfSignatures)) left = yield* withoutAnySignature(left as JsonObject, dropped);
  // They come last: paths have the places of before.
  const types = new Set(blocks.flatMap(({ of }) => (of === "thinking" ? [...dispensable] : of)));
  const turns = blocks.length > 0 ? yield* withoutBlocks(left as JsonObject, types, dropped) : {};
  const items = members.some(isOfItems) ? yield* withoutThoughts(left as JsonObject, dropped) : {};
  const schemaless = members.find(isOfTools);
  const tools = schemaless ? withSchemas(left as JsonObject, schemaless.of, dropped) : {};
  const kept: Changes = { ...(left as JsonObject), ...turns, ...items, ...tools };
  const keys = Object.keys({ ...request, ...bounds }).filter((key) => kept[key] !== request[key]);
  return { changes: Object.fromEntries(keys.map((key) => [key, kept[key]])), dropped };
}

/** underOtherNames returns the changes that give bounds their other names. Where both are there the larger counts, as it does for the price. */
function underOtherNames(request: JsonObject, members: readonly RefusedMember[]): Changes {
  const changes: Record<string, JsonValue | undefined> = {};
  for (const { path, as } of members) {
    const [name = ""] = path;
    const { [name]: value = null, [as ?? ""]: other } = { ...request, ...changes } as JsonObject;
    if (as === undefined || value === null) continue;
    const isLess = typeof value === "number" && typeof other === "number" && value < other;
    changes[as] = isLess ? other : value;
    changes[name] = undefined;
  }
  return changes;
}

interface Place {
  readonly of: JsonValue;
  /** The path so far. */
  readonly at: string;
  readonly dropped: string[];
}

function* without(value: JsonValue, path: readonly string[], place: Place): CooperativeTask<JsonValue> {
  const [key = "", ...rest] = path;
  if (Array.isArray(value) && key === anyEntry)
    return yield* mappedByTasks(value, (one, i) => without(one, rest, { ...place, at: `${place.at}[${i}]` }));
  if (!isObject(value) || !Object.hasOwn(value, key)) return value;
  const { [key]: told = null, ...others } = value;
  const at = place.at === "" ? key : `${place.at}.${key}`;
  if (rest.length > 0) {
    const inner = yield* without(told, rest, { ...place, at });
    return inner === told ? value : { ...value, [key]: inner };
  }
  if ((value.type ?? null) !== place.of) return value;
  if (told !== null) place.dropped.push(at);
  return others;
}

function* withoutAnySignature(request: JsonObject, dropped: string[]): CooperativeTask<JsonObject> {
  const { messages } = request;
  if (!Array.isArray(messages)) return request;
  const unsigned = (turn: JsonValue, i: number) => withoutSignatures(turn, `messages[${i}]`, dropped);
  return { ...request, messages: yield* mappedInSlices(messages, unsigned) };
}

/** withoutBlocks leaves out blocks of the conversation, and turns of nothing else, which servers refuse. What says something is told as a text. */
function* withoutBlocks(
  { messages }: JsonObject,
  types: ReadonlySet<JsonValue | undefined>,
  dropped: string[],
): CooperativeTask<Changes> {
  if (!Array.isArray(messages)) return {};
  const kept: JsonValue[] = [];
  for (const [i, turn] of (yield* withToldBlocks(messages, types.difference(dispensable), dropped)).entries()) {
    if (endsSlice(i)) yield;
    const blocks = blocksIn(turn);
    const content = blocks.filter((block, k) => {
      const isRefused = isObject(block) && types.has(block.type) && dispensable.has(block.type);
      if (isRefused) dropped.push(`messages[${i}].content[${k}]`);
      return !isRefused;
    });
    if (content.length === blocks.length) kept.push(turn);
    else if (content.length > 0 || Array.isArray((turn as JsonObject).tool_calls))
      kept.push({ ...(turn as JsonObject), content: content.length > 0 ? content : null });
  }
  const isSame = kept.length === messages.length && kept.every((turn, i) => turn === messages[i]);
  return isSame ? {} : { messages: kept };
}

/** ofThoughts are the types of items that a server does not take by their ids without the reasoning before them. */
const ofThoughts: ReadonlySet<JsonValue | undefined> = new Set(["function_call", "custom_tool_call", "message"]);

/** withoutThoughts leaves the reasoning out of the items of a conversation. */
function* withoutThoughts({ input }: JsonObject, dropped: string[]): CooperativeTask<Changes> {
  if (!Array.isArray(input)) return {};
  const kept: JsonValue[] = [];
  for (const [i, item] of input.entries()) {
    if (endsSlice(i)) yield;
    if (isThought(item)) dropped.push(`input[${i}]`);
    else if (isObject(item) && ofThoughts.has(item.type) && item.id !== undefined) {
      const { id: _, ...others } = item;
      kept.push(others);
    } else kept.push(item);
  }
  return { input: kept };
}
