/** Tells what a request needs of its server or model: it decides by which operation the upstream is called. */
import { CreateMessageRequestSchema } from "../../gen/modelgateway/v1/messages_pb.ts";
import type { Operation } from "../call/operations.ts";
import { toolsAnywhere } from "../call/tools/tools-anywhere.ts";
import { effortIn } from "../providers/profile/reasoning-object.ts";
import { makerOf } from "../providers/profile/reasoning-seal.ts";
import { isObject, type JsonObject, type JsonValue } from "../wire/json.ts";
import { Wire } from "../wire/wire.ts";
import { reasoningEffortOf } from "./messages-to-chat/request/thinking.ts";
import { relayedFrom } from "./relayed-ids.ts";

/** The items and tools that every server of responses knows. */
const plainItems: ReadonlySet<JsonValue | undefined> = new Set([
  ...[undefined, "message", "function_call", "function_call_output", "reasoning"],
]);
const agentsTools: ReadonlySet<JsonValue | undefined> = new Set(["custom", "namespace", "tool_search"]);

/**
 * hasAgentItems reports whether a request for a response has items or tools of agents, which only some servers of responses know. Chat can
 * express them. An upstream knows the items that it made itself, as searches, and what answers them.
 */
export function hasAgentItems({ input, tools }: JsonObject, upstream: string): boolean {
  let maker: string | undefined;
  const isItsOwn = (id: JsonValue | undefined) => {
    const relayed = typeof id === "string" ? relayedFrom(id) : undefined;
    if (!relayed) return false;
    maker ??= makerOf(upstream);
    return relayed.maker === maker;
  };
  const isOdd = (item: JsonValue) =>
    isObject(item) && !plainItems.has(item.type) && !isItsOwn(item.id) && !isItsOwn(item.approval_request_id);
  const isAgents = (tool: JsonValue) => isObject(tool) && agentsTools.has(tool.type);
  return (Array.isArray(input) && input.some(isOdd)) || (Array.isArray(tools) && tools.some(isAgents));
}

/** hasCompactionTrigger reports whether a request for a response asks to compact its conversation, or has done so. */
export function hasCompactionTrigger({ input }: JsonObject): boolean {
  return Array.isArray(input) && input.some((item) => isObject(item) && item.type === "compaction_trigger");
}

/**
 * needsMoreThanFunctions reports whether a chat request has custom tools, or a list of those tools that may be called now: few servers of
 * chat know these.
 */
export function needsMoreThanFunctions(request: JsonObject): boolean {
  const { tool_choice: choice } = request;
  return (
    (isObject(choice) && choice.type === "allowed_tools") ||
    toolsAnywhere(request).some(({ custom }) => isObject(custom))
  );
}

/** hasLinkedDocuments reports whether a request for a message has documents by their URL, which responses take and chat does not. */
export function hasLinkedDocuments({ messages }: JsonObject): boolean {
  return Array.isArray(messages) && messages.some((message) => isObject(message) && hasLinks(message.content));
}

function hasLinks(content: JsonValue | undefined): boolean {
  return (
    Array.isArray(content) && content.some((block) => isObject(block) && (isLink(block) || hasLinks(block.content)))
  );
}

function isLink({ type, source }: JsonObject): boolean {
  return type === "document" && isObject(source) && source.type === "url";
}

/** requestedEffort returns the requested reasoning effort in chat's words; undefined where the request sets none. */
export function requestedEffort(asked: Operation, json: JsonObject): JsonValue | undefined {
  if (asked !== "messages") return json.reasoning_effort ?? effortIn(json.reasoning);
  const { thinking = null, output_config = null } = json;
  if (thinking === null && output_config === null) return undefined;
  const message = Wire.ofJson(CreateMessageRequestSchema, { thinking, output_config }).message();
  return reasoningEffortOf(message, undefined, new Set());
}
