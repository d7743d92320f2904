/**
 * A Messages request → the chat request.
 *
 * The output bound becomes `max_tokens`, which every compatible server knows, limited to the model's maximum: some
 * clients ask every model for the largest bound that any has. Of the stop texts the first four are kept, as many as
 * chat has. The end user's id is shortened like a tool's name. `metadata.simulate_…` reaches the embedded model's
 * simulator as text, the only type of chat's metadata.
 */
import { create } from "@bufbuild/protobuf";
import {
  type CreateMessageRequest,
  type MessageMetadata,
  type OutputFormat,
  OutputFormatSchema,
} from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { invalidType, invalidValue } from "../../../call/refusals.ts";
import { refuseThread } from "../../../call/request/stored-thread.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { definedFields, isObject, type JsonObject, textOrJson } from "../../../wire/json.ts";
import type { TranslationContext } from "../../translation.ts";
import { asksToCompact, compactionRequest } from "../compaction.ts";
import { shortened, type ToolNames } from "../tool-names.ts";
import { conversationOf } from "./conversation.ts";
import { responseFormatOf } from "./format.ts";
import { offeredTools } from "./offered-tools.ts";
import { reasoningEffortOf } from "./thinking.ts";
import { functionsIn, toolChoiceOf, toolsOf } from "./tools.ts";

/**
 * chatRequestOf throws a Refusal. Adds the paths of what it drops to `omitted`, where the table of `dropped.ts` cannot tell, and those of the
 * marks of a cached prompt that it takes over to `marks`.
 */
export function* chatRequestOf(
  request: CreateMessageRequest,
  context: TranslationContext,
  names: ToolNames,
  { omitted, marks }: { readonly omitted: Set<string>; readonly marks: Set<string> },
): CooperativeTask<JsonObject> {
  refuseThread(request.extra ?? {});
  refuseServers(request);
  const compacts = asksToCompact(request);
  for (let i = maxStops; i < request.stopSequences.length; i++) omitted.add(`stop_sequences[${i}]`);
  const stops = stopsOf(request);
  const tools = compacts ? {} : yield* toolsOf(yield* offeredTools(request, omitted), names, omitted);
  const streamed = context.form === "stream";
  const readsSeals = context.reasoningItems !== undefined;
  const takenMarks = context.marksCache ? marks : undefined;
  const conversation = { names, target: context.target, readsSeals, marks: takenMarks, omitted };
  return definedFields({
    model: request.model,
    messages: [...(yield* conversationOf(request, conversation)), ...(compacts ? [compactionRequest(request)] : [])],
    max_tokens: maxTokensOf(request, context),
    temperature: request.temperature,
    top_p: request.topP,
    stop: stops.length > 0 ? stops : undefined,
    stream: streamed || undefined,
    stream_options: streamed ? { include_usage: true } : undefined,
    ...tools,
    ...(compacts ? {} : toolChoiceOf(request, functionsIn(tools), names, omitted)),
    response_format: compacts ? undefined : responseFormatOf(formatOf(request)),
    reasoning_effort: reasoningEffortOf(request, context.reasons, omitted),
    user: request.metadata?.userId === undefined ? undefined : shortened(request.metadata.userId),
    metadata: simulationOf(request.metadata),
  });
}

/** `output_format` is the older name of `output_config.format`. */
function formatOf({ outputConfig, extra }: CreateMessageRequest): OutputFormat | undefined {
  const older = extra?.output_format ?? null;
  if (outputConfig?.format || older === null) return outputConfig?.format;
  if (!isObject(older)) throw invalidType("output_format", "expected an object");
  const { type, schema } = older;
  return create(OutputFormatSchema, {
    ...(typeof type === "string" ? { type } : {}),
    ...(isObject(schema) ? { schema } : {}),
  });
}

/** The vendor alone calls MCP servers: without their tools the model would answer as if there were none. */
function refuseServers({ extra }: CreateMessageRequest): void {
  const servers = extra?.mcp_servers;
  if (!Array.isArray(servers) || servers.length === 0) return;
  throw invalidValue(
    "mcp_servers",
    "the model behind this name cannot call MCP servers; offer their tools as your own",
  );
}

const maxStops = 4;

/** stopsOf returns the stop texts of the chat request. */
export function stopsOf({ stopSequences }: CreateMessageRequest): string[] {
  return stopSequences.slice(0, maxStops);
}

function maxTokensOf({ maxTokens }: CreateMessageRequest, context: TranslationContext): number | undefined {
  if (maxTokens === 0) {
    throw invalidValue("max_tokens", "the model behind this name has no prompt cache to warm; ask for at least 1");
  }
  return maxTokens === undefined ? undefined : Math.min(maxTokens, context.maxOutputTokens ?? maxTokens);
}

function simulationOf(metadata: MessageMetadata | undefined): JsonObject | undefined {
  const asked = Object.entries(metadata?.extra ?? {}).filter(
    ([key, value]) => key.startsWith("simulate_") && value !== null,
  );
  return asked.length > 0 ? Object.fromEntries(asked.map(([key, value]) => [key, textOrJson(value)])) : undefined;
}
