/**
 * A chat request → the request for a message, and what the answer's translation needs.
 *
 * Every part of the request is translated, or equals the default, or is named in `dropped`.
 */
import type { CreateChatCompletionRequest } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { OutputConfigSchema } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { refusesForcing } from "../../../providers/anthropic/generation.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { isFilled, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import { keepLatestMarks } from "../../cache-marks.ts";
import type { Dropped } from "../../paths/dropped.ts";
import type { TranslationContext } from "../../translation.ts";
import type { CalledTool } from "../answer/parts.ts";
import { fitsSchema } from "../fits-schema.ts";
import { takesForcing } from "../generations.ts";
import { type Conversation, conversationOf } from "./conversation.ts";
import { answerToolName, type Format, formatOf, offerAnswerTool } from "./format.ts";
import {
  dropUnsupported,
  refuseImpossible,
  sampling,
  serviceTier,
  sharedSettings,
  stopSequences,
  userId,
} from "./settings.ts";
import { isThinkingOn, type Thinking, thinkingOf } from "./thinking.ts";
import { type Choice, choiceOf, isForced } from "./tool-choice.ts";
import { rebuiltTools, renameArguments, toolboxOf, withFitArguments } from "./tools.ts";
import { continuesWithoutThinking, turnJson } from "./turns.ts";

export interface MessageRequest {
  readonly json: JsonObject;
  /** called is what a call becomes in the answer, by the tool's upstream name. */
  readonly called: ReadonlyMap<string, CalledTool>;
}

/** messageRequest throws a Refusal for what the Messages API cannot do at all. */
export function* messageRequest(
  request: CreateChatCompletionRequest,
  { form, maxOutputTokens, target }: TranslationContext,
  dropped: Dropped,
): CooperativeTask<MessageRequest> {
  // The upstream's name tells the model's generation, and so the settings that it takes: the caller's may be an alias.
  const model = target?.model ?? request.model ?? "";
  refuseImpossible(request);
  dropUnsupported(request, dropped);
  const { top_k: topK, ...shared } = sharedSettings(request, dropped);
  const conversation = yield* conversationOf(request.messages, model, dropped);
  const thinking = thinkingOf(request, model, maxOutputTokens, continuesWithoutThinking(conversation.turns), dropped);
  const thinks = isThinkingOn(thinking.json);
  yield;
  const isForcible = !refusesForcing(model) && (!thinks || (thinking.json?.type !== "enabled" && takesForcing(model)));
  const format = yield* formatOf(request, model, isForcible, dropped);
  const box = yield* toolboxOf(request, model, dropped);
  const called = new Map(box.called);
  if ([...called.values()].some(({ argumentNames }) => argumentNames)) renameArguments(conversation.turns, called);
  let choice = choiceOf(request, box, dropped);
  if (!isForcible) choice = unforced(choice, box.legacy ? "function_call" : "tool_choice", dropped);
  if (choice.tools.length === 0) {
    const tools = rebuiltTools(conversation.turns);
    if (tools.length > 0) choice = { tools, json: { type: "none" } };
  }
  yield;
  if (format.tool) {
    const name = answerToolName(new Set(choice.tools.map((tool) => tool.name)));
    const { tool, argumentNames } = withFitArguments(format.tool, "response_format.json_schema.schema", dropped);
    choice = offerAnswerTool(choice, { name, ...tool });
    called.set(name, { kind: "text", name, argumentNames });
  }
  const { instruction } = format;
  const system = [...conversation.system, ...(instruction ? [{ type: "text", text: instruction }] : [])];
  const json = withoutEmpty({
    model: request.model,
    max_tokens: thinking.maxTokens,
    ...(yield* withFewMarks({ system, turns: conversation.turns }, choice.tools, shared, dropped)),
    tool_choice: choice.json,
    thinking: thinking.json,
    output_config: outputConfig(request, thinking, format, dropped),
    stop_sequences: stopSequences(request, dropped),
    ...sampling(request, topK, thinks, dropped),
    metadata: withoutEmpty({ user_id: userId(request, dropped) }),
    service_tier: serviceTier(request, dropped),
    stream: form === "stream" ? true : undefined,
    ...shared,
  });
  return { json, called };
}

/** withFewMarks returns all that may be marked for the prompt cache, with as many marks as Claude takes. */
function* withFewMarks(
  { system, turns }: Conversation,
  tools: Choice["tools"],
  { cache_control: whole }: JsonObject,
  dropped: Dropped,
) {
  const messages = turns.map(turnJson);
  const contents = messages.map(({ content }) => content as JsonObject[]);
  yield;
  const lists = yield* keepLatestMarks([tools, system, ...contents], whole === undefined ? 0 : 1, dropped);
  yield;
  const [keptTools = [], keptSystem = [], ...kept] = lists;
  return {
    system: [...keptSystem],
    messages: messages.map((message, i) => ({ ...message, content: [...(kept[i] ?? [])] })),
    tools: [...keptTools],
  };
}

/** unforced leaves the model the choice whether it calls a tool. */
function unforced({ tools, json }: Choice, path: string, dropped: Dropped): Choice {
  if (!json || !isForced(json)) return { tools, json };
  dropped.add(path);
  const { name: _, ...rest } = json;
  return { tools, json: { ...rest, type: "auto" } };
}

/** The caller's own `output_config` takes precedence over chat's settings. */
function outputConfig(
  { extra }: CreateChatCompletionRequest,
  { effort }: Thinking,
  { output }: Format,
  dropped: Dropped,
): JsonObject {
  const given = extra?.output_config ?? {};
  const fits = fitsSchema(OutputConfigSchema, given);
  if (!fits) dropped.add("output_config");
  const own = fits ? (given as JsonObject) : {};
  if (effort !== undefined && own.effort !== undefined) dropped.add("reasoning_effort");
  if (output !== undefined && own.format !== undefined) dropped.add("response_format");
  return withoutEmpty({ effort, format: output, ...own });
}

/** withoutEmpty leaves out unset members, and empty lists and objects. */
function withoutEmpty(members: Record<string, JsonValue | undefined>): JsonObject {
  const filled = Object.entries(members).filter(([, value]) => value !== undefined && isFilled(value));
  return Object.fromEntries(filled) as JsonObject;
}
