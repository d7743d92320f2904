/** Chat completions, as the model of the agents' test reads them and answers in them. */
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { type ChatRequest, refusedBy, type StrictServer } from "../../support/upstreams/strict-servers.ts";
import type { Asked, Reply, Schema, Turn } from "./plan.ts";
import { type Body, cut, type Spoken, textsOf } from "./spoken.ts";

/** Returns chat as this server speaks it. `keys`: it refuses every other. */
export function chatOf(server: StrictServer, keys?: readonly string[]): Spoken {
  return {
    read,
    answer,
    refuses(body) {
      const unknown = keys && Object.keys(body).find((key) => !keys.includes(key));
      if (unknown) return problem(`Extra inputs are not permitted: ${unknown}`);
      const unpaired = unpairedIn(body.messages as readonly Body[]);
      return unpaired ? problem(unpaired) : refusedBy(server, body as unknown as ChatRequest);
    },
  };
}

const problem = (message: string) => ({ error: { message, type: "invalid_request_error", param: null, code: null } });

function read({ messages, tools }: Body): Asked {
  return {
    turns: (messages as readonly Body[]).map(turnOf),
    tools: ((tools ?? []) as readonly Body[]).map((tool) => {
      const { name, parameters } = (tool.function ?? tool.custom) as Body;
      return { name: name as string, schema: parameters as Schema | undefined };
    }),
  };
}

function turnOf({ role, content, tool_calls }: Body): Turn {
  const parts = Array.isArray(content) ? (content as Body[]) : [];
  const images = parts.filter(({ type }) => type === "image_url").length;
  const text = `${textsOf(content)}${tool_calls ? JSON.stringify(tool_calls) : ""}`;
  return { role: role === "developer" ? "system" : (role as Turn["role"]), text, images };
}

/** Says which call has no result, or which result no call, as every server does whose template knows of tools. */
function unpairedIn(messages: readonly Body[]): string | undefined {
  const open = new Set<unknown>();
  for (const { role, tool_calls, tool_call_id } of messages) {
    if (role === "tool" && !open.delete(tool_call_id)) return `no tool call ${tool_call_id} before its result`;
    if (role !== "tool" && open.size > 0) return `no result of ${[...open].join(", ")}`;
    for (const { id } of (tool_calls ?? []) as readonly Body[]) open.add(id);
  }
  return open.size > 0 ? `no result of ${[...open].join(", ")}` : undefined;
}

function usageOf({ promptTokens }: Reply) {
  return { prompt_tokens: promptTokens, completion_tokens: 20, total_tokens: promptTokens + 20 };
}

function answer(exchange: ScriptedExchange, body: Body, reply: Reply, id: string): void {
  const head = { id: `chatcmpl-${id}`, created: 1, model: body.model };
  const calls = reply.call && [callOf(reply.call, id)];
  const finish_reason = calls ? "tool_calls" : "stop";
  if (!body.stream) {
    const message = { role: "assistant", content: calls ? null : reply.text, ...(calls && { tool_calls: calls }) };
    const choices = [{ index: 0, message, logprobs: null, finish_reason }];
    exchange.json(200, { ...head, object: "chat.completion", choices, usage: usageOf(reply) });
    return;
  }
  const chunk = (delta: object, reason: string | null = null) => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: reason }];
    return { ...head, object: "chat.completion.chunk", choices };
  };
  const counted = (body.stream_options as Body | undefined)?.include_usage === true;
  const usage = { ...chunk({}), choices: [], usage: usageOf(reply) };
  const deltas = calls ? callDeltas(calls[0] as Body) : cut(reply.text).map((content) => ({ content }));
  exchange.stream(
    chunk({ role: "assistant", content: calls ? null : "" }),
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, finish_reason),
    ...(counted ? [usage] : []),
  );
}

/** A call of a function, or of a tool that takes free text. */
function callOf({ tool: { name }, arguments: args }: NonNullable<Reply["call"]>, id: string): Body {
  if (typeof args === "string") return { id: `call_${id}`, type: "custom", custom: { name, input: args } };
  return { id: `call_${id}`, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function callDeltas(call: Body): object[] {
  const [kind, key] = call.type === "custom" ? ["custom", "input"] : ["function", "arguments"];
  const { name, [key as string]: text } = call[kind as string] as Readonly<Record<string, string>>;
  const begun = { index: 0, ...call, [kind as string]: { name, [key as string]: "" } };
  const pieces = cut(text as string).map((piece) => ({ index: 0, [kind as string]: { [key as string]: piece } }));
  return [begun, ...pieces].map((delta) => ({ tool_calls: [delta] }));
}
