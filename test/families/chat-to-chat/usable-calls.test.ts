/** Calls of tools in the odd forms in which servers of chat write them reach chat callers as OpenAI's own client reads them. */
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, usageChunk } from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

const { upstream, gateway } = scriptedStage();

const parameters = { type: "object", properties: {} };
const tools = ["get", "set"].map((name) => ({ type: "function" as const, function: { name, parameters } }));
const asked = { model: "gpt", messages: [{ role: "user" as const, content: "Hi" }], tools };
const client = () => new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });

interface Called {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

function told(message: { readonly tool_calls?: readonly unknown[] | undefined }): readonly string[][] {
  const calls = (message.tool_calls ?? []) as readonly Called[];
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  for (const { id, type } of calls) expect([id, type]).toEqual([expect.stringMatching(/^\w+$/), "function"]);
  return calls.map(({ function: called }) => [called.name, called.arguments]);
}

const call = (args: unknown, more: Json = {}, name = "get"): Json => ({
  ...{ id: "call_1", type: "function" },
  ...more,
  function: { name, ...(args === undefined ? {} : { arguments: args }) },
});
const got = ["get", '{"a":1}'];

const wholes: Readonly<Record<string, readonly [calls: unknown, told: readonly string[][]]>> = {
  "arguments that are an object": [[call({ a: 1 })], [got]],
  "arguments that are empty": [[call("")], [["get", "{}"]]],
  "arguments that are null": [[call(null)], [["get", "{}"]]],
  "arguments that are an empty list": [[call([])], [["get", "{}"]]],
  "arguments that are a JSON string": [[call(JSON.stringify('{"a":1}'))], [got]],
  "arguments that say null": [[call("null")], [["get", "{}"]]],
  "arguments that are no JSON": [[call('"a')], [["get", '"a']]],
  "no type, as Mistral's": [[call('{"a":1}', { type: undefined })], [got]],
  "no id": [[call('{"a":1}', { id: undefined })], [got]],
  "an id that is empty": [[call('{"a":1}', { id: "" })], [got]],
  "the same id": [
    [call('{"a":1}'), call('{"a":2}')],
    [got, ["get", '{"a":2}']],
  ],
  "a name beside the id": [[{ id: "c", name: "get", arguments: { a: 1 } }], [got]],
  "no list around it": [call('{"a":1}'), [got]],
  "an empty object beside it": [[{}, call('{"a":1}')], [got]],
};

test.each(Object.entries(wholes))("a call with %s", async (_, [calls, expected]) => {
  upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: null, tool_calls: calls }, "tool_calls"));
  const { choices } = await client().chat.completions.create(asked);
  expect(told(choices[0]?.message as never)).toEqual(expected);
});

const piece = (args: unknown, more: Json = {}, name?: string): Json => ({
  ...more,
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
});
const other = ["set", '{"b":2}'];

const streams: Readonly<Record<string, readonly [pieces: readonly Json[], told: readonly string[][]]>> = {
  "no index": [
    [call("", {}), piece('{"a"'), piece(":1}"), call('{"b":2}', { id: "call_2" }, "set")],
    [got, other],
  ],
  "no type": [[call('{"a"', { index: 0, type: undefined }), piece(":1}", { index: 0 })], [got]],
  "an index that counts from 1": [
    [
      ...[call('{"a"', { index: 1 }), piece(":1}", { index: 1 })],
      ...[call("", { index: 2, id: "call_2" }, "set"), piece('{"b":2}', { index: 2 })],
    ],
    [got, other],
  ],
  "an index of null": [[call('{"a"', { index: null }), piece(":1}", { index: null })], [got]],
  "an index that is a text": [[call('{"a"', { index: "0" }), piece(":1}", { index: "0" })], [got]],
  "the index of another": [
    [call('{"a":1}', { index: 0 }), call('{"b":2}', { index: 0, id: "call_2" }, "set")],
    [got, other],
  ],
  "the index of another, and no id": [
    [piece('{"a":1}', { index: 0 }, "get"), piece('{"b":2}', { index: 0 }, "set")],
    [got, other],
  ],
  "another index than its input": [
    [
      call('{"a":1}', { index: 0 }),
      call("", { index: 0, id: "call_2" }, "set"),
      piece('{"b"', { index: 1 }),
      piece(":2}", { index: 1 }),
    ],
    [got, other],
  ],
  "an empty id, type and name in further pieces": [
    [call("", { index: 0 }), ...['{"a"', ":1}"].map((args) => piece(args, { index: 0, id: "", type: "" }, ""))],
    [got],
  ],
  "its id and name in each piece": [[call('{"a"', { index: 0 }), call(":1}", { index: 0 })], [got]],
  "an id of its own in each piece": [[call('{"a"', { index: 0 }), call(":1}", { index: 0, id: "call_2" })], [got]],
  "its input twice": [[call("", { index: 0 }), piece('{"a":1}', { index: 0 }), piece('{"a":1}', { index: 0 })], [got]],
  "arguments that are an object": [[call({ a: 1 }, { index: 0 })], [got]],
  "arguments that are a JSON string": [
    [call('"{\\"a', { index: 0 }), piece('\\":1}', { index: 0 }), piece('"', { index: 0 })],
    [got],
  ],
  "arguments that only begin as a JSON string": [
    [call('"a', { index: 0 }), piece(":1}", { index: 0 })],
    [["get", '"a:1}']],
  ],
  "an empty object in a further piece": [
    [call("", { index: 0 }), piece("", { index: 0 }), piece("{}", { index: 0, id: null })],
    [["get", "{}"]],
  ],
  "an empty object before its input, where another begins between": [
    [
      ...[call("{}", { index: 0 }), call("{}", { index: 1, id: "call_2" }, "set")],
      ...[piece('{"b":2}', { index: 1 }), piece('{"a":1}', { index: 0 })],
    ],
    [got, other],
  ],
  "arguments that never come": [
    [call(undefined, { index: 0 }), call("", { index: 1, id: "call_2" }, "set")],
    [
      ["get", "{}"],
      ["set", "{}"],
    ],
  ],
};

test.each(Object.entries(streams))("a streamed call with %s", async (_, [pieces, expected]) => {
  upstream.script = (exchange) =>
    exchange.stream(
      chatChunk({ role: "assistant", content: null }),
      ...pieces.map((one) => chatChunk({ tool_calls: [one] })),
      chatChunk({ tool_calls: [{}] }),
      chatChunk({}, "tool_calls"),
      usageChunk(),
    );
  const stream = client().chat.completions.stream(asked);
  stream.on("chunk", ({ choices }) => {
    for (const { delta, finish_reason: reason } of choices) {
      // OpenAI's client for Go takes a call for finished by what follows its pieces, and misses one that nothing follows.
      expect(Object.keys(delta).length > 0, JSON.stringify(choices)).toBe(reason === null);
      for (const { id, type, function: called } of delta.tool_calls ?? []) {
        expect([id, type, called?.name]).not.toContain("");
        // langchaingo takes a piece without arguments for another call.
        expect(id ?? called?.name ?? called?.arguments).toBeTruthy();
      }
    }
  });
  expect(told(await stream.finalMessage())).toEqual(expected);
});

describe.each([false, true])("a call that ends by a plain stop, streamed: %s", (isStreamed) => {
  const ended = async (more: object) => {
    upstream.script = (exchange) => {
      const message = { content: null, tool_calls: [call('{"a":1}', { index: 0 })] };
      if (isStreamed) exchange.stream(chatChunk({ role: "assistant", ...message }), chatChunk({}, "stop"));
      else exchange.json(200, chatAnswer(message, "stop"));
    };
    const { chat } = client();
    const answer = isStreamed
      ? await chat.completions.stream({ ...asked, ...more }).finalChatCompletion()
      : await chat.completions.create({ ...asked, ...more });
    return answer.choices[0]?.finish_reason;
  };

  test("ends by the call, as agents go by it", async () => {
    expect(await ended({})).toBe("tool_calls");
  });

  test("ends as it came where the caller named the function, as OpenAI has it", async () => {
    expect(await ended({ tool_choice: { type: "function", function: { name: "get" } } })).toBe("stop");
  });
});

describe("a streamed call without parameters is told whole before another, as langchain4j and langchaingo read them", () => {
  const begun = [call("", { index: 0 }), call("", { index: 1, id: "call_2" }, "set"), piece('{"b":2}', { index: 1 })];
  const forms: Readonly<
    Record<string, readonly [pieces: readonly Json[], ends: readonly Json[], order: readonly number[]]>
  > = {
    "whose input is an empty object": [
      [begun[0], piece("{}", { index: 0 }), ...begun.slice(1)] as Json[],
      [chatChunk({}, "tool_calls")],
      [0, 0, 1, 1],
    ],
    "that gets no input": [begun, [chatChunk({}, "tool_calls")], [0, 0, 1, 1]],
    "that gets no input, where nothing says the end": [begun, [], [0, 0, 1, 1]],
    "that gets its input behind the other": [
      [...begun, piece('{"a":1}', { index: 0 })],
      [chatChunk({}, "tool_calls")],
      [0, 0, 1, 1],
    ],
  };
  test.each(Object.entries(forms))("%s", async (name, [pieces, ends, order]) => {
    upstream.script = (exchange) => exchange.stream(...pieces.map((one) => chatChunk({ tool_calls: [one] })), ...ends);
    const stream = client().chat.completions.stream(asked);
    const indices: number[] = [];
    stream.on("chunk", ({ choices }) =>
      indices.push(...(choices[0]?.delta.tool_calls ?? []).map(({ index }) => index)),
    );
    const first = name.endsWith("other") ? got : ["get", "{}"];
    expect(told(await stream.finalMessage())).toEqual([first, other]);
    expect(indices).toEqual(order);
  });
});

test("a streamed call that comes with its end is told before it, and the usage with the end", async () => {
  upstream.script = (exchange) => {
    const ended = chatChunk({ content: "Hm", tool_calls: [call('{"a":1}', { index: 0 })] }, "tool_calls");
    exchange.stream(chatChunk({ role: "assistant", content: "" }), { ...ended, usage: usageChunk().usage });
  };
  const counted = { ...asked, stream: true as const, stream_options: { include_usage: true } };
  const stream = await client().chat.completions.create(counted);
  const [, called, end, ...more] = await Array.fromAsync(stream);
  const { delta, finish_reason } = called?.choices[0] ?? {};
  expect([delta?.content, told(delta ?? {}), finish_reason, called?.usage]).toEqual(["Hm", [got], null, undefined]);
  expect(end).toMatchObject({ choices: [{ delta: {}, finish_reason: "tool_calls" }], usage: usageChunk().usage });
  expect(more).toEqual([]);
});

test("what comes behind a call whose input never ends is held within a bound", async () => {
  const long = "x".repeat(400_000);
  const begun = [call('{"a', { index: 0 }), call('{"b":"', { index: 1, id: "call_2" }, "set")];
  const pieces = [...begun, ...[long, long, long, '"}'].map((args) => piece(args, { index: 1 }))];
  upstream.script = (exchange) =>
    exchange.stream(...pieces.map((one) => chatChunk({ tool_calls: [one] })), chatChunk({}, "tool_calls"));
  const stream = client().chat.completions.stream(asked);
  const behind: number[] = [];
  stream.on("chunk", ({ choices }) => behind.push(choices[0]?.delta.tool_calls?.length ?? 0));
  expect(told(await stream.finalMessage())).toEqual([
    ["get", '{"a'],
    ["set", `{"b":"${long}${long}${long}"}`],
  ]);
  expect(behind).toEqual([1, 4, 1, 0]);
});

test("a streamed function call of before there were tools is told as one, and nothing of its silent pieces", async () => {
  const logprobs = { content: [], refusal: null };
  const end = { index: 0, delta: { function_call: { arguments: ":1}" } }, finish_reason: "function_call", logprobs };
  upstream.script = (exchange) =>
    exchange.stream(
      chatChunk({ role: "assistant", function_call: { name: "get", arguments: "" } }),
      ...["get", "get"].map((name) => chatChunk({ function_call: { name, arguments: "" } })),
      chatChunk({ function_call: { arguments: '{"a"' } }),
      chatChunk({}, null, { choices: [end] }),
    );
  const stream = client().chat.completions.stream(asked);
  const chunks: unknown[] = [];
  stream.on("chunk", ({ choices: [{ delta, ...choice } = { delta: {} }] }) =>
    chunks.push([delta.tool_calls?.length, choice]),
  );
  expect(told(await stream.finalMessage())).toEqual([got]);
  const going = { index: 0, finish_reason: null };
  expect(chunks).toMatchObject([
    [1, going],
    [1, going],
    [1, { ...going, logprobs }],
    [undefined, { index: 0, finish_reason: "tool_calls", logprobs: null }],
  ]);
});

test("an answer that calls nothing, or is cut off, ends as it came", async () => {
  for (const [message, reason] of [
    [{ content: "Hello" }, "stop"],
    [{ content: "", tool_calls: [call('{"a":1}')] }, "length"],
  ] as const) {
    upstream.script = (exchange) => exchange.json(200, chatAnswer(message, reason));
    const { choices } = await client().chat.completions.create(asked);
    expect(choices[0]?.finish_reason).toBe(reason);
  }
});

test("calls that clients read pass as they came", async () => {
  const first = JSON.stringify(
    chatChunk({ role: "assistant", tool_calls: [{ ...call("", { index: 0 }), vendor: 1.5 }] }),
  );
  const next = JSON.stringify(chatChunk({ tool_calls: [piece('{"a":1}', { index: 0 })] }));
  const frames = [first, next, JSON.stringify(chatChunk({}, "tool_calls"))].map((data) => `data: ${data}\n\n`).join("");
  upstream.script = (exchange) => {
    exchange.head(200, { "content-type": "text/event-stream" });
    exchange.end(`${frames}data: [DONE]\n\n`);
  };
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...asked, stream: true }),
  });
  expect(await response.text()).toContain(frames);
});
