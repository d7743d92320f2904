/**
 * Reads the events of Bedrock's Converse in place of chunks of a chat, as JSON. Each is a member with the event's name, or has the name as
 * its type; proxies that decode Amazon's own framing pass on the members alone, by which the event is told.
 */
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { withDoubles } from "../../../wire/scan/exact-number.ts";
import { membersOf } from "../../usage/count.ts";
import { SignedThinking } from "./message-events.ts";
import { type ReadEvent, type Said, StreamedCalls } from "./said.ts";

const names = ["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"] as const;

interface ConverseEvent {
  readonly name: (typeof names)[number] | "metadata";
  readonly told: JsonObject;
}

/** converseEvent returns undefined for what is no event of Converse's. */
export function converseEvent(event: JsonObject): ConverseEvent | undefined {
  const name = names.find((one) => one === event.type || isObject(event[one]));
  if (name) return { name, told: isObject(event[name]) ? event[name] : event };
  const { contentBlockIndex: index, delta, start, stopReason, output } = event;
  const metadata = withDoubles(event.metadata);
  if (isObject(metadata) && hasUsage(metadata)) return { name: "metadata", told: metadata };
  if (typeof index === "number") {
    const about = isObject(delta) ? "contentBlockDelta" : isObject(start) ? "contentBlockStart" : "contentBlockStop";
    return { name: about, told: event };
  }
  if (typeof stopReason === "string" && output === undefined) return { name: "messageStop", told: event };
  const isAlone = Object.keys(event).every((key) => ofMetadata.has(key));
  return isAlone && hasUsage(event) ? { name: "metadata", told: event } : undefined;
}

/** ofMetadata are the members of the last event. `p` is padding. */
const ofMetadata: ReadonlySet<string> = new Set(["type", "usage", "metrics", "trace", "performanceConfig", "p"]);

function hasUsage({ usage }: JsonObject): boolean {
  return isObject(usage) && typeof usage.inputTokens === "number";
}

export function createConverseEvents(): ReadEvent {
  const calls = new StreamedCalls();
  const thinking = new SignedThinking();
  return (event) => {
    const { name, told }: Partial<ConverseEvent> = converseEvent(event) ?? {};
    if (!told) return undefined;
    const { contentBlockIndex: index = 0 } = told;
    switch (name) {
      case "messageStart":
        return { delta: { role: "assistant" } };
      case "contentBlockStart":
        return { delta: begin(calls, index, membersOf(told.start)) };
      case "contentBlockDelta":
        return { delta: piece(calls, thinking, index, membersOf(told.delta)) };
      case "contentBlockStop":
        return { delta: calls.end(index) ?? thinking.end(index) };
      case "messageStop":
        return { end: told.stopReason };
      default:
        return { usage: told.usage, isLast: true };
    }
  };
}

function begin(calls: StreamedCalls, index: JsonValue, { toolUse }: JsonObject): Said["delta"] {
  return isObject(toolUse) ? calls.begin(index, toolUse.toolUseId, toolUse.name) : undefined;
}

function piece(calls: StreamedCalls, thinking: SignedThinking, index: JsonValue, delta: JsonObject): Said["delta"] {
  const { text, toolUse, reasoningContent } = delta;
  if (isObject(toolUse)) return calls.add(index, toolUse.input);
  const { text: thought, signature, redactedContent } = membersOf(reasoningContent);
  if (isObject(reasoningContent))
    thinking.take(index, {
      ...{ type: "thinking", thinking: textOrEmpty(thought) },
      ...{ signature: textOrEmpty(signature), data: textOrEmpty(redactedContent) },
    });
  if (textOrEmpty(thought) !== "") return { reasoning_content: thought as string };
  return textOrEmpty(text) === "" ? undefined : { content: text as string };
}
