import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import type { Form } from "../../src/call/operations.ts";
import { Refusal } from "../../src/call/refusals.ts";
import { createEmbeddedProvider } from "../../src/embedded/index.ts";
import type { Speak } from "../../src/providers/contract.ts";
import type { JsonObject } from "../../src/wire/json.ts";
import { Wire } from "../../src/wire/wire.ts";
import { recordingMeter, unbounded } from "../support/meter.ts";
import { cpuMsOf } from "../support/run/cpu-time.ts";

type Whole = OpenAI.ChatCompletion;
type Chunk = OpenAI.ChatCompletionChunk;

const { chat } = createEmbeddedProvider({ clock: () => 1_790_000_000_999 }).speaks as { chat: Speak<"chat"> };

function send(json: JsonObject, form: Form, signal = new AbortController().signal) {
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", ...json });
  const attempt = { id: "req_1", operation: "chat", form, request, model: "embedded-chat", signal } as const;
  return chat({ ...attempt, header: () => undefined, meter: recordingMeter(), ...unbounded() });
}

async function whole(json: JsonObject): Promise<Whole> {
  const answer = await send(json, "whole");
  if (answer.kind !== "whole") throw new Error("not whole");
  answer.body.message(); // It has to be readable as the message too.
  return answer.body.json() as unknown as Whole;
}

async function chunks(json: JsonObject): Promise<Chunk[]> {
  const answer = await send(json, "stream");
  if (answer.kind !== "stream") throw new Error("not a stream");
  const all: Chunk[] = [];
  for await (const frames of answer.frames) {
    for (const frame of frames) {
      frame.message();
      all.push(frame.json() as unknown as Chunk);
    }
  }
  return all;
}

/** Joins a stream as clients do. */
function joined(all: readonly Chunk[], index: number) {
  const message = { content: null as string | null, calls: [] as string[], legacy: "", finish: "" };
  for (const { delta, finish_reason } of all.flatMap((chunk) =>
    chunk.choices.filter((choice) => choice.index === index),
  )) {
    if (typeof delta.content === "string") message.content = (message.content ?? "") + delta.content;
    for (const call of delta.tool_calls ?? []) {
      const piece = call.function ?? (call as unknown as { custom: { name?: string; input?: string } }).custom;
      const text = "input" in piece ? piece.input : (piece as { arguments?: string }).arguments;
      message.calls[call.index] = (message.calls[call.index] ?? `${call.id} ${piece.name} `) + text;
    }
    if (delta.function_call) message.legacy += (delta.function_call.name ?? "") + delta.function_call.arguments;
    if (finish_reason) message.finish += finish_reason;
  }
  return message;
}

function user(content: string, more: JsonObject = {}): JsonObject {
  return { messages: [{ role: "user", content }], ...more };
}

async function said(json: JsonObject): Promise<string> {
  return (await whole(json)).choices[0]?.message.content ?? "";
}

async function refusal(json: JsonObject): Promise<Refusal> {
  return whole(json).then(
    () => Promise.reject(new Error("it was answered")),
    (error) => (error instanceof Refusal ? error : Promise.reject(error)),
  );
}

const weather = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
  },
};
const time = { type: "function", function: { name: "get-time" } };
const shell = { type: "custom", custom: { name: "shell" } };
const tools = [weather, time, shell];

describe("the embedded chat model", () => {
  it("says that it is a simulator, and what it received", async () => {
    const answer = await whole({
      messages: [
        { role: "system", content: "Be kind." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
            { type: "file", file: { file_id: "f" } },
          ],
        },
      ],
    });
    const content =
      "I am the gateway's embedded simulator, not a language model. " +
      'Your last message says: "What is this?". ' +
      "The conversation holds 2 messages, 1 image and 1 file. Its instructions have 8 characters.";
    const prompt = 3 + 1 + 3 + (3 + 1 + 4) + 3 + 2 * 85;
    const completion = encode(content).length;
    expect(answer).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/),
      object: "chat.completion",
      created: 1_790_000_000,
      model: "embedded-chat",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content,
            refusal: null,
          },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      system_fingerprint: "fp_embedded",
    });
  });

  it.each([
    ["say hello there", "hello there"],
    ["Echo: one\ntwo", "one\ntwo"],
    ["  echo a say b", "a say b"],
  ])("after %j repeats just that", async (order, text) => {
    expect(await said(user(order))).toBe(text);
  });

  it("treats text that only starts like a command as text", async () => {
    expect(await said(user("saying things"))).toContain('"saying things"');
    expect(await said(user("say "))).toContain('"say "');
  });

  it("gives the same answer to the same request, and another to another", async () => {
    const first = await send(user("Hello"), "whole");
    const second = await send(user("Hello"), "whole");
    const bytes = (answer: typeof first) => (answer.kind === "whole" ? answer.body.bytes().toString() : "");
    expect(bytes(second)).toBe(bytes(first));
    expect((await whole(user("Hello!"))).id).not.toBe((await whole(user("Hello"))).id);
  });

  it("answers whatever the conversation lacks", async () => {
    for (const messages of [
      [{ role: "user" }],
      [{ role: "user", content: null }],
      [{ role: "user", content: [] }],
      [{ role: "user", content: [{ type: "hologram", beam: 1 }, { type: "text" }] }],
      [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{bad" } }],
        },
      ],
      [{ role: "tool", content: "lost" }],
      [{ role: "function", name: "f", content: "" }],
    ]) {
      expect(await said({ messages })).toMatch(/^I am the gateway's embedded simulator/);
    }
  });

  it("gives as many different answers as requested", async () => {
    const { choices, usage } = await whole(user("echo hi", { n: 3 }));
    expect(choices.map((choice) => choice.index)).toEqual([0, 1, 2]);
    expect(choices.map((choice) => choice.message.content)).toEqual(["hi", "hi (choice 2)", "hi (choice 3)"]);
    expect(usage?.completion_tokens).toBe(
      choices.reduce((sum, choice) => sum + encode(choice.message.content ?? "").length, 0),
    );
  });

  it("ends before a stop text", async () => {
    const answer = await whole(user("say one two three four", { stop: ["four", " three"] }));
    expect(answer.choices[0]).toMatchObject({ message: { content: "one two" }, finish_reason: "stop" });
    expect(await said(user("say one two", { stop: "" }))).toBe("one two");
  });

  it("keeps the output bound, in tokens", async () => {
    const answer = await whole(user("say one two three four", { max_completion_tokens: 2, max_tokens: 3 }));
    expect(answer.choices[0]).toMatchObject({ message: { content: "one two" }, finish_reason: "length" });
    expect(answer.usage?.completion_tokens).toBe(2);
    expect((await whole(user("say one two", { max_tokens: 2 }))).choices[0]?.finish_reason).toBe("stop");
  });

  it("counts the tools as part of the prompt", async () => {
    const bare = (await whole(user("hi"))).usage?.prompt_tokens as number;
    const tooled = (await whole(user("hi", { tools }))).usage?.prompt_tokens as number;
    expect(tooled - bare).toBe(encode(JSON.stringify(tools)).length);
  });

  it("answers in JSON when asked to", async () => {
    const object = JSON.parse(await said(user("echo hi", { response_format: { type: "json_object" } })));
    expect(object).toEqual({ answer: "hi" });
    const schema = { type: "object", properties: { city: { type: "string" }, days: { type: "integer", minimum: 3 } } };
    const json_schema = { name: "plan", schema };
    const filled = await said(
      user("A trip to Oslo please", { response_format: { type: "json_schema", json_schema }, n: 2 }),
    );
    expect(JSON.parse(filled)).toEqual({ city: "Oslo", days: 3 });
  });

  it("refuses an unsatisfiable schema, with its path", async () => {
    const json_schema = { name: "x", schema: { not: {} } };
    const error = await refusal(user("hi", { response_format: { type: "json_schema", json_schema } }));
    expect(error).toMatchObject({ status: 400, param: "response_format.json_schema.schema" });
  });
});

describe("a tool", () => {
  it("is called when the user names it, with valid arguments", async () => {
    const { choices } = await whole(user("How warm is it in Oslo? Use get_weather.", { tools }));
    expect(choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: null, refusal: null } });
    expect(choices[0]?.message.tool_calls).toEqual([
      {
        id: expect.stringMatching(/^call_[0-9a-f]{24}$/),
        type: "function",
        function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
      },
    ]);
  });

  it("is not called when only a part of a word names it, nor when the choice is none", async () => {
    expect(await said(user("my_get_weather and get_weather2", { tools }))).toContain("simulator");
    expect(await said(user("get_weather", { tools, tool_choice: "none" }))).toContain("simulator");
  });

  it("is called with others in the order of their names, or alone", async () => {
    const names = async (more: JsonObject) =>
      (
        await whole(user("use shell, get-time and get_weather", { tools, ...more }))
      ).choices[0]?.message.tool_calls?.map((call) =>
        call.type === "function" ? call.function.name : call.custom.name,
      );
    expect(await names({})).toEqual(["shell", "get-time", "get_weather"]);
    expect(await names({ parallel_tool_calls: false })).toEqual(["shell"]);
  });

  it.each([
    ["required", "get_weather"],
    [{ type: "function", function: { name: "get-time" } }, "get-time"],
    [
      {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "get-time" } }] },
      },
      "get-time",
    ],
  ])("is called by %j", async (tool_choice, name) => {
    const { choices } = await whole(user("hi", { tools, tool_choice }));
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name } }]);
  });

  it("takes free text when it is a custom one", async () => {
    const { choices } = await whole(
      user("list files", { tools, tool_choice: { type: "custom", custom: { name: "shell" } } }),
    );
    expect(choices[0]?.message.tool_calls).toMatchObject([
      { type: "custom", custom: { name: "shell", input: "list files" } },
    ]);
  });

  it("is called in the legacy form, too", async () => {
    const functions = [weather.function];
    const { choices } = await whole(user("get_weather in Oslo", { functions }));
    expect(choices[0]).toMatchObject({
      message: { content: null, function_call: { name: "get_weather", arguments: '{"city":"Oslo"}' } },
      finish_reason: "function_call",
    });
    expect(await said(user("get_weather", { functions, function_call: "none" }))).toContain("simulator");
    const named = await whole(user("hi", { functions, function_call: { name: "get_weather" } }));
    expect(named.choices[0]?.finish_reason).toBe("function_call");
  });

  it("has its results quoted instead of being called again, unless it must be", async () => {
    const messages = [
      { role: "user", content: "get_weather and get-time" },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "a", type: "function", function: { name: "get_weather", arguments: "{}" } },
          { id: "b", type: "function", function: { name: "get-time", arguments: "not json" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "12 degrees" },
      { role: "tool", tool_call_id: "b", content: [{ type: "text", text: "noon" }] },
    ];
    const text = await said({ messages, tools });
    expect(text).toContain("The tool get_weather returned: 12 degrees");
    expect(text).toContain("The tool get-time returned: noon");
    const again = await whole({ messages, tools, tool_choice: "required" });
    expect(again.choices[0]?.finish_reason).toBe("tool_calls");
  });

  it("is cut inside its arguments at the output bound", async () => {
    const cut = async (max_tokens: number) =>
      (await whole(user("get_weather in Oslo", { tools, max_tokens }))).choices[0];
    const name = encode("get_weather").length;
    expect(await cut(name + 2)).toMatchObject({
      message: { tool_calls: [{ function: { arguments: '{"city' } }] },
      finish_reason: "length",
    });
    expect(await cut(1)).toMatchObject({ message: { content: null }, finish_reason: "length" });
  });

  it("that is not given is refused when it is required", async () => {
    const tool_choice = { type: "function", function: { name: "other" } };
    expect(await refusal(user("hi", { tools, tool_choice }))).toMatchObject({ status: 400, param: "tool_choice" });
    expect(await refusal(user("hi", { tool_choice: "required" }))).toMatchObject({ status: 400, param: "tool_choice" });
    const broken = [{ type: "function", function: { name: "f", parameters: { type: "string" } } }];
    const error = await refusal(user("f", { tools: broken }));
    expect(error).toMatchObject({ status: 400, param: "tools[0].function.parameters" });
  });
});

describe("a stream", () => {
  const requests: Record<string, JsonObject> = {
    text: user("Hello 👩‍👩‍👧 日本語, naïve 🤯\u{10348}"),
    "several choices": user("say hi", { n: 3 }),
    "a bound": user("say 👩‍👩‍👧👩‍👩‍👧", { max_tokens: 4 }),
    tools: user("shell, get-time, get_weather for 🤯", { tools, n: 2 }),
    "cut tools": user("shell, get-time, get_weather", { tools, max_tokens: 9 }),
    "a function": user("get_weather in Oslo", { functions: [weather.function] }),
    nothing: user("say abc", { stop: "a" }),
  };
  for (const [name, request] of Object.entries(requests)) {
    it(`joined is the unary answer: ${name}`, async () => {
      const all = await chunks({ ...request, stream: true, stream_options: { include_usage: true } });
      const answer = await whole(request);
      for (const choice of answer.choices) {
        const { message, finish_reason } = choice;
        const calls = (message.tool_calls ?? []).map((call) =>
          call.type === "function"
            ? `${call.id} ${call.function.name} ${call.function.arguments}`
            : `${call.id} ${call.custom.name} ${call.custom.input}`,
        );
        const legacy = message.function_call ? message.function_call.name + message.function_call.arguments : "";
        expect(joined(all, choice.index)).toEqual({ content: message.content, calls, legacy, finish: finish_reason });
      }
      expect(all.at(-1)).toMatchObject({ choices: [], usage: answer.usage });
      for (const chunk of all)
        expect(chunk).toMatchObject({ id: answer.id, created: answer.created, model: answer.model });
      expect(JSON.stringify(all)).not.toContain("\ufffd");
    });
  }

  it("comes a token at a time, role first and finish reason last", async () => {
    const all = await chunks(user("say one two three"));
    expect(all.map((chunk) => chunk.choices[0])).toEqual([
      { index: 0, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null },
      { index: 0, delta: { content: "one" }, logprobs: null, finish_reason: null },
      { index: 0, delta: { content: " two" }, logprobs: null, finish_reason: null },
      { index: 0, delta: { content: " three" }, logprobs: null, finish_reason: null },
      { index: 0, delta: {}, logprobs: null, finish_reason: "stop" },
    ]);
  });

  it("names a tool in its first delta only", async () => {
    const all = await chunks(user("get_weather in Oslo", { tools }));
    const deltas = all.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
    expect(deltas[0]).toEqual({ role: "assistant", content: null });
    expect(deltas[1]).toEqual({
      tool_calls: [
        { index: 0, id: expect.any(String), type: "function", function: { name: "get_weather", arguments: "" } },
      ],
    });
    expect(deltas[2]).toEqual({ tool_calls: [{ index: 0, function: { arguments: '{"' } }] });
  });

  it("has usage only when requested, and then null in all chunks but the last", async () => {
    const silent = await chunks(user("say hi"));
    expect(silent.some((chunk) => "usage" in chunk)).toBe(false);
    expect(silent.every((chunk) => chunk.choices.length === 1)).toBe(true);
    const telling = await chunks(user("say hi", { stream_options: { include_usage: true } }));
    expect(telling.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  });
});

describe("the count of tokens", () => {
  it("is that of the output, whatever the output and its bound", async () => {
    const texts = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 60 }),
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.lorem(),
    );
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 30 }), async (text, max_tokens) => {
        const { choices, usage } = await whole(user(`say x${text.toWellFormed()}`, { max_tokens }));
        const content = choices[0]?.message.content ?? "";
        expect(usage?.completion_tokens).toBe(encode(content, { disallowedSpecial: new Set() }).length);
        expect(usage?.completion_tokens).toBeLessThanOrEqual(max_tokens);
        expect(`x${text.toWellFormed()}`.startsWith(content)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("treats special tokens in a text as text", async () => {
    expect(await said(user("say <|endoftext|><|im_start|>"))).toBe("<|endoftext|><|im_start|>");
  });

  it("takes time proportional to the text, and yields to other work", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 5);
    const cpuMs = await cpuMsOf(async () => {
      const { usage } = await whole(user("a".repeat(400_000) + " ".repeat(400_000) + "日".repeat(100_000)));
      expect(usage?.prompt_tokens).toBeGreaterThan(80_000);
    });
    clearInterval(timer);
    // It would be minutes if it grew with the square.
    expect(cpuMs).toBeLessThan(10_000);
    expect(turns).toBeGreaterThan(2);
  });
});
