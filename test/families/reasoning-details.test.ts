/**
 * OpenRouter's `reasoning_details`: callers of messages and of responses hold them unread, and the model that made
 * them gets them back. Gemini refuses a call without its own.
 */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/wire/json.ts";
import { ask, eventsIn } from "../support/ask.ts";
import { modelAt, upstreamAt, withProfile } from "../support/gateway.ts";
import type { ScriptedExchange } from "../support/scripted-upstream.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, usageChunk } from "../support/vendors.ts";

const encrypted = { type: "reasoning.encrypted", data: "b3BhcXVl", id: "call_1", format: "google-gemini-v1", index: 0 };
const signed = { type: "reasoning.text", text: "", signature: "c2ln", format: "anthropic-claude-v1", index: 0 };
const said = { type: "reasoning.text", text: "Hm.", format: "anthropic-claude-v1", index: 0 };
const call = { id: "call_1", type: "function", function: { name: "read", arguments: "{}" } };
const tool = { name: "read", parameters: { type: "object", properties: {} } };

/** What the model thinks before its call, piece by piece. */
let thoughts: readonly { readonly text: string }[] = [said, signed];
const thoughtText = () => thoughts.map(({ text }) => text).join("");

const sentTo = (i: number) => upstream.received.at(i)?.asked;

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({
    ...withProfile(upstreamAt(baseUrl), { operations: { chat: "/chat/completions" }, thoughts: "reasoning" }),
    models: [modelAt("far", "m", "google/gemini-2.5-pro"), modelAt("far", "other", "x/other")],
  }),
  { script: think },
);

/** Thinks, and calls the tool. */
function think(exchange: ScriptedExchange): void {
  const { stream } = exchange.asked;
  if (!stream) {
    const reasoning_details = [...thoughts, encrypted];
    const message = { content: null, reasoning: thoughtText(), reasoning_details, tool_calls: [call] };
    exchange.json(200, chatAnswer(message, "tool_calls"));
    return;
  }
  exchange.stream(
    ...thoughts.map((thought) =>
      chatChunk({ role: "assistant", content: "", reasoning: thought.text, reasoning_details: [thought] }),
    ),
    chatChunk({ content: "", reasoning_details: [encrypted], tool_calls: [{ index: 0, ...call }] }),
    chatChunk({}, "tool_calls"),
    usageChunk(),
  );
}

async function post(path: string, body: object): Promise<string> {
  const { status, text } = await ask(gateway, `/v1${path}`, body as JsonObject);
  expect([status, text]).toEqual([200, text]);
  return text;
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape.
type Json = Record<string, any>;

/** The blocks of a streamed message, as an SDK joins them. */
function blocksOf(text: string): Json[] {
  const blocks: Record<string, unknown>[] = [];
  for (const { type, index, content_block, delta } of eventsIn(text)) {
    if (type === "content_block_start") blocks[index] = { ...(content_block as object) };
    const block = blocks[index];
    if (type !== "content_block_delta" || !block) continue;
    const { thinking = "", signature = "" } = delta as Record<string, string>;
    block.thinking = `${block.thinking ?? ""}${thinking}`;
    if (signature) block.signature = signature;
  }
  return blocks.map(({ thinking, ...rest }) => (rest.type === "thinking" ? { ...rest, thinking } : rest) as Json);
}

const user = { role: "user", content: "read it" };
const details = [{ ...signed, text: "Hm." }, encrypted];

describe.each([false, true])("stream: %s", (stream) => {
  test("a caller of messages sends them back without knowing", async () => {
    const tools = [{ name: "read", input_schema: tool.parameters }];
    const text = await post("/messages", { model: "m", max_tokens: 9, stream, messages: [user], tools });
    const content = stream ? blocksOf(text) : JSON.parse(text).content;
    expect(content.at(-1)).toMatchObject({ type: "tool_use", name: "read" });
    const result = { type: "tool_result", tool_use_id: content.at(-1).id, content: "A" };
    const messages = [user, { role: "assistant", content }, { role: "user", content: [result] }];
    await post("/messages", { model: "m", max_tokens: 9, messages, tools });
    expect(sentTo(-1).messages[1]).toMatchObject({ role: "assistant", reasoning: "Hm.", reasoning_details: details });
    await post("/messages", { model: "other", max_tokens: 9, messages, tools });
    expect(sentTo(-1).messages[1].reasoning_details).toBeUndefined();
  });

  test("a caller of responses sends them back without knowing, or by the id of the response", async () => {
    const tools = [{ type: "function", ...tool, strict: false }];
    const text = await post("/responses", { model: "m", stream, input: [user], tools });
    const response = stream ? eventsIn(text).at(-1).response : JSON.parse(text);
    const { id, output } = response as { id: string; output: Json[] };
    const result = { type: "function_call_output", call_id: output.at(-1)?.call_id, output: "A" };
    await post("/responses", { model: "m", input: [user, ...output, result], tools, store: false });
    expect(sentTo(-1).messages[1]).toMatchObject({ role: "assistant", reasoning: "Hm.", reasoning_details: details });
    await post("/responses", { model: "m", previous_response_id: id, input: [result], tools, store: false });
    expect(sentTo(-1).messages[1]).toMatchObject({ role: "assistant", reasoning_details: details });
    await post("/responses", { model: "other", input: [user, ...output, result], tools, store: false });
    expect(sentTo(-1).messages[1].reasoning_details).toBeUndefined();
  });

  test("two signed thoughts of one turn come back each with its own text", async () => {
    const piece = (text: string, index: number) => ({ ...said, text, index });
    const seal = (index: number) => ({ ...signed, signature: `c2ln${index}`, index });
    thoughts = [piece("A", 0), seal(0), piece("B", 1), seal(1)];
    const both = [{ ...seal(0), text: "A" }, { ...seal(1), text: "B" }, encrypted];
    try {
      const tools = [{ name: "read", input_schema: tool.parameters }];
      const message = await post("/messages", { model: "m", max_tokens: 9, stream, messages: [user], tools });
      const content = stream ? blocksOf(message) : JSON.parse(message).content;
      const messages = [user, { role: "assistant", content }, user];
      await post("/messages", { model: "m", max_tokens: 9, messages, tools });
      expect(sentTo(-1).messages[1].reasoning_details).toEqual(both);
      const functions = [{ type: "function", ...tool, strict: false }];
      const response = await post("/responses", { model: "m", stream, input: [user], tools: functions, store: false });
      const { output } = stream ? eventsIn(response).at(-1).response : JSON.parse(response);
      await post("/responses", { model: "m", input: [user, ...output], tools: functions, store: false });
      expect(sentTo(-1).messages[1].reasoning_details).toEqual(both);
    } finally {
      thoughts = [said, signed];
    }
  });

  if (!stream)
    test("a signature beside its own text and one behind it come back with what each signs", async () => {
      const beside = { ...signed, text: "A", signature: "c2lnMA", index: 0 };
      const behind = { ...signed, signature: "c2lnMQ", index: 1 };
      const before = { ...said, text: "B", index: 1 };
      thoughts = [beside, before, behind];
      try {
        const message = await post("/messages", { model: "m", max_tokens: 9, messages: [user] });
        const { content } = JSON.parse(message);
        await post("/messages", { model: "m", max_tokens: 9, messages: [user, { role: "assistant", content }, user] });
        expect(sentTo(-1).messages[1].reasoning_details).toEqual([beside, { ...behind, text: "B" }, encrypted]);
      } finally {
        thoughts = [said, signed];
      }
    });

  test("a caller of chat gets them as they came", async () => {
    const text = await post("/chat/completions", { model: "m", stream, messages: [user] });
    for (const detail of [said, signed, encrypted]) expect(text).toContain(JSON.stringify(detail));
  });
});
