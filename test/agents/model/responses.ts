/** OpenAI's Responses API, as the model of the agents' test reads it and answers in it. */
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { anthropicFrames } from "../../support/vendors.ts";
import type { Asked, Reply, Schema, Tool, Turn } from "./plan.ts";
import { type Body, cut, type Spoken, textsOf } from "./spoken.ts";

export const responses: Spoken = { read, answer, refuses: () => undefined };

function read({ instructions, input, tools }: Body): Asked {
  const items = typeof input === "string" ? [{ role: "user", content: input }] : ((input ?? []) as readonly Body[]);
  const added = items.flatMap(({ type, tools: more }) => (type === "additional_tools" ? (more as Body[]) : []));
  return {
    turns: [{ role: "system", text: textsOf(instructions), images: 0 }, ...items.map(turnOf)],
    tools: [...((tools ?? []) as readonly Body[]), ...added].flatMap(toolsOf),
  };
}

/** A namespace is its tools; what the server runs itself is none. */
function toolsOf({ type, name, parameters, tools }: Body): Tool[] {
  if (type === "namespace")
    return (tools as readonly Body[]).flatMap(toolsOf).map((tool) => ({ ...tool, namespace: name }));
  return typeof name === "string" ? [{ name, schema: parameters as Schema | undefined }] : [];
}

function turnOf(item: Body): Turn {
  const { type, role, content, output } = item;
  const parts = (Array.isArray(content) ? content : Array.isArray(output) ? output : []) as readonly Body[];
  const images = parts.filter((part) => part.type === "input_image").length;
  if (typeof type === "string" && type.endsWith("_output")) return { role: "tool", text: textsOf(output), images };
  if (role === undefined) return { role: "assistant", text: JSON.stringify(item), images };
  return { role: role === "developer" ? "system" : (role as Turn["role"]), text: textsOf(content), images };
}

function itemOf({ text, call }: Reply, id: string): Body {
  if (!call) {
    const content = [{ type: "output_text", text, annotations: [], logprobs: [] }];
    return { id: `msg_${id}`, type: "message", role: "assistant", status: "completed", content };
  }
  const { namespace } = call.tool as Tool & { readonly namespace?: string };
  const names = { call_id: `call_${id}`, name: call.tool.name, ...(namespace && { namespace }) };
  return {
    id: `fc_${id}`,
    type: "function_call",
    status: "completed",
    ...names,
    arguments: JSON.stringify(call.arguments),
  };
}

function answer(exchange: ScriptedExchange, body: Body, reply: Reply, id: string): void {
  const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
  const usage = {
    input_tokens: reply.promptTokens,
    output_tokens: 20,
    total_tokens: reply.promptTokens + 20,
    ...details,
  };
  const item = itemOf(reply, id);
  const head = {
    ...{
      id: `resp_${id}`,
      object: "response",
      created_at: 1,
      model: body.model,
      error: null,
      incomplete_details: null,
    },
    ...{ instructions: null, metadata: {}, tools: [], tool_choice: "auto", parallel_tool_calls: true },
    ...{ temperature: 1, top_p: 1 },
  };
  const done = { ...head, status: "completed", output: [item], usage };
  if (!body.stream) {
    exchange.json(200, done);
    return;
  }
  const begun = { ...head, status: "in_progress", output: [], usage: null };
  const events = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...(reply.call ? callEvents(item) : textEvents(item, reply.text)),
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: done },
  ];
  exchange.head(200, eventStream);
  exchange.end(anthropicFrames(...events.map((event, sequence_number) => ({ ...event, sequence_number }))));
}

function callEvents(item: Body): Body[] {
  const at = { output_index: 0, item_id: item.id };
  const text = item.arguments as string;
  return [
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", arguments: "" } },
    ...cut(text).map((delta) => ({ type: "response.function_call_arguments.delta", ...at, delta })),
    { type: "response.function_call_arguments.done", ...at, arguments: text, name: item.name },
  ];
}

function textEvents(item: Body, text: string): Body[] {
  const at = { output_index: 0, item_id: item.id, content_index: 0 };
  const [part] = item.content as readonly Body[];
  return [
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    ...cut(text).map((delta) => ({ type: "response.output_text.delta", ...at, delta, logprobs: [] })),
    { type: "response.output_text.done", ...at, text, logprobs: [] },
    { type: "response.content_part.done", ...at, part },
  ];
}
