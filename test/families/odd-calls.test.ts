/** Tool calls in the odd forms in which vendors stream them reach callers of other families as the model made them. */
import { describe, expect, test } from "vitest";
import { eventsIn } from "../support/ask.ts";
import { call } from "../support/clients/families.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, usageChunk } from "../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

const { upstream, gateway } = scriptedStage();

interface Called {
  readonly name: string;
  readonly input: string;
}

const offered = ["get_weather", "get", "edit_existing_file"];
const parameters = { type: "object", properties: {} };
const tools = {
  chat: offered.map((name) => ({ type: "function", function: { name, parameters } })),
  messages: offered.map((name) => ({ name, input_schema: parameters })),
  responses: offered.map((name) => ({ type: "function", name, parameters })),
};

type Family = keyof typeof tools;

async function calledBy(family: Family, stream: boolean): Promise<Called[]> {
  const asked = { family, model: "gpt", stream, apiKey: gateway.apiKey, more: { tools: tools[family] } };
  const { status, text } = await call(gateway, asked);
  expect(status, text).toBe(200);
  const events = stream ? eventsIn(text) : [JSON.parse(text)];
  if (family === "chat") return calledInChat(events, stream);
  if (family === "responses") {
    const { output } = stream ? events.at(-1).response : events[0];
    return output.flatMap((item: Json) =>
      item.type === "function_call" ? [{ name: item.name, input: item.arguments }] : [],
    );
  }
  if (!stream)
    return events[0].content.flatMap((block: Json) =>
      block.type === "tool_use" ? [{ name: block.name, input: JSON.stringify(block.input) }] : [],
    );
  expect(events.at(-1).type, text).toBe("message_stop");
  const begun = events.filter(({ type, content_block }) => type === "content_block_start" && content_block.name);
  return begun.map(({ index, content_block }) => ({
    name: content_block.name,
    input: events.map((event) => (event.index === index ? (event.delta?.partial_json ?? "") : "")).join(""),
  }));
}

/** calledInChat joins the pieces of each index, as OpenAI's SDKs do. */
// biome-ignore lint/suspicious/noExplicitAny: the members of an event differ.
function calledInChat(events: readonly any[], stream: boolean): Called[] {
  const pieces = events.flatMap(({ choices }) => {
    const calls = choices[0]?.[stream ? "delta" : "message"].tool_calls ?? [];
    return stream ? calls : calls.map((call: Json, index: number) => ({ index, ...call }));
  });
  const calls = new Map<number, Called>();
  for (const { index, function: called } of pieces) {
    const { name, input } = calls.get(index) ?? { name: "", input: "" };
    calls.set(index, { name: name + (called.name ?? ""), input: input + (called.arguments ?? "") });
  }
  return [...calls.values()];
}

const piece = (args: string | undefined, more: Json = {}, name?: string): Json => ({
  tool_calls: [
    {
      index: 0,
      ...more,
      function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
    },
  ],
});
const first = (args = "", name = "get_weather") => piece(args, { id: "call_1", type: "function" }, name);
const weather = { name: "get_weather", input: '{"a":1}' };

const streamed: Readonly<Record<string, readonly [deltas: readonly Json[], calls: readonly Called[]]>> = {
  "an empty object before the input, as Bedrock's": [[first("{}"), piece('{"a"'), piece(":1}")], [weather]],
  "an empty object that is the input": [[first("{}")], [{ name: "get_weather", input: "{}" }]],
  "null for no input, as Llama's": [[first("null")], [{ name: "get_weather", input: "{}" }]],
  "an empty list for no input, as PHP's": [[first("[]")], [{ name: "get_weather", input: "{}" }]],
  "an empty list for no input, before the input": [[first("[]"), piece('{"a":1}')], [weather]],
  "null for no input, twice": [[first("null"), piece("null")], [{ name: "get_weather", input: "{}" }]],
  "null for no input, before the input": [[first("null"), piece('{"a":1}')], [weather]],
  "an empty object twice": [[first("{}"), piece("{}")], [{ name: "get_weather", input: "{}" }]],
  "the whole input once more, as vLLM's": [[first('{"a"'), piece(":1}"), piece('{"a":1}')], [weather]],
  "all of the input so far in each piece, as Qianfan's": [
    [first('{"a"'), piece('{"a":1'), piece('{"a":1}')],
    [weather],
  ],
  "a name in the input that begins as the input, cut there": [
    [first('{"'), piece('{"'), piece(":1}")],
    [{ name: "get_weather", input: '{"{":1}' }],
  ],
  "all of the input so far, cut before a value": [[first('{"a":'), piece('{"a":1}')], [weather]],
  "all of the input so far, with id and name": [
    [first(), first("{"), first('{"a":1'), first('{"a":1}'), first('{"a":1}')],
    [weather],
  ],
  "the whole input once more in pieces": [[first('{"a":1}'), piece('{"a"'), piece(":1}")], [weather]],
  "the whole input once more as a JSON string, as LiteLLM's": [
    [first('{"a":1}'), { content: "so" }, piece('"{\\"a\\":1}"', { id: "call_1" }, "get_weather")],
    [weather],
  ],
  "a name in pieces": [
    [first("", "edit_ex"), piece("", {}, "isting_file"), piece('{"a":1}')],
    [{ name: "edit_existing_file", input: '{"a":1}' }],
  ],
  "a name in pieces, the input as well": [[first('{"a"', "get_wea"), piece(":1}", {}, "ther")], [weather]],
  "a name that grows": [[first("", "get_w"), piece('{"a":1}', {}, "get_weather")], [weather]],
  "a name with each piece": [[first('{"a"'), piece(":1}", { id: "call_1" }, "get_weather")], [weather]],
  "a name that another begins with": [[first("", "get"), piece("{}", {}, "get")], [{ name: "get", input: "{}" }]],
  "the beginning of a name, and no more": [[first('{"a":1}', "get_w")], [{ name: "get_w", input: '{"a":1}' }]],
  "an id of its own with each piece": [[first('{"a"'), piece(":1}", { id: "call_2" }, "get_weather")], [weather]],
  "one index for all calls, and no ids, as Gemini's": [
    [piece('{"a":1}', {}, "get_weather"), piece("{}", {}, "get"), piece('{"a":2}', {}, "get")],
    [weather, { name: "get", input: '{"a":2}' }],
  ],
  "one index for all calls of one tool, and no ids": [
    [piece('{"a":1}', {}, "get_weather"), piece('{"a":2}', {}, "get_weather")],
    [weather, { name: "get_weather", input: '{"a":2}' }],
  ],
  "one index for all calls, whose input has the next one, as DeepSeek's": [
    [first('{"a":1}'), piece("", { id: "call_2" }, "get"), piece('{"a"', { index: 1 }), piece(":2}", { index: 1 })],
    [weather, { name: "get", input: '{"a":2}' }],
  ],
  "empty objects that fill the list up": [
    [{ tool_calls: [{}] }, first('{"a":1}'), { tool_calls: [{}, {}] }],
    [weather],
  ],
  "a call in the place of the list": [
    [{ tool_calls: { index: 0, id: "call_1", function: { name: "get_weather", arguments: '{"a":1}' } } }],
    [weather],
  ],
  "a name and an input beside the id, as Cloudflare's": [
    [{ tool_calls: [{ id: "call_1", name: "get_weather", arguments: { a: 1 } }] }],
    [weather],
  ],
  "an empty list for an empty input, as PHP writes it": [
    [{ tool_calls: [{ index: 0, id: "call_1", function: { name: "get", arguments: [] } }] }],
    [{ name: "get", input: "{}" }],
  ],
  "a name behind the input": [
    [first('{"a":1}', ""), piece("", {}, "get_weather"), piece("{}", { index: 1, id: "call_2" }, "get")],
    [weather, { name: "get", input: "{}" }],
  ],
  "one index for all calls": [
    [first('{"a":1}'), piece('{"a":2}', { id: "call_2" }, "get_weather")],
    [weather, { name: "get_weather", input: '{"a":2}' }],
  ],
};

describe.each(["chat", "messages", "responses"] as const)("a caller of %s gets", (family) => {
  test.each(Object.entries(streamed))("%s", async (_, [deltas, calls]) => {
    upstream.script = (exchange) =>
      exchange.stream(...deltas.map((delta) => chatChunk(delta)), chatChunk({}, "tool_calls"), usageChunk());
    expect(await calledBy(family, true)).toEqual(calls);
    // A server that streams unasked says the same.
    expect(await calledBy(family, false), "whole").toEqual(calls);
  });

  test("each of several calls that share an id", async () => {
    const called = (input: string) => ({ id: "x", type: "function", function: { name: "get", arguments: input } });
    const message = { content: null, tool_calls: [called('{"a":1}'), called('{"a":2}')] };
    upstream.script = (exchange) => exchange.json(200, chatAnswer(message, "tool_calls"));
    expect(await calledBy(family, false)).toEqual([
      { name: "get", input: '{"a":1}' },
      { name: "get", input: '{"a":2}' },
    ]);
  });

  test.each([false, true])("no call where a server names none (stream: %s)", async (stream) => {
    const empty = { name: "", arguments: "" };
    upstream.script = (exchange) => {
      if (!stream) exchange.json(200, chatAnswer({ content: "Hi", function_call: empty, tool_calls: null }, ""));
      else exchange.stream(chatChunk({ content: "Hi", function_call: empty }), chatChunk({}, "stop"), usageChunk());
    };
    expect(await calledBy(family, stream)).toEqual([]);
  });
});
