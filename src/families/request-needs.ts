/** What of a request only some servers of its family know, or only some models take: what decides by which operation it is asked. */
import { CreateMessageRequestSchema } from "../../gen/modelgateway/v1/messages_pb.ts";
import type { Operation } from "../call/operations.ts";
import { isObject, type JsonObject, type JsonValue } from "../wire/json.ts";
import { Wire } from "../wire/wire.ts";
import { reasoningEffortOf } from "./messages-to-chat/request/thinking.ts";

/** The items and the tools of a request for a response that every server of responses knows. */
const plainItems: ReadonlySet<JsonValue | undefined> = new Set([
  ...[undefined, "message", "function_call", "function_call_output", "reasoning"],
]);
const agentsTools: ReadonlySet<JsonValue | undefined> = new Set(["custom", "namespace", "tool_search"]);

/** Whether a request for a response has what only some servers know: items and tools of agents, which chat can be told. */
export function hasAgentItems({ input, tools }: JsonObject): boolean {
  const isOdd = (item: JsonValue) => isObject(item) && !plainItems.has(item.type);
  const isAgents = (tool: JsonValue) => isObject(tool) && agentsTools.has(tool.type);
  return (Array.isArray(input) && input.some(isOdd)) || (Array.isArray(tools) && tools.some(isAgents));
}

/** Whether a request for a response asks to sum its conversation up, or has done so. */
export function hasCompactionTrigger({ input }: JsonObject): boolean {
  return Array.isArray(input) && input.some((item) => isObject(item) && item.type === "compaction_trigger");
}

/** Whether a request offers tools. */
export function hasTools({ tools, functions }: JsonObject): boolean {
  return [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
}

/** Returns how much the model is to think, in chat's words; undefined where the request does not say. */
export function requestedEffort(asked: Operation, json: JsonObject): JsonValue | undefined {
  if (asked !== "messages") return json.reasoning_effort ?? undefined;
  const { thinking = null, output_config = null } = json;
  if (thinking === null && output_config === null) return undefined;
  const message = Wire.ofJson(CreateMessageRequestSchema, { thinking, output_config }).message();
  return reasoningEffortOf(message, undefined, new Set());
}
