/**
 * A request for a response → the chat request.
 *
 * Settings that chat has under the same or another name are translated, and vendors' unknown keys pass through. What
 * the gateway stores itself (`store`, `metadata` except the simulator's) stays here. What chat cannot express is
 * named.
 */
import { type CreateChatCompletionRequestSchema, ResponseFormatType } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import {
  type CreateResponseRequest,
  CreateResponseRequestSchema,
  type ResponseTextFormat,
} from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidValue, missingField } from "../../../call/refusals.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { definedFields, type JsonObject } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { readChatRequest } from "../../read-message.ts";
import { passesThinkingOn, type TranslationContext } from "../../translation.ts";
import { asksToCompact } from "../compaction.ts";
import { conversationOf } from "./conversation.ts";
import { chosenTools } from "./tool-choice.ts";
import type { Toolset } from "./tools.ts";

/** Keys outside the schema that chat lacks, or that another key of this request sets. */
const foreign = new Set([
  ...["messages", "n", "modalities", "audio", "functions", "function_call", "response_format", "reasoning_effort"],
  ...["verbosity", "max_tokens", "max_completion_tokens", "logprobs", "web_search_options"],
  ...["context_management", "moderation", "image", "access_programs", "client_metadata", "generate", "stream_id"],
  ...["prompt_cache_options", "personality", "multi_agent", "betas", "previous_response", "include_obfuscation"],
]);
const named = new Set(CreateResponseRequestSchema.members.map(({ name }) => name));
/** Values of `include` that the answer has anyway, as far as the model reports them. */
const included = new Set(["message.output_text.logprobs", "reasoning.encrypted_content"]);

/** chatRequestOf throws a Refusal for what chat must not do without. */
export function* chatRequestOf(
  asked: Wire<typeof CreateResponseRequestSchema>,
  tools: Toolset,
  context: TranslationContext,
  dropped: Dropped,
): CooperativeTask<Wire<typeof CreateChatCompletionRequestSchema>> {
  const request = asked.message();
  if (request.prompt) throw invalidValue("prompt", "the gateway keeps no prompt templates; send the prompt itself");
  const isStream = context.form === "stream";
  const { customTools } = context;
  // A summary is plain text, whatever form the answers have.
  const compacts = asksToCompact(request);
  const passesBlocks = passesThinkingOn(context);
  const conversation = { names: tools.names, customTools, passesBlocks, dropped, target: context.target };
  const chat = definedFields({
    ...vendorKeys(request, dropped),
    model: request.model,
    messages: yield* conversationOf(request, conversation),
    ...(compacts ? {} : chosenTools(request, tools, customTools, dropped)),
    max_completion_tokens: bounded(request.maxOutputTokens, context),
    temperature: request.temperature,
    top_p: request.topP,
    ...(compacts ? {} : logprobsOf(request)),
    ...effortAndVerbosity(asked.json(), context, dropped),
    response_format: compacts ? undefined : request.text?.format && formatOf(request.text.format, dropped),
    user: request.user,
    safety_identifier: request.safetyIdentifier,
    service_tier: request.serviceTier,
    prompt_cache_key: request.promptCacheKey,
    prompt_cache_retention: request.promptCacheRetention,
    metadata: simulationOf(request),
    stream: isStream || undefined,
    stream_options: isStream ? { include_usage: true } : undefined,
  });
  dropUnsupported(request, dropped);
  return yield* readChatRequest(chat);
}

function vendorKeys({ extra }: CreateResponseRequest, dropped: Dropped): JsonObject {
  const kept: JsonObject = {};
  for (const [key, value] of Object.entries(extra ?? {})) {
    const isForeign = foreign.has(key) || named.has(key);
    if (isForeign) dropped.addExtra({ [key]: value }, "");
    else if (value !== null) kept[key] = value;
  }
  return kept;
}

function bounded(asked: number | undefined, { maxOutputTokens }: TranslationContext): number | undefined {
  return asked === undefined ? undefined : Math.min(asked, maxOutputTokens ?? asked);
}

function logprobsOf({ topLogprobs, include }: CreateResponseRequest): JsonObject {
  if (!topLogprobs && !include.includes("message.output_text.logprobs")) return {};
  return definedFields({ logprobs: true, top_logprobs: topLogprobs });
}

/**
 * effortAndVerbosity returns effort and verbosity. Their values are the same in both, future ones included. A model that does not reason
 * gets no effort.
 */
function effortAndVerbosity(
  { reasoning, text }: JsonObject,
  { reasons }: TranslationContext,
  dropped: Dropped,
): JsonObject {
  const asked = (reasoning as JsonObject | null | undefined)?.effort ?? undefined;
  const effort = reasons === false ? undefined : asked;
  if (asked !== effort && asked !== "none") dropped.add("reasoning.effort");
  const verbosity = (text as JsonObject | null | undefined)?.verbosity ?? undefined;
  return definedFields({ reasoning_effort: effort, verbosity });
}

function formatOf(format: ResponseTextFormat, dropped: Dropped): JsonObject | undefined {
  const { type, name, description, schema, strict } = format;
  dropped.addExtra(format.extra, "text.format");
  if (type === ResponseFormatType.JSON_OBJECT) return { type: "json_object" };
  if (type !== ResponseFormatType.JSON_SCHEMA) return undefined;
  if (!schema) throw missingField("text.format.schema");
  return { type: "json_schema", json_schema: definedFields({ name: name ?? "answer", description, schema, strict }) };
}

/** simulationOf returns the simulator's metadata for the embedded model. */
function simulationOf({ metadata }: CreateResponseRequest): JsonObject | undefined {
  const asked = Object.entries(metadata).filter(([key]) => key.startsWith("simulate_"));
  return asked.length > 0 ? Object.fromEntries(asked) : undefined;
}

function dropUnsupported(request: CreateResponseRequest, dropped: Dropped): void {
  const { reasoning, text, truncation = "disabled", maxToolCalls } = request;
  dropped.addExtra(reasoning?.extra, "reasoning", ["effort"]);
  dropped.addExtra(text?.extra, "text", ["verbosity"]);
  for (const [i, word] of request.include.entries()) if (!included.has(word)) dropped.add(`include[${i}]`);
  if (truncation !== "disabled") dropped.add("truncation");
  if (maxToolCalls !== undefined) dropped.add("max_tool_calls");
}
