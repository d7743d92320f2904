/**
 * The response object in any state: the request's settings with every key that clients know, and the results so far.
 */

import type { CreateResponseRequestSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { writeUsage } from "../../../providers/usage/write-usage.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import type { ChatUsageTracker } from "../../chat-usage.ts";
import { toldTools } from "../../tools/told-tools.ts";
import { passesThinkingOn, type Target, type TranslationContext } from "../../translation.ts";
import { asksToCompact } from "../compaction.ts";
import type { ToolNames } from "../tool-names.ts";
import type { ItemStatus } from "./items.ts";

/** AnswerContext is what the translation of the answer needs from the request. */
export interface AnswerContext {
  readonly answerId: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly asked: JsonObject;
  readonly names: ToolNames;
  readonly target: Target | undefined;
  /** passesBlocks is whether blocks of thinking come from a translation, which signed them for the next turn. */
  readonly passesBlocks: boolean;
  /** sealsAll is whether the caller asks for reasoning that it can send back. */
  readonly sealsAll: boolean;
  /** compacts is whether the answer is the item that stands for the conversation. */
  readonly compacts: boolean;
}

export function answerContextOf(
  request: Wire<typeof CreateResponseRequestSchema>,
  context: TranslationContext,
  names: ToolNames,
): AnswerContext {
  const { answerId, now, target } = context;
  const passesBlocks = passesThinkingOn(context);
  const message = request.message();
  const compacts = asksToCompact(message);
  const sealsAll = message.include.includes("reasoning.encrypted_content");
  return { answerId, createdAt: now, asked: request.json(), names, target, passesBlocks, sealsAll, compacts };
}

/** ResponseState holds the results so far. */
export interface ResponseState {
  readonly status: ItemStatus;
  readonly incomplete: string | undefined;
  /** The upstream's name of the model, if it gave one. */
  readonly model: string;
  readonly serviceTier: string | undefined;
  readonly output: readonly JsonObject[];
  readonly usage: JsonObject | null;
}

export function responseJson(
  { answerId, createdAt, asked }: Pick<AnswerContext, "answerId" | "createdAt" | "asked">,
  progress: ResponseState,
): JsonObject {
  const { status, incomplete, model, serviceTier, output, usage } = progress;
  const echo = (key: string, otherwise: JsonValue = null): JsonValue => asked[key] ?? otherwise;
  return {
    id: `resp_${answerId}`,
    object: "response",
    created_at: createdAt,
    status,
    access_programs: null,
    background: false,
    error: null,
    incomplete_details: incomplete === undefined ? null : { reason: incomplete },
    instructions: echo("instructions"),
    max_output_tokens: echo("max_output_tokens"),
    max_tool_calls: echo("max_tool_calls"),
    model: model || echo("model", ""),
    output: [...output],
    parallel_tool_calls: echo("parallel_tool_calls", true),
    previous_response_id: echo("previous_response_id"),
    prompt_cache_key: echo("prompt_cache_key"),
    reasoning: { effort: null, summary: null, ...(asked.reasoning as JsonObject | null) },
    safety_identifier: echo("safety_identifier"),
    service_tier: serviceTier ?? "default",
    store: echo("store", true),
    temperature: echo("temperature", 1),
    text: { format: { type: "text" }, ...(asked.text as JsonObject | null) },
    tool_choice: echo("tool_choice", "auto"),
    tools: echoedTools(echo("tools", [])),
    top_logprobs: echo("top_logprobs", 0),
    top_p: echo("top_p", 1),
    truncation: "disabled",
    usage,
    user: echo("user"),
    metadata: echo("metadata", {}),
  };
}

/** toolMembers are what OpenAI's echo of a tool says where nothing was asked, by the tool's type: clients in typed languages require it. */
const toolMembers: ReadonlyMap<JsonValue | undefined, JsonObject> = new Map([
  ["function", { parameters: null, strict: null }],
  ["custom", { format: { type: "text" } }],
]);

/** echoedTools returns the tools as asked without their secrets, with toolMembers where they were left out, or are null. */
function echoedTools(tools: JsonValue): JsonValue {
  return Array.isArray(tools) ? toldTools(tools).map(echoedTool) : tools;
}

function echoedTool(tool: JsonValue): JsonValue {
  if (!isObject(tool)) return tool;
  const lacking = Object.entries(toolMembers.get(tool.type) ?? {}).filter(([key]) => (tool[key] ?? null) === null);
  return lacking.length === 0 ? tool : { ...tool, ...Object.fromEntries(lacking) };
}

/** usageJson returns the usage of a chat answer as a response reports it. Unreported usage counts as zero. */
export function usageJson({ parts }: ChatUsageTracker): JsonObject {
  return writeUsage("responses", parts);
}
