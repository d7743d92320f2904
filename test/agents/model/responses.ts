/** OpenAI's Responses API, as the model of the agents' test reads it and answers in it. */
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import type { ResponseRequest } from "../../support/upstreams/strict-responders.ts";
import { refusesResponse, type StrictServer } from "../../support/upstreams/strict-servers.ts";
import { anthropicFrames } from "../../support/vendors.ts";
import type { Asked, Reply, Schema, Tool, Turn } from "./plan.ts";
import { type Body, cut, type Spoken, textsOf } from "./spoken.ts";

/** Returns responses as this server speaks them. */
export function responsesOf(server: StrictServer): Spoken {
  return { read, answer, refuses: (body) => refusesResponse(server, body as unknown as ResponseRequest) };
}

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
    return (tools as readonly Body[]).flatMap(toolsOf).map((tool) => ({ ...tool, namespace: name as string }));
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
    return { id: `msg_v${id}`, type: "message", role: "assistant", status: "completed", content };
  }
  const { name, namespace } = call.tool;
  const names = { call_id: `call_${id}`, name, ...(namespace && { namespace }) };
  if (typeof call.arguments === "string")
    return { id: `ctc_v${id}`, type: "custom_tool_call", status: "completed", ...names, input: call.arguments };
  return {
    id: `fc_v${id}`,
    type: "function_call",
    status: "completed",
    ...names,
    arguments: JSON.stringify(call.arguments),
  };
}

/** Reasons first where it is asked to hand its reasoning over, which must come back with what it led to. */
function reasoningIn({ include }: Body, id: string): Body[] {
  if (!Array.isArray(include) || !include.includes("reasoning.encrypted_content")) return [];
  return [{ id: `rs_v${id}`, type: "reasoning", summary: [], encrypted_content: `gAAA-rs_v${id}` }];
}

function answer(exchange: ScriptedExchange, body: Body, reply: Reply, id: string): void {
  const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
  const counts = { input_tokens: reply.promptTokens, output_tokens: 20, total_tokens: reply.promptTokens + 20 };
  const head = {
    ...{ id: `resp_${id}`, object: "response", created_at: 1, model: body.model, error: null },
    ...{ incomplete_details: null, instructions: null, metadata: {}, tools: [], tool_choice: "auto" },
    ...{ parallel_tool_calls: true, temperature: 1, top_p: 1 },
  };
  const output = [...reasoningIn(body, id), itemOf(reply, id)];
  const done = { ...head, status: "completed", output, usage: { ...counts, ...details } };
  if (!body.stream) {
    exchange.json(200, done);
    return;
  }
  const begun = { ...head, status: "in_progress", output: [], usage: null };
  const events = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...output.flatMap((item, at) => itemEvents(item, at, reply)),
    { type: "response.completed", response: done },
  ];
  exchange.head(200, eventStream);
  exchange.end(anthropicFrames(...events.map((event, sequence_number) => ({ ...event, sequence_number }))));
}

function itemEvents(item: Body, output_index: number, { call, text }: Reply): Body[] {
  const end = { type: "response.output_item.done", output_index, item };
  if (item.type === "reasoning") return [{ type: "response.output_item.added", output_index, item }, end];
  return [...(call ? callEvents(item, output_index) : textEvents(item, text, output_index)), end];
}

function callEvents(item: Body, output_index: number): Body[] {
  const at = { output_index, item_id: item.id };
  const isText = item.type === "custom_tool_call";
  const [event, key] = isText ? ["custom_tool_call_input", "input"] : ["function_call_arguments", "arguments"];
  const text = item[key as string] as string;
  const begun = { ...item, status: "in_progress", [key as string]: "" };
  return [
    { type: "response.output_item.added", output_index, item: begun },
    ...cut(text).map((delta) => ({ type: `response.${event}.delta`, ...at, delta })),
    { type: `response.${event}.done`, ...at, [key as string]: text, ...(isText ? {} : { name: item.name }) },
  ];
}

function textEvents(item: Body, text: string, output_index: number): Body[] {
  const at = { output_index, item_id: item.id, content_index: 0 };
  const [part] = item.content as readonly Body[];
  return [
    { type: "response.output_item.added", output_index, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    ...cut(text).map((delta) => ({ type: "response.output_text.delta", ...at, delta, logprobs: [] })),
    { type: "response.output_text.done", ...at, text, logprobs: [] },
    { type: "response.content_part.done", ...at, part },
  ];
}
