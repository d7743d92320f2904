/**
 * Reads a unary answer, also one that an aggregator handed over in an envelope: `{"success": true, "data": {…}}`, or a
 * list of one. Vectors may come in forms of their own, and chats in those of other APIs. Only what would else be no answer is looked into,
 * and only what is an answer by itself is taken out.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isFilledText, isObject, parsedJson } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import type { Dialect } from "../dialect.ts";
import { namesError } from "../errors/errors-in-answers.ts";
import { chatOf } from "./native/answers.ts";
import { messageOfChat } from "./native/chat-as-message.ts";
import { responseOfChat } from "./native/chat-as-response.ts";
import { readJson } from "./read-json.ts";
import { vectorsIn } from "./vectors.ts";

export interface ReadAnswer<O extends DescMessage> {
  readonly answer: Wire<O>;
  readonly json: JsonObject;
}

/** readAnswer throws a Refusal for what is no answer, after `onFault` has got its JSON. */
export function readAnswer<O extends DescMessage>(
  answer: Wire<O>,
  dialect: Dialect,
  operation: Operation,
  onFault?: (json: JsonObject) => void,
): ReadAnswer<O> {
  let faulty: JsonObject | undefined;
  const keep = (json: JsonObject) => {
    faulty = json;
  };
  try {
    return usual(answer, readJson(answer, dialect, operation, "whole", keep), dialect, operation);
  } catch (error) {
    const json = unwrapped(answer.bytes(), dialect, operation);
    if (json) return usual(Wire.ofJson(answer.desc as O, json, true), json, dialect, operation);
    if (faulty) onFault?.(faulty);
    throw error;
  }
}

/** usual returns the answer as clients need it. */
function usual<O extends DescMessage>(answer: Wire<O>, json: JsonObject, dialect: Dialect, operation: Operation) {
  const changes = dialect.changes?.(json, operation);
  return changes ? { answer: answer.with(changes), json: { ...json, ...changes } } : { answer, json };
}

/** envelopes are the members that aggregators put an answer into. */
const envelopes = ["data", "response", "result"] as const;

/** longestEnvelope is the most bytes of an answer that is looked into: it is parsed once more, at one go. */
const longestEnvelope = 1024 * 1024;

function unwrapped(bytes: Buffer, dialect: Dialect, operation: Operation): JsonObject | undefined {
  if (bytes.length > longestEnvelope) return undefined;
  const answer = parsedJson(bytes.toString());
  const vectors =
    operation === "embeddings" && !(isObject(answer) && namesError(answer)) ? vectorsIn(answer) : undefined;
  const candidates = vectors ? [vectors] : candidatesIn(answer);
  const inForm = [answer, ...candidates].flatMap((json) => listed(json, operation));
  return [...candidates, ...inForm].find((json) => dialect.errorIn(json, bytes, operation, "whole") === undefined);
}

/**
 * listed returns an answer with its text in the list where the operation has it: some servers answer with the text alone. For a chat it may
 * be another API's.
 */
function listed(answer: JsonValue | undefined, operation: Operation): JsonObject[] {
  if (!isObject(answer) || namesError(answer)) return [];
  // The message of a choice is its text where a completion was asked for.
  if (operation === "chat" || operation === "completions")
    return [chatOf(answer)].filter((native) => native !== undefined);
  const { choices, content, output, output_text: text } = answer;
  const isOwn = operation === "responses" && answer.object === "response";
  if (operation === "messages" || (operation === "responses" && !isOwn)) {
    const chat = Array.isArray(choices) ? answer : chatOf(answer);
    const native = chat && (operation === "messages" ? messageOfChat(chat) : responseOfChat(chat));
    if (native) return [native];
  }
  if (operation === "messages" && isFilledText(content))
    return [{ ...answer, content: [{ type: "text", text: content }] }];
  if (operation === "messages" && isObject(content) && typeof content.type === "string")
    return [{ ...answer, content: [content] }];
  const isTextAlone = !Array.isArray(output) || output.length === 0;
  if (operation !== "responses" || !isTextAlone || !isFilledText(text)) return [];
  const part = { type: "output_text", text, annotations: [] };
  return [{ ...answer, output: [{ type: "message", role: "assistant", status: "completed", content: [part] }] }];
}

function candidatesIn(outer: JsonValue | undefined): JsonObject[] {
  if (Array.isArray(outer)) return outer.length === 1 ? outer.filter(isObject) : [];
  if (!isObject(outer) || namesError(outer) || outer.success === false) return [];
  return envelopes
    .map((key) => outer[key])
    .filter(isObject)
    .map((inner) => withUsage(inner, outer.usage));
}

/** withUsage returns the answer with the usage that stands beside it, where it has none of its own. */
function withUsage(inner: JsonObject, usage: JsonValue | undefined): JsonObject {
  return usage === undefined || (inner.usage ?? null) !== null ? inner : { ...inner, usage };
}
