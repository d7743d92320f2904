/**
 * Keys of messages, their parts and calls. Clients send back what other servers have answered, with keys that OpenAI's requests do not
 * have: servers that check each key refuse the whole conversation for one, again in each turn.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { markKeys } from "../../../call/cache-marks.ts";
import { invalidValue } from "../../../call/refusals.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { isFilled, isObject, mappedInSlices } from "../../../wire/json.ts";
import type { Capabilities } from "../profile.ts";

const ofAll = ["role", "content", "name"];
/** ofRoles are the keys of OpenAI's requests. Source: https://platform.openai.com/docs/api-reference/chat/create */
const ofRoles: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    system: ofAll,
    developer: ofAll,
    user: ofAll,
    assistant: [...ofAll, "refusal", "audio", "tool_calls", "function_call"],
    tool: [...ofAll, "tool_call_id"],
    function: ofAll,
  }),
);
/** ofParts are the types of parts, each with a member of its name. */
const ofParts = ["text", "image_url", "input_audio", "file", "refusal"];
const ofCalls = ["id", "type", "function", "custom"];

/** Kept is which keys stay, and where those are named that do not and say something. */
interface Kept {
  readonly taken: readonly string[];
  readonly dropped: string[];
}

/** keepKnownKeys returns a message without keys that the server would refuse; the same one where it has none. */
export function* keepKnownKeys(
  message: JsonObject,
  path: string,
  { message_keys: further, thoughts = "none" }: Capabilities,
  dropped: string[],
): CooperativeTask<JsonObject> {
  const ofRole = ofRoles.get(message.role as string);
  if (further === undefined || !ofRole) return message;
  // Marks of a cached prompt are fitted by themselves.
  const kept = { taken: [...further, thoughts, ...markKeys], dropped };
  const fitted = keepKeys(message, ofRole, path, kept);
  const known = yield* knownParts(fitted, `${path}.content`, kept);
  const content = yield* keepInEach(known, ["type", ...ofParts], `${path}.content`, kept);
  const calls = yield* keepInEach(fitted.tool_calls, ofCalls, `${path}.tool_calls`, kept);
  if (fitted === message && content === message.content && calls === message.tool_calls) return message;
  return {
    ...fitted,
    ...(content === undefined ? {} : { content }),
    ...(calls === undefined ? {} : { tool_calls: calls }),
  };
}

/**
 * knownParts returns a content whose parts are of types that the server knows. The same value where all are. Throws a Refusal for what the
 * user shows or plays: the model would answer as if it had seen it. What a model has said otherwise is left out and named.
 */
function* knownParts(
  { role, content }: JsonObject,
  path: string,
  { taken, dropped }: Kept,
): CooperativeTask<JsonValue | undefined> {
  if (!Array.isArray(content)) return content;
  const isKnown = ({ type }: JsonObject) => typeof type !== "string" || ofParts.includes(type) || taken.includes(type);
  const unknown = new Set<JsonValue>();
  const parts = yield* mappedInSlices(content, (part, i) => {
    const known = isObject(part) && !isKnown(part) ? asAudio(part) : part;
    if (!isObject(known) || isKnown(known)) return known;
    if (role !== "assistant")
      throw invalidValue(`${path}[${i}].type`, "this model cannot be given this kind of content");
    dropped.push(`${path}[${i}]`);
    unknown.add(known);
    return known;
  });
  if (unknown.size === 0) return parts;
  const kept = parts.filter((part) => !unknown.has(part));
  return kept.length > 0 ? kept : "";
}

const audioHead = /^data:audio\/([\w.+-]+)[^,]*;base64,/i;
/** formats are the words for types of sounds whose name is another one. */
const formats: ReadonlyMap<string, string> = new Map([
  ["mpeg", "mp3"],
  ["x-wav", "wav"],
  ["wave", "wav"],
]);

/** asAudio returns a sound, as vLLM and Qwen have it in a data URI, as OpenAI has it; the same part where it is none. */
function asAudio(part: JsonObject): JsonObject {
  const { type, audio_url: sound, ...rest } = part;
  const url = isObject(sound) ? sound.url : sound;
  if (type !== "audio_url" || typeof url !== "string") return part;
  const [head = "", kind = ""] = audioHead.exec(url.slice(0, 200)) ?? [];
  if (head === "") return part;
  const name = kind.toLowerCase();
  return {
    ...rest,
    type: "input_audio",
    input_audio: { data: url.slice(head.length), format: formats.get(name) ?? name },
  };
}

function* keepInEach(
  list: JsonValue | undefined,
  known: readonly string[],
  path: string,
  kept: Kept,
): CooperativeTask<JsonValue | undefined> {
  if (!Array.isArray(list)) return list;
  const keep = (one: JsonValue, i: number) => (isObject(one) ? keepKeys(one, known, `${path}[${i}]`, kept) : one);
  return yield* mappedInSlices(list, keep);
}

/** keepKeys leaves out what is not known, and what says nothing: an empty content does. */
function keepKeys(one: JsonObject, known: readonly string[], path: string, { taken, dropped }: Kept): JsonObject {
  const entries = Object.entries(one);
  const stays = ([key, value]: (typeof entries)[number]) =>
    key === "content" || (isFilled(value) && (known.includes(key) || taken.includes(key)));
  if (entries.every(stays)) return one;
  // The place of a call in a stream is no part of it.
  for (const [key, value] of entries)
    if (!stays([key, value]) && isFilled(value) && key !== "index") dropped.push(`${path}.${key}`);
  return Object.fromEntries(entries.filter(stays));
}
