/** Reads the events of Cohere's own API, of its second version and its first, in place of chunks of a chat. */
import { isObject, type JsonObject, textOrEmpty } from "../../../wire/json.ts";
import { membersOf } from "../../usage/count.ts";
import { citedIn } from "./native-sources.ts";
import { type ReadEvent, type Said, StreamedCalls, writtenInput } from "./said.ts";

export function createCohereEvents(): ReadEvent {
  const calls = new StreamedCalls();
  return (event) => (typeof event.event_type === "string" ? firstVersion(event, calls) : secondVersion(event, calls));
}

function secondVersion(event: JsonObject, calls: StreamedCalls): Said | undefined {
  const { type, id, index = 0 } = event;
  const delta = membersOf(event.delta);
  const { content, tool_plan: plan, tool_calls: called, citations } = membersOf(delta.message);
  const { text, thinking } = membersOf(content);
  const call = membersOf(Array.isArray(called) ? called[0] : called);
  const { name, arguments: input } = membersOf(call.function);
  switch (type) {
    case "message-start":
      return { id, delta: { role: "assistant" } };
    case "content-start":
    case "content-delta":
      return { delta: text ? { content: text } : thinking ? { reasoning_content: thinking } : undefined };
    case "tool-plan-delta":
      return { delta: plan ? { reasoning_content: plan } : undefined };
    case "tool-call-start":
      return { delta: calls.begin(index, call.id, name, input || undefined) };
    case "tool-call-delta":
      return { delta: calls.add(index, input) };
    case "tool-call-end":
      return { delta: calls.end(index) };
    case "citation-start": {
      const annotations = citedIn(citations);
      return annotations.length > 0 ? { delta: { annotations } } : {};
    }
    case "message-end":
      return { end: delta.finish_reason, usage: delta.usage ?? event.usage, isLast: true };
    default:
      return /^(content|citation)-(start|end)$/.test(textOrEmpty(type)) ? {} : undefined;
  }
}

function firstVersion({ event_type: type, ...event }: JsonObject, calls: StreamedCalls): Said | undefined {
  switch (type) {
    case "stream-start":
      return { id: event.generation_id, delta: { role: "assistant" } };
    case "text-generation":
      return { delta: event.text ? { content: event.text } : undefined };
    case "tool-calls-generation":
      return { delta: wholeCalls(event, calls) };
    case "stream-end": {
      const { meta } = membersOf(event.response);
      const hasCalled = calls.size > 0 && event.finish_reason === "COMPLETE";
      return { end: hasCalled ? "tool_calls" : event.finish_reason, usage: meta, isLast: true };
    }
    default:
      return {};
  }
}

function wholeCalls({ tool_calls: called }: JsonObject, calls: StreamedCalls): JsonObject | undefined {
  if (!Array.isArray(called)) return undefined;
  const whole = called.filter(isObject).map(({ name = "", parameters }) => {
    const [begun] = calls.begin(calls.size, undefined, name).tool_calls as [JsonObject];
    return { ...begun, function: { name, arguments: writtenInput(parameters) } };
  });
  return { tool_calls: whole };
}
