/** Anthropic's Messages API, as the model of the agents' test reads it and answers in it; it refuses what the real one refuses. */
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { anthropicError, anthropicFrames, blockEvents } from "../../support/vendors.ts";
import type { Asked, Reply, Schema, Turn } from "./plan.ts";
import { type Body, cut, type Spoken, textsOf } from "./spoken.ts";

export const messages: Spoken = { read, answer, refuses };

const keys: ReadonlySet<string> = new Set([
  ...["model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "metadata", "stop_sequences"],
  ...["temperature", "top_p", "top_k", "thinking", "service_tier", "context_management", "output_config", "container"],
  ...["cache_control", "inference_geo", "mcp_servers", "output_format", "speed", "diagnostics"],
]);

const blocksOf = ({ content }: Body): readonly Body[] => (Array.isArray(content) ? (content as Body[]) : []);

function refuses(body: Body): object | undefined {
  const wrong = wrongWith(body);
  return wrong === undefined ? undefined : anthropicError("invalid_request_error", wrong);
}

function wrongWith(body: Body): string | undefined {
  const unknown = Object.keys(body).find((key) => !keys.has(key));
  if (unknown) return `${unknown}: Extra inputs are not permitted`;
  if (!Number.isInteger(body.max_tokens)) return "max_tokens: Field required";
  const turns = body.messages as readonly Body[];
  if (turns[0]?.role !== "user") return "messages: first message must use the user role";
  const tool = ((body.tools ?? []) as readonly Body[]).find(({ name }) => !/^[\w-]{1,128}$/.test(String(name)));
  if (tool) return `tools: ${tool.name} does not match the pattern of names`;
  const schema = ((body.tools ?? []) as readonly Body[]).find(
    ({ input_schema }) => !isTakenSchema(input_schema as Body),
  );
  if (schema) return `tools.${schema.name}.input_schema: is not supported`;
  for (const turn of turns) {
    if (turn.role !== "user" && turn.role !== "assistant" && turn.role !== "system") return `role ${turn.role}`;
    if (blocksOf(turn).some(({ type, text }) => type === "text" && text === ""))
      return "text content blocks must be non-empty";
    if (blocksOf(turn).some(({ type, signature }) => type === "thinking" && !signature)) return "Invalid `signature`";
  }
  const marks = JSON.stringify([body.system, body.tools, body.messages]).match(/"cache_control":\{/g) ?? [];
  return marks.length > 4 ? "A maximum of 4 blocks with cache_control may be provided" : unpairedIn(turns);
}

function isTakenSchema(schema: Body | undefined): boolean {
  return schema === undefined || (schema.type === "object" && !schema.anyOf && !schema.oneOf && !schema.allOf);
}

/** Says which `tool_use` has no result in the next message, or which result no `tool_use` in the one before. */
function unpairedIn(turns: readonly Body[]): string | undefined {
  let open = new Set<unknown>();
  for (const turn of turns) {
    if (turn.role === "system") continue;
    for (const { type, tool_use_id } of blocksOf(turn)) {
      if (type === "tool_result" && !open.delete(tool_use_id)) return `unexpected \`tool_use_id\`: ${tool_use_id}`;
    }
    if (open.size > 0) return `\`tool_use\` ids without \`tool_result\`: ${[...open].join(", ")}`;
    open = new Set(blocksOf(turn).flatMap(({ type, id }) => (type === "tool_use" ? [id] : [])));
  }
  return open.size > 0 ? "tool_use without a result" : undefined;
}

function read({ system, messages, tools }: Body): Asked {
  const turns = (messages as readonly Body[]).flatMap(turnsOf);
  return {
    turns: [{ role: "system", text: textsOf(system), images: 0 }, ...turns],
    tools: ((tools ?? []) as readonly Body[]).map(({ name, input_schema }) => ({
      name: name as string,
      schema: input_schema as Schema | undefined,
    })),
  };
}

/** A user's message with results is the tools' turn first, and then the user's. */
function turnsOf(message: Body): Turn[] {
  const blocks = blocksOf(message);
  const results = blocks.filter(({ type }) => type === "tool_result");
  const others = blocks.filter(({ type }) => type !== "tool_result");
  const turns: Turn[] = results.map((result) => ({
    role: "tool",
    text: textsOf(result.content),
    images: imagesIn(blocksOf(result)),
  }));
  const text = typeof message.content === "string" ? message.content : textsOf(others);
  if (text === "" && others.length === 0) return turns;
  return [...turns, { role: message.role as Turn["role"], text, images: imagesIn(others) }];
}

const imagesIn = (blocks: readonly Body[]) => blocks.filter(({ type }) => type === "image").length;

/** Thinks first where it is asked to, as Claude does, with a signature to be sent back. */
function blocksIn(reply: Reply, body: Body, id: string): { block: Body; deltas: Body[] }[] {
  const mode = (body.thinking as Body | undefined)?.type;
  const thinks = mode === "enabled" || mode === "adaptive";
  const thought = {
    block: { type: "thinking", thinking: "", signature: "" },
    deltas: [
      { type: "thinking_delta", thinking: "The plan says it." },
      { type: "signature_delta", signature: `c2lnbmVk${id}` },
    ],
  };
  const json = JSON.stringify(reply.call?.arguments);
  const said = reply.call
    ? {
        block: { type: "tool_use", id: `toolu_${id}`, name: reply.call.tool.name, input: {} },
        deltas: cut(json).map((partial_json) => ({ type: "input_json_delta", partial_json })),
      }
    : { block: { type: "text", text: "" }, deltas: cut(reply.text).map((text) => ({ type: "text_delta", text })) };
  return thinks ? [thought, said] : [said];
}

function answer(exchange: ScriptedExchange, body: Body, reply: Reply, id: string): void {
  const usage = { input_tokens: reply.promptTokens, output_tokens: 20 };
  const stop_reason = reply.call ? "tool_use" : "end_turn";
  const head = { id: `msg_${id}`, type: "message", role: "assistant", model: body.model, stop_sequence: null };
  const blocks = blocksIn(reply, body, id);
  if (!body.stream) {
    const content = blocks.map(({ block, deltas }) => wholeOf(block, deltas, reply));
    exchange.json(200, { ...head, content, stop_reason, usage });
    return;
  }
  exchange.head(200, eventStream);
  exchange.end(
    anthropicFrames(
      {
        type: "message_start",
        message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
      },
      ...blocks.flatMap(({ block, deltas }, index) => blockEvents(index, block, ...deltas)),
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } },
      { type: "message_stop" },
    ),
  );
}

function wholeOf(block: Body, deltas: readonly Body[], { text, call }: Reply): Body {
  if (block.type === "text") return { ...block, text };
  if (block.type === "tool_use") return { ...block, input: call?.arguments };
  return Object.assign({ ...block }, ...deltas, { type: "thinking" }) as Body;
}
