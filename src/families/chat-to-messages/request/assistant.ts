/**
 * An assistant's message → its blocks: thinking, then text, then tool calls.
 *
 * Thinking is sent back only with the vendor's signature. Arguments that are not a JSON object, which models do
 * write, become one with the member `_raw`, as in answers: the conversation goes on, and the model sees what it wrote.
 */
import type { ChatMessage, ToolCall } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { isEmptyList } from "../../../call/tools/tool-input.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { WireFault } from "../../../wire/fault.ts";
import {
  checkRawInSlices,
  isLoneSurrogate,
  isObject,
  type JsonObject,
  longJson,
  readLongRequest,
} from "../../../wire/json.ts";
import { withWholeCharacters } from "../../../wire/scan/lone-surrogates.ts";
import { parseExactly } from "../../../wire/scan/parse-exactly.ts";
import { isThinking } from "../../call-signature.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { upstreamName } from "../tool-names.ts";
import { cacheMark, contentBlocks, textBlocks } from "./content.ts";
import { thinkingBlocks } from "./past-thinking.ts";
import type { Calls } from "./tool-calls.ts";

/** The depth that nested arguments start from: the blocks around them use up the rest of what a reader allows. */
const argumentsDepth = 10;

export function* assistantBlocks(
  message: ChatMessage,
  path: string,
  calls: Calls,
  dropped: Dropped,
): CooperativeTask<JsonObject[]> {
  const content = yield* contentBlocks(message, path, "assistant", dropped);
  const blocks = [
    ...content.filter((block) => !isThinking(block)),
    ...textBlocks(message.refusal),
    ...(yield* callBlocks(message, path, calls, dropped)),
  ];
  const thinking = [...thinkingBlocks(message, path, dropped), ...content.filter(isThinking)];
  if (message.reasoningContent && thinking.length === 0) dropped.add(`${path}.reasoning_content`);
  if (message.audio) dropped.add(`${path}.audio`);
  if (blocks.length > 0) return [...thinking, ...blocks];
  // A turn may not end in thinking.
  if (thinking.length > 0) dropped.add(path);
  return [];
}

function* callBlocks(
  message: ChatMessage,
  path: string,
  calls: Calls,
  dropped: Dropped,
): CooperativeTask<JsonObject[]> {
  const blocks: (JsonObject | undefined)[] = [];
  for (const [i, call] of message.toolCalls.entries()) {
    if (endsSlice(i)) yield;
    blocks.push(yield* callBlock(call, `${path}.tool_calls[${i}]`, calls, dropped));
  }
  const { functionCall } = message;
  if (functionCall) {
    const { name = "", arguments: text = "" } = functionCall;
    const functionPath = `${path}.function_call`;
    dropped.addExtra(functionCall.extra, functionPath);
    const input = yield* argumentsOf(text);
    blocks.push(toolUse({ callerId: "", name, input }, functionPath, calls, dropped));
  }
  return blocks.filter((block) => block !== undefined);
}

function* callBlock(
  call: ToolCall,
  path: string,
  calls: Calls,
  dropped: Dropped,
): CooperativeTask<JsonObject | undefined> {
  const { id: callerId = "", function: called, custom, extra } = call;
  const definition = called ?? custom;
  if (!definition) {
    dropped.add(path);
    return undefined;
  }
  dropped.addExtra(extra, path, ["cache_control"]);
  dropped.addExtra(definition.extra, `${path}.${called ? "function" : "custom"}`);
  const input = called ? yield* argumentsOf(called.arguments ?? "") : { input: custom?.input ?? "" };
  const use = toolUse({ callerId, name: definition.name ?? "", input }, path, calls, dropped);
  return use && { ...use, ...cacheMark(extra, path, dropped) };
}

interface Use {
  readonly callerId: string;
  readonly name: string;
  readonly input: JsonObject;
}

function toolUse({ callerId, name, input }: Use, path: string, calls: Calls, dropped: Dropped): JsonObject | undefined {
  const id = name === "" ? undefined : calls.begin(callerId, name);
  if (id !== undefined) return { type: "tool_use", id, name: upstreamName(name), input };
  dropped.add(path);
  return undefined;
}

function* argumentsOf(text: string): CooperativeTask<JsonObject> {
  return (yield* objectIn(text)) ?? { _raw: text };
}

/** objectIn returns the object that a text is or quotes; undefined where it is another value, or none that the request may have. */
function* objectIn(text: string): CooperativeTask<JsonObject | undefined> {
  if (text.trim() === "") return {};
  try {
    const value =
      text.length < longJson ? parseExactly(text, true) : yield* readLongRequest(Buffer.from(text), undefined, true);
    yield* checkRawInSlices(value, argumentsDepth, { visited: 0 });
    if (isObject(value)) return value;
    if (value === null || isEmptyList(value)) return {};
    // Some models write the object as a JSON string.
    return typeof value === "string" ? yield* objectIn(value) : undefined;
  } catch (error) {
    if (isLoneSurrogate(error)) return yield* objectInHalves(text);
    if (!(error instanceof SyntaxError) && !(error instanceof WireFault)) throw error;
    return undefined;
  }
}

/** objectInHalves reads a text with lone surrogates, which become U+FFFD. */
function* objectInHalves(text: string): CooperativeTask<JsonObject | undefined> {
  const whole = yield* withWholeCharacters(Buffer.from(text));
  return whole && (yield* objectIn(whole.toString()));
}
