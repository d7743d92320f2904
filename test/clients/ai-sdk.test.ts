/**
 * The AI SDK with its Anthropic and OpenAI providers, unmodified: only base URL and key are set. Over the embedded
 * model, and over upstreams of the provider's own family and of the other.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import {
  APICallError,
  cosineSimilarity,
  embed,
  embedMany,
  generateObject,
  generateText,
  isStepCount,
  type LanguageModelUsage,
  Output,
  RetryError,
  streamText,
  tool,
} from "ai";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Config } from "../../src/config/config.ts";
import { nearAndFar } from "../support/clients/near-and-far.ts";
import { oneTry, pixel, sentence, thrownBy } from "../support/clients/sdk.ts";
import { anthropicUpstreamAt, startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";

/** The SDK warns of every model whose name it does not know. */
globalThis.AI_SDK_LOG_WARNINGS = false;

const gateways = nearAndFar();

type At = Pick<TestGateway, "baseUrl" | "apiKey">;
const messagesModel = ({ baseUrl: baseURL, apiKey }: At, id = "embedded-chat") =>
  createAnthropic({ baseURL, apiKey })(id);
const chatModel = ({ baseUrl: baseURL, apiKey }: At, id = "embedded-chat") =>
  createOpenAI({ baseURL, apiKey }).chat(id);

/** A picture of one pixel. */
const picture = Buffer.from(pixel, "base64");

const Recipe = z.object({
  title: z.string(),
  minutes: z.number().int(),
  vegan: z.boolean(),
  difficulty: z.enum(["easy", "hard"]),
  steps: z.array(z.object({ text: z.string(), tool: z.string().nullable() })),
});

const weather = tool({
  description: "Tells the weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, degrees: 4 }),
});
const time = tool({
  inputSchema: z.object({ zone: z.enum(["UTC", "CET"]), seconds: z.boolean() }),
  execute: async ({ zone }) => `noon ${zone}`,
});
const tools = { get_weather: weather, get_time: time };

/** The counts add up, and none is below zero. */
function expectSound({ inputTokens = -1, inputTokenDetails, outputTokens = -1, totalTokens }: LanguageModelUsage) {
  const { noCacheTokens = -1, cacheReadTokens = 0, cacheWriteTokens = 0 } = inputTokenDetails;
  for (const count of [noCacheTokens, cacheReadTokens, cacheWriteTokens]) expect(count).toBeGreaterThanOrEqual(0);
  expect(inputTokens).toBeGreaterThan(0);
  expect(outputTokens).toBeGreaterThan(0);
  expect(noCacheTokens + cacheReadTokens + cacheWriteTokens).toBe(inputTokens);
  expect(totalTokens).toBe(inputTokens + outputTokens);
}

/** Returns the error that the SDK throws for a call. */
const refused = (work: PromiseLike<unknown>) =>
  thrownBy(work, (error): error is APICallError => APICallError.isInstance(error));

for (const [provider, modelAt] of [
  ["Anthropic", messagesModel],
  ["OpenAI", chatModel],
] as const) {
  for (const [place, gatewayAt] of [
    ["the embedded model", () => gateways.near],
    ["an upstream of Anthropic's family", () => gateways.overMessages],
    ["an upstream of OpenAI's family", () => gateways.overChat],
  ] as const) {
    describe(`the AI SDK's ${provider} provider over ${place}`, () => {
      let model: ReturnType<typeof modelAt>;

      beforeAll(() => {
        model = modelAt(gatewayAt());
      });

      test("gets a whole answer, with counts that add up", async () => {
        const { text, finishReason, usage, response } = await generateText({
          model,
          prompt: `say: ${sentence}`,
        });
        expect([text, finishReason]).toEqual([sentence, "stop"]);
        expectSound(usage);
        expect(response).toMatchObject({ id: expect.stringMatching(/^(msg_|chatcmpl-)/), modelId: "embedded-chat" });
      });

      test("gets the same answer in pieces, with the same counts", async () => {
        const whole = await generateText({ model, prompt: `say: ${sentence}` });
        const stream = streamText({ model, prompt: `say: ${sentence}` });
        const pieces = await Array.fromAsync(stream.textStream);
        expect(pieces.length).toBeGreaterThan(8);
        expect(pieces.join("")).toBe(sentence);
        expect(await stream.finishReason).toBe("stop");
        const { inputTokens, inputTokenDetails, outputTokens } = await stream.usage;
        expect({ inputTokens, inputTokenDetails, outputTokens }).toEqual({
          inputTokens: whole.usage.inputTokens,
          inputTokenDetails: whole.usage.inputTokenDetails,
          outputTokens: whole.usage.outputTokens,
        });
        expectSound(await stream.usage);
      });

      test("is cut at its bound and stopped at its texts", async () => {
        const cut = await generateText({ model, prompt: `say: ${sentence}`, maxOutputTokens: 3 });
        expect([cut.text, cut.finishReason, cut.usage.outputTokens]).toEqual(["The quick brown", "length", 3]);
        const stopped = await generateText({ model, prompt: "say: one two three", stopSequences: [" three"] });
        expect([stopped.text, stopped.finishReason]).toEqual(["one two", "stop"]);
      });

      test("sends instructions, a conversation, and pictures by bytes and by address", async () => {
        const { text } = await generateText({
          model,
          instructions: "Be brief.",
          messages: [
            { role: "user", content: "Hello" },
            { role: "assistant", content: "Hello to you" },
            {
              role: "user",
              content: [
                { type: "text", text: "What is in these pictures?" },
                { type: "file", data: picture, mediaType: "image/png" },
                { type: "file", data: new URL("https://example.com/a.png"), mediaType: "image/png" },
              ],
            },
          ],
        });
        expect(text).toContain("What is in these pictures?");
        expect(text).toContain("4 messages and 2 images");
        expect(text).toContain("9 characters");
      });

      test("sends a document", async () => {
        const { text } = await generateText({
          model,
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: "Sum it up" },
                { type: "file", data: Buffer.from("%PDF-1.4"), mediaType: "application/pdf", filename: "a.pdf" },
              ],
            },
          ],
        });
        expect(text).toContain("1 message and 1 file");
      });

      test("runs tools step by step, and tells their results", async () => {
        const { text, steps, totalUsage } = await generateText({
          ...{ model, tools, stopWhen: isStepCount(5) },
          prompt: "Use get_weather: how warm is it in Oslo?",
        });
        expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
        expect(steps[0]?.toolCalls).toMatchObject([{ toolName: "get_weather", input: { city: "Oslo" } }]);
        expect(text).toContain('The tool get_weather returned: {"city":"Oslo","degrees":4}');
        for (const { usage } of steps) expectSound(usage);
        const counts = steps.map(({ usage }) => usage.inputTokens ?? 0);
        expect(totalUsage.inputTokens).toBe(counts.reduce((sum, count) => sum + count, 0));
      });

      test("runs several tools at once, streamed", async () => {
        const stream = streamText({
          ...{ model, tools, stopWhen: isStepCount(5) },
          prompt: "Call get_time and then get_weather for Oslo",
        });
        const text = (await Array.fromAsync(stream.textStream)).join("");
        const [first] = await stream.steps;
        expect(first?.toolCalls.map(({ toolName }) => toolName)).toEqual(["get_time", "get_weather"]);
        expect(text).toContain("The tool get_time returned: noon UTC");
        expect(text).toContain('The tool get_weather returned: {"city":"Oslo","degrees":4}');
        expect(await stream.finishReason).toBe("stop");
      });

      test("gives a tool's picture back, which the model sees where the provider sends it", async () => {
        const radar = tool({
          inputSchema: z.object({ city: z.string() }),
          execute: async () => pixel,
          toModelOutput: ({ output }) => ({
            type: "content",
            value: [
              { type: "text", text: "The radar" },
              { type: "file", data: { type: "data", data: output }, mediaType: "image/png" },
            ],
          }),
        });
        const { text, steps } = await generateText({
          ...{ model, tools: { radar }, stopWhen: isStepCount(5) },
          prompt: "Use radar for Oslo",
        });
        expect(steps.length).toBe(2);
        expect(text).toContain(provider === "Anthropic" ? "1 image" : "The radar");
      });

      test("demands, names and forbids tools", async () => {
        const called = async (toolChoice: "auto" | "none" | "required" | { type: "tool"; toolName: "get_time" }) =>
          (await generateText({ model, tools, toolChoice, prompt: "say: hello" })).toolCalls.map(
            ({ toolName }) => toolName,
          );
        expect(await called("auto")).toEqual([]);
        expect(await called("none")).toEqual([]);
        expect(await called("required")).toEqual(["get_weather"]);
        expect(await called({ type: "tool", toolName: "get_time" })).toEqual(["get_time"]);
      });

      test("gets an object of its schema, whole and as it comes", async () => {
        const request = {
          model,
          prompt: 'A recipe for "Pancakes", please.',
          output: Output.object({ schema: Recipe }),
        };
        const { output } = await generateText(request);
        expect(Recipe.parse(output)).toEqual(output);
        expect(output.title).toBe("Pancakes");
        const stream = streamText(request);
        const partial = await Array.fromAsync(stream.partialOutputStream);
        expect(partial.at(-1)).toEqual(output);
        expect(await stream.output).toEqual(output);
      });

      test("gets an object by the function that is named so", async () => {
        const { object, finishReason } = await generateObject({
          ...{ model, schema: Recipe },
          prompt: 'A recipe for "Pancakes", please.',
        });
        expect([Recipe.parse(object).title, finishReason]).toEqual(["Pancakes", "stop"]);
      });

      test("is told of a wrong key, once", async () => {
        const error = await refused(
          generateText({ model: modelAt({ ...gatewayAt(), apiKey: "sk-wrong" }), prompt: "hi" }),
        );
        expect(error).toMatchObject({ statusCode: 401, isRetryable: false });
        expect(error.message).toContain("Incorrect API key provided");
      });

      test("is told of an unknown model in words that its own tests look for", async () => {
        const unknown = modelAt(gatewayAt(), "vendor/nothing:latest");
        const error = await refused(generateText({ model: unknown, prompt: "hi" }));
        expect(error).toMatchObject({ statusCode: 404, isRetryable: false });
        expect(error.message).toMatch(/model: vendor\/nothing:latest|The model .* does not exist/);
        const onError = vi.fn();
        const stream = streamText({ model: unknown, prompt: "hi", onError });
        await Array.fromAsync(stream.fullStream);
        expect(onError.mock.calls[0]?.[0].error).toMatchObject({ statusCode: 404 });
      });
    });
  }
}

describe("the AI SDK's embeddings", () => {
  for (const [place, gatewayAt] of [
    ["the embedded model", () => gateways.near],
    ["another gateway as upstream", () => gateways.overChat],
  ] as const) {
    test(`come one and many over ${place}, near for near texts`, async () => {
      const { baseUrl: baseURL, apiKey } = gatewayAt();
      const model = createOpenAI({ baseURL, apiKey }).embedding("embedded-embedding");
      const values = ["The cat sat on the mat.", "A cat sits on a mat.", "Quarterly revenue grew."];
      const { embeddings, usage } = await embedMany({ model, values });
      const [a = [], b = [], c = []] = embeddings;
      expect(cosineSimilarity(a, b)).toBeGreaterThan(cosineSimilarity(a, c));
      expect(usage.tokens).toBeGreaterThan(10);
      const one = await embed({ model, value: values[0] ?? "" });
      expect(one.embedding).toEqual(a);
      expect(one.usage.tokens).toBeGreaterThan(3);
      const short = await embed({ model, value: "short", providerOptions: { openai: { dimensions: 64 } } });
      expect(short.embedding.length).toBe(64);
    });
  }
});

describe("the AI SDK over an upstream that tells of cached tokens", () => {
  const completion = {
    ...{ id: "c", object: "chat.completion", created: 1, model: "m" },
    choices: [{ index: 0, message: { role: "assistant", content: "hi", refusal: null }, finish_reason: "stop" }],
    usage: { prompt_tokens: 31, completion_tokens: 5, total_tokens: 36, prompt_tokens_details: { cached_tokens: 13 } },
  };
  const message = {
    ...{ id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "end_turn", stop_sequence: null },
    content: [{ type: "text", text: "hi" }],
    usage: {
      ...{ input_tokens: 7, cache_creation_input_tokens: 11, cache_read_input_tokens: 13, output_tokens: 5 },
      output_tokens_details: { thinking_tokens: 2 },
    },
  };

  for (const [provider, modelAt] of [
    ["Anthropic", messagesModel],
    ["OpenAI", chatModel],
  ] as const) {
    test(`counts each token once by the ${provider} provider, whichever family the upstream is of`, async () => {
      const upstream = await startScriptedUpstream();
      upstream.script = ({ path, json }) => json(200, path.endsWith("/messages") ? message : completion);
      for (const [config, fresh, written] of [
        [upstreamAt(upstream.baseUrl), 18, 0],
        [anthropicUpstreamAt(upstream.baseUrl), 7, 11],
      ] as const) {
        const gateway = await startTestGateway(config);
        const { usage } = await generateText({ model: modelAt(gateway), prompt: "hi" });
        expectSound(usage);
        expect([usage.inputTokens, usage.outputTokens]).toEqual([31, 5]);
        const { noCacheTokens, cacheReadTokens, cacheWriteTokens = 0 } = usage.inputTokenDetails;
        expect([noCacheTokens, cacheReadTokens, cacheWriteTokens]).toEqual([fresh, 13, written]);
        await gateway.close();
      }
      await upstream.close();
    });
  }
});

function thatReasons(config: Partial<Config>): Partial<Config> {
  return { ...config, models: config.models?.map((model) => ({ ...model, reasoning: true })) ?? [] };
}

describe("the AI SDK's Anthropic provider over a model that thinks", () => {
  const thinking = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } as const;
  const request = { tools, stopWhen: isStepCount(2), providerOptions: thinking, prompt: "How warm is it in Oslo?" };

  test("gets the vendor's thinking, and gives it back with its signature to the letter", async () => {
    const upstream = await startScriptedUpstream();
    const gateway = await startTestGateway(anthropicUpstreamAt(upstream.baseUrl));
    const head = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null };
    const thought = { type: "thinking", thinking: "I had better ask.", signature: "c2ln+/bmF0dXJl==" };
    const call = { type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Oslo" } };
    const usage = { input_tokens: 5, output_tokens: 5 };
    const answering = generateText({ model: messagesModel(gateway), ...request });
    const first = await upstream.next();
    expect(JSON.parse(first.body.toString()).thinking).toEqual({ type: "enabled", budget_tokens: 1024 });
    first.json(200, { ...head, content: [thought, call], stop_reason: "tool_use", usage });
    const second = await upstream.next();
    const { messages } = JSON.parse(second.body.toString());
    expect(messages[1]).toMatchObject({ role: "assistant", content: [thought, call] });
    second.json(200, { ...head, content: [{ type: "text", text: "Cold." }], stop_reason: "end_turn", usage });
    const { text, steps } = await answering;
    expect([text, steps[0]?.reasoningText]).toEqual(["Cold.", thought.thinking]);
    await gateway.close();
    await upstream.close();
  });

  test("gets the reasoning of a model of the other family, and may go on after it", async () => {
    const upstream = await startScriptedUpstream();
    const gateway = await startTestGateway(thatReasons(upstreamAt(upstream.baseUrl)));
    const head = { id: "c", object: "chat.completion", created: 1, model: "m" };
    const call = { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } };
    const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
    const answering = generateText({ model: messagesModel(gateway), ...request });
    const first = await upstream.next();
    expect(JSON.parse(first.body.toString())).toMatchObject({ reasoning_effort: "low" });
    const called = { role: "assistant", content: null, reasoning_content: "I had better ask.", tool_calls: [call] };
    first.json(200, { ...head, choices: [{ index: 0, message: called, finish_reason: "tool_calls" }], usage });
    const second = await upstream.next();
    const { messages } = JSON.parse(second.body.toString());
    expect(messages[1]).toMatchObject({ role: "assistant", tool_calls: [call] });
    expect(messages[2]).toMatchObject({ role: "tool", tool_call_id: "call_1" });
    const said = { role: "assistant", content: "Cold." };
    second.json(200, { ...head, choices: [{ index: 0, message: said, finish_reason: "stop" }], usage });
    const { text, steps } = await answering;
    expect([text, steps[0]?.reasoningText]).toEqual(["Cold.", "I had better ask."]);
    await gateway.close();
    await upstream.close();
  });

  test.for([false, true])(
    "sends reasoning that nobody has signed back by responses that are not kept, streamed: %s",
    async (isStreamed) => {
      const asked: unknown[] = [];
      const call = { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } };
      const called = { role: "assistant", content: null, reasoning_content: "I had better ask.", tool_calls: [call] };
      const upstream = await startScriptedUpstream((exchange) => {
        asked.push(exchange.asked.messages);
        const message = asked.length === 1 ? called : { role: "assistant", content: "Cold." };
        const choice = { index: 0, finish_reason: asked.length === 1 ? "tool_calls" : "stop" };
        const head = {
          id: "c",
          created: 1,
          model: "m",
          usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
        };
        const { tool_calls: calls, ...said } = message as typeof called;
        const delta = calls ? { ...said, tool_calls: [{ index: 0, ...call }] } : said;
        if (isStreamed) exchange.stream({ ...head, object: "chat.completion.chunk", choices: [{ ...choice, delta }] });
        else exchange.json(200, { ...head, object: "chat.completion", choices: [{ ...choice, message }] });
      });
      const gateway = await startTestGateway(upstreamAt(upstream.baseUrl));
      const model = createOpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey }).responses("embedded-chat");
      const openai = { store: false, include: ["reasoning.encrypted_content" as const] };
      const asking = { ...request, model, providerOptions: { openai } };
      const steps = isStreamed ? await streamText(asking).steps : (await generateText(asking)).steps;
      expect([steps[0]?.reasoningText, steps[1]?.text]).toEqual(["I had better ask.", "Cold."]);
      expect(asked[1]).toContainEqual(called);
      await gateway.close();
      await upstream.close();
    },
  );

  test("asks a model whose name it takes for the vendor's for more than that can say, and is answered", async () => {
    const targets = [{ upstream: "embedded", model: "embedded-chat", priority: 0, weight: 1 }];
    const id = "claude-of-tomorrow";
    const gateway = await startTestGateway({
      models: [{ id, aliases: [], family: "claude", kind: "chat", max_output_tokens: 8192, targets }],
    });
    const model = messagesModel(gateway, id);
    expect((await generateText({ model, prompt: "say: hello" })).text).toBe("hello");
    expect((await generateText({ ...request, model })).text).toContain("How warm is it in Oslo?");
    await gateway.close();
  });
});

for (const [provider, modelAt] of [
  ["Anthropic", messagesModel],
  ["OpenAI", chatModel],
] as const) {
  for (const [family, configAt] of [
    ["Anthropic's", anthropicUpstreamAt],
    ["OpenAI's", upstreamAt],
  ] as const) {
    describe(`the AI SDK's ${provider} provider over a troubled upstream of ${family} family`, () => {
      let upstream: ScriptedUpstream;
      let gateway: TestGateway;
      let model: ReturnType<typeof modelAt>;

      beforeAll(async () => {
        upstream = await startScriptedUpstream();
        gateway = await startTestGateway({ ...configAt(upstream.baseUrl), disconnectDrainMs: 100 });
        model = modelAt(gateway);
      });

      afterAll(async () => {
        await gateway.close();
        await upstream.close();
      });

      const problem = (type: string, message: string) =>
        family === "OpenAI's"
          ? { error: { message, type, param: null, code: null } }
          : { type: "error", error: { type, message }, request_id: "req_1" };
      const begun =
        family === "OpenAI's"
          ? 'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Half"},"finish_reason":null}]}\n\n'
          : [
              'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":0}}}\n\n',
              'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
              'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half"}}\n\n',
            ].join("");

      test("is told what the upstream refuses in its words, with the status that they stand for", async () => {
        for (const [status, type, retryable] of [
          [400, "invalid_request_error", false],
          [429, "rate_limit_error", true],
          [503, "overloaded_error", true],
        ] as const) {
          const failing = refused(generateText({ model, prompt: "hi", ...oneTry }));
          (await upstream.next()).json(status, problem(type, `Words of ${type}`));
          const error = await failing;
          expect(error.message).toBe(`Words of ${type}`);
          expect(error.isRetryable).toBe(retryable);
          expect(error.statusCode).toBe(status === 503 && provider === "Anthropic" ? 529 : status);
        }
      });

      test("tries again when it may, after the time that the upstream tells", async () => {
        const answering = generateText({ model, prompt: "hi", maxRetries: 1 });
        const failing = answering.then(
          () => expect.fail("it was answered"),
          (error: unknown) => error,
        );
        const begin = performance.now();
        (await upstream.next()).json(429, problem("rate_limit_error", "Slow down"), { "retry-after": "1" });
        (await upstream.next()).json(429, problem("rate_limit_error", "Slow down"), { "retry-after": "1" });
        expect(performance.now() - begin).toBeGreaterThan(990);
        expect(await failing).toSatisfy(RetryError.isInstance);
      });

      test("gets an error in the stream, after the pieces before it, and never a good end", async () => {
        for (const rest of ["", "error"]) {
          const errors: unknown[] = [];
          const stream = streamText({
            model,
            prompt: "hi",
            ...oneTry,
            onError: ({ error }) => void errors.push(error),
          });
          const reading = Array.fromAsync(stream.fullStream);
          const exchange = await upstream.next();
          exchange.head(200, eventStream);
          const failure = `event: error\ndata: ${JSON.stringify(problem("overloaded_error", "Overloaded"))}\n\n`;
          exchange.end(begun + (rest === "" ? "" : failure));
          const parts = await reading;
          const text = parts.map((part) => (part.type === "text-delta" ? part.text : "")).join("");
          expect(text).toBe("Half");
          expect(errors.length).toBeGreaterThan(0);
          expect(parts.findLast((part) => part.type === "finish")).not.toMatchObject({ finishReason: "stop" });
        }
      });

      test("leaves, and the upstream's connection goes with it", async () => {
        const leaving = new AbortController();
        const call = generateText({ model, prompt: "hi", abortSignal: leaving.signal });
        const failing = call.then(
          () => expect.fail("it was answered"),
          (error: Error) => error.name,
        );
        const exchange = await upstream.next();
        leaving.abort();
        expect(await failing).toBe("AbortError");
        await exchange.left;
      });

      test("leaves in the middle of a stream, and the upstream's connection goes with it", async () => {
        const leaving = new AbortController();
        const stream = streamText({ model, prompt: "hi", abortSignal: leaving.signal });
        const exchange = upstream.next().then(async (exchange) => {
          exchange.head(200, eventStream);
          await exchange.write(begun);
          return exchange;
        });
        const types: string[] = [];
        for await (const { type } of stream.fullStream) {
          types.push(type);
          if (type === "text-delta") leaving.abort();
        }
        expect(types.at(-1)).toBe("abort");
        await (await exchange).left;
      });
    });
  }
}
