/**
 * Reasoning of a model behind Anthropic's API, as a response: shown as a summary, and sent back to its vendor with
 * its signature, from storage or from the caller.
 */
import OpenAI from "openai";
import type { FunctionTool, ResponseInputItem } from "openai/resources/responses/responses";
import { beforeAll, expect, test } from "vitest";
import { anthropicUpstreamAt } from "../../support/gateway.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const thinking = { type: "thinking", thinking: "I need the tool.", signature: "c2ln" };
const use = { type: "tool_use", id: "toolu_1", name: "f", input: { city: "Oslo" } };
const usage = { input_tokens: 10, output_tokens: 20 };
const message = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "tool_use", usage };
const events = [
  { type: "message_start", message: { ...message, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "I need " } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "the tool." } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { ...use, input: {} } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"city":"Oslo"}' } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage },
  { type: "message_stop" },
];

let client: OpenAI;

const { upstream, gateway } = scriptedStage(anthropicUpstreamAt, {
  script: (exchange) => {
    if (exchange.asked.stream !== true) {
      exchange.json(200, { ...message, content: [thinking, use] });
      return;
    }
    exchange.head(200, eventStream);
    exchange.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
  },
});

beforeAll(async () => {
  client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
});

const parameters = { type: "object", properties: { city: { type: "string" } } };
const tool: FunctionTool = { type: "function", name: "f", parameters, strict: null };
const reasoning = { effort: "low" } as const;
const asked = { model: "embedded-chat", tools: [tool], reasoning, max_output_tokens: 4000 };
const result: ResponseInputItem = { type: "function_call_output", call_id: "toolu_1", output: "4 degrees" };

function lastMessages(): unknown {
  return upstream.lastAsked.messages;
}

const conversation = [
  { role: "user", content: expect.anything() },
  { role: "assistant", content: [thinking, use] },
  { role: "user", content: [expect.objectContaining({ type: "tool_result", tool_use_id: "toolu_1" })] },
];

test("reasoning is a summary, and goes back with its signature from storage", async () => {
  const first = await client.responses.create({ ...asked, input: "Go" });
  expect(first.output).toMatchObject([
    { type: "reasoning", summary: [{ type: "summary_text", text: "I need the tool." }] },
    { type: "function_call", call_id: "toolu_1", name: "f", arguments: '{"city":"Oslo"}' },
  ]);
  await client.responses.create({ ...asked, input: [result], previous_response_id: first.id });
  expect(lastMessages()).toEqual(conversation);
});

test("reasoning is streamed, and goes back with its signature from the caller", async () => {
  const stream = client.responses.stream({ ...asked, input: "Go", store: false });
  let shown = "";
  stream.on("response.reasoning_summary_text.delta", ({ delta }) => {
    shown += delta;
  });
  const { output } = await stream.finalResponse();
  expect(shown).toBe("I need the tool.");
  const input = [{ role: "user", content: "Go" } as const, ...(output as ResponseInputItem[]), result];
  await client.responses.create({ ...asked, store: false, input });
  expect(lastMessages()).toEqual(conversation);
});
