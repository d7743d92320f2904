/** A conversation that is compacted by the Messages API's own means, over a model that has none of them. */
import { describe, expect, test } from "vitest";
import { ask, eventsIn } from "../../support/ask.ts";
import { upstreamAt } from "../../support/gateway.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, usageChunk } from "../../support/vendors.ts";

let summary = "In short.";

const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };

const { upstream, gateway } = scriptedStage(upstreamAt, { script: summarise });

function summarise(exchange: ScriptedExchange): void {
  const { stream } = exchange.asked;
  const pieces = Array.from(summary, (content) => chatChunk({ content }));
  if (!stream) exchange.json(200, chatAnswer({ content: summary }, "stop", { usage }));
  else exchange.stream(...pieces, chatChunk({}, "stop"), { ...usageChunk(), usage });
}

async function send(body: object) {
  const asked = await ask(gateway, "/v1/messages", { model: "embedded-chat", max_tokens: 100, ...body });
  return { ...asked, sent: upstream.lastAsked };
}

const conversation = [
  { role: "user", content: "hi" },
  { role: "assistant", content: "hello" },
];
const tools = [{ name: "read", input_schema: { type: "object" } }];

describe("a request for the block that stands for a conversation", () => {
  test("is answered with that block alone", async () => {
    summary = "In short.";
    const { status, dropped, text, sent } = await send({
      compaction: { type: "summarize" },
      messages: conversation,
      tools,
    });
    expect({ status, dropped, tools: sent.tools }).toEqual({ status: 200, dropped: null });
    expect(sent.messages.slice(0, 2)).toEqual(conversation);
    expect(sent.messages[2]).toMatchObject({ role: "user", content: expect.stringContaining("summary") });
    expect(JSON.parse(text)).toMatchObject({
      content: [{ type: "compaction", content: "In short.", encrypted_content: null }],
      stop_reason: "compaction",
      usage: { input_tokens: 9, output_tokens: 3 },
    });
  });

  test("is streamed as that block", async () => {
    const { status, text } = await send({ stream: true, compaction: { type: "summarize" }, messages: conversation });
    expect(status).toBe(200);
    const events = eventsIn(text);
    expect(events.map(({ type }) => type)).toEqual([
      ...["message_start", "content_block_start", "content_block_delta", "content_block_stop"],
      ...["message_delta", "message_stop"],
    ]);
    expect(events[1]?.content_block).toMatchObject({ type: "compaction", content: null });
    expect(events[2]?.delta).toMatchObject({ type: "compaction_delta", content: "In short." });
    expect(events[4]).toMatchObject({ delta: { stop_reason: "compaction" }, usage: { output_tokens: 3 } });
  });

  test("uses the caller's own instructions", async () => {
    const compaction = { type: "summarize", instructions: "Only the file names." };
    const { sent } = await send({ compaction, messages: conversation });
    expect(sent.messages.at(-1)).toEqual({ role: "user", content: "Only the file names." });
  });

  test.each([false, true])("fails where the model says nothing, stream: %s", async (stream) => {
    summary = " ";
    const { status, text } = await send({ stream, compaction: { type: "summarize" }, messages: conversation });
    expect([status, text]).toEqual([stream ? 200 : 502, expect.stringContaining('"api_error"')]);
    summary = "In short.";
  });

  test("is refused where it is malformed", async () => {
    const { status, text } = await send({ compaction: "yes", messages: conversation });
    expect([status, text]).toEqual([400, expect.stringContaining("compaction")]);
  });
});

describe("a conversation with such a block", () => {
  const block = { type: "compaction", content: "They like tea.", encrypted_content: "b3BhcXVl", signature: "c2ln" };
  const follows = { role: "user", content: expect.stringMatching(/They like tea\.$/) };

  test("begins with its summary", async () => {
    const messages = [
      ...conversation,
      { role: "assistant", content: [block, { type: "text", text: "Tea, then." }] },
      { role: "user", content: "Yes." },
    ];
    const { status, dropped, sent } = await send({ system: "Be brief.", messages });
    expect({ status, dropped }).toEqual({ status: 200, dropped: null });
    expect(sent.messages).toEqual([
      { role: "system", content: "Be brief." },
      follows,
      { role: "assistant", content: "Tea, then." },
      { role: "user", content: "Yes." },
    ]);
  });

  test("begins with the last of several", async () => {
    const messages = [
      { role: "assistant", content: [{ ...block, content: "Older." }] },
      { role: "assistant", content: [block] },
      { role: "user", content: "Yes." },
    ];
    const { sent } = await send({ messages });
    expect(sent.messages).toEqual([follows, { role: "user", content: "Yes." }]);
  });

  test("is whole where compacting failed", async () => {
    const failed = { type: "compaction", content: null };
    const messages = [conversation[0], { role: "assistant", content: [failed, { type: "text", text: "hello" }] }];
    const { status, sent } = await send({ messages });
    expect(status).toBe(200);
    expect(sent.messages).toEqual(conversation);
  });

  test("offers the tools that were in effect at its end", async () => {
    const definition = { name: "write", input_schema: { type: "object" } };
    const changes = [
      { type: "tool_addition", tool: { type: "tool_definition", definition } },
      { type: "tool_removal", tool: { type: "tool_reference", name: "read" } },
    ];
    const messages = [
      { role: "assistant", content: [{ ...block, tool_changes: changes }] },
      { role: "user", content: "Yes." },
    ];
    const { status, sent } = await send({ messages, tools });
    expect(status).toBe(200);
    expect(sent.tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual(["write"]);
  });
});

test("`output_format`, the older name, asks for a schema, too", async () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const { dropped, sent } = await send({ messages: conversation, output_format: { type: "json_schema", schema } });
  expect(dropped).toBeNull();
  expect(sent.response_format).toMatchObject({ type: "json_schema", json_schema: { schema } });
});

test("MCP servers of the request are refused: nobody would call them", async () => {
  const before = upstream.received.length;
  const servers = [{ type: "url", name: "x", url: "https://example.com/mcp" }];
  const { status, text } = await send({ messages: conversation, mcp_servers: servers });
  expect([status, text]).toEqual([400, expect.stringContaining("MCP")]);
  expect(upstream.received.length).toBe(before);
});
