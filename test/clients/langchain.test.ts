/**
 * LangChain with its OpenAI and Anthropic packages, unmodified: only base URL and key are set. Over the embedded models,
 * and over upstreams of the package's own family and of the other.
 */
import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, HumanMessage, SystemMessage, type ToolMessage, type UsageMetadata } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { nearAndFar } from "../support/clients/near-and-far.ts";
import { pixel, sentence } from "../support/clients/sdk.ts";
import { anthropicUpstreamAt, startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { eventStream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { helloChunks, usageChunk } from "../support/vendors.ts";

const gateways = nearAndFar();

interface At extends Pick<TestGateway, "rootUrl" | "baseUrl" | "apiKey"> {}
interface Options {
  readonly model?: string;
  readonly maxTokens?: number;
}

const openAi = ({ baseUrl: baseURL, apiKey }: At, { model = "embedded-chat", maxTokens }: Options = {}) =>
  new ChatOpenAI({
    ...{ model, apiKey, configuration: { baseURL }, maxRetries: 0 },
    ...(maxTokens === undefined ? {} : { maxTokens }),
  });
const anthropic = ({ rootUrl, apiKey }: At, { model = "embedded-chat", maxTokens }: Options = {}) =>
  new ChatAnthropic({
    ...{ model, apiKey, anthropicApiUrl: rootUrl, maxRetries: 0 },
    ...(maxTokens === undefined ? {} : { maxTokens }),
  });

const weather = tool(async ({ city }) => `4 degrees in ${city}`, {
  name: "get_weather",
  description: "Tells the weather of a city.",
  schema: z.object({ city: z.string() }),
});
const time = tool(async ({ zone }) => `noon ${zone}`, {
  name: "get_time",
  description: "Tells the time in a zone.",
  schema: z.object({ zone: z.enum(["UTC", "CET"]), seconds: z.boolean() }),
});

const Recipe = z.object({
  title: z.string(),
  minutes: z.number().int(),
  vegan: z.boolean(),
  steps: z.array(z.object({ text: z.string(), tool: z.string().nullable() })),
});

interface Counted {
  readonly usage_metadata?: UsageMetadata | undefined;
}

/** The counts add up, and none is below zero. */
function expectSound({ usage_metadata: usage }: Counted): UsageMetadata {
  if (!usage) return expect.fail("no usage");
  expect(usage.input_tokens).toBeGreaterThan(0);
  expect(usage.output_tokens).toBeGreaterThan(0);
  expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
  for (const count of Object.values(usage.input_token_details ?? {})) expect(count ?? 0).toBeGreaterThanOrEqual(0);
  return usage;
}

for (const [packageName, modelAt] of [
  ["OpenAI", openAi],
  ["Anthropic", anthropic],
] as const) {
  for (const [place, gatewayAt] of [
    ["the embedded model", () => gateways.near],
    ["an upstream of Anthropic's family", () => gateways.overMessages],
    ["an upstream of OpenAI's family", () => gateways.overChat],
  ] as const) {
    describe(`LangChain's chat model for ${packageName} over ${place}`, () => {
      let model: ReturnType<typeof modelAt>;

      beforeAll(() => {
        model = modelAt(gatewayAt());
      });

      test("is invoked, and counts tokens", async () => {
        const answer = await model.invoke(`say: ${sentence}`);
        expect(answer.text).toBe(sentence);
        expectSound(answer);
      });

      test("streams to the same answer and the same counts", async () => {
        const whole = expectSound(await model.invoke(`say: ${sentence}`));
        const pieces = await Array.fromAsync(await model.stream(`say: ${sentence}`));
        expect(pieces.length).toBeGreaterThan(8);
        const final = pieces.reduce((sum, piece) => sum.concat(piece));
        expect(final.text).toBe(sentence);
        const counts = expectSound(final);
        expect(counts.output_tokens).toBe(whole.output_tokens);
        // The Anthropic package reads the input's count from the first event only, where a translated stream has an
        // estimate.
        if (packageName === "OpenAI") expect(counts.input_tokens).toBe(whole.input_tokens);
        else expect(Math.abs(counts.input_tokens / whole.input_tokens - 1)).toBeLessThan(0.25);
      });

      test("is cut at its bound", async () => {
        const answer = await modelAt(gatewayAt(), { maxTokens: 3 }).invoke(`say: ${sentence}`);
        expect(answer.text).toBe("The quick brown");
        expect(answer.response_metadata).toMatchObject(
          packageName === "OpenAI" ? { finish_reason: "length" } : { stop_reason: "max_tokens" },
        );
      });

      test("sends instructions, a conversation and pictures", async () => {
        const answer = await model.invoke([
          new SystemMessage("Be brief."),
          new HumanMessage("Hello"),
          new AIMessage("Hello to you"),
          new HumanMessage({
            content: [
              { type: "text", text: "What is in this picture?" },
              { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
            ],
          }),
        ]);
        expect(answer.text).toContain("What is in this picture?");
        expect(answer.text).toContain("4 messages and 1 image");
        expect(answer.text).toContain("9 characters");
      });

      test("calls tools step by step", async () => {
        const bound = model.bindTools([weather, time]);
        const question = new HumanMessage("Call get_time and then get_weather for Oslo");
        const called = await bound.invoke([question]);
        expect(called.tool_calls).toMatchObject([
          { name: "get_time", args: { zone: "UTC", seconds: expect.any(Boolean) } },
          { name: "get_weather", args: { city: "Oslo" } },
        ]);
        const results: ToolMessage[] = [];
        for (const call of called.tool_calls ?? []) {
          const toolCall = { ...call, type: "tool_call" } as const;
          results.push(await (call.name === "get_time" ? time.invoke(toolCall) : weather.invoke(toolCall)));
        }
        const answer = await bound.invoke([question, called, ...results]);
        expect(answer.text).toContain("The tool get_time returned: noon UTC");
        expect(answer.text).toContain("The tool get_weather returned: 4 degrees in Oslo");
        expect(answer.tool_calls).toEqual([]);
      });

      test("calls tools on a stream", async () => {
        const bound = model.bindTools([weather, time]);
        const pieces = await Array.fromAsync(await bound.stream("Call get_time and then get_weather for Oslo"));
        const final = pieces.reduce((sum, piece) => sum.concat(piece));
        expect(final.tool_calls).toMatchObject([
          { name: "get_time", args: { zone: "UTC", seconds: expect.any(Boolean) } },
          { name: "get_weather", args: { city: "Oslo" } },
        ]);
      });

      test("is made to call a tool, by demand and by name", async () => {
        const any = await model.bindTools([weather, time], { tool_choice: "any" }).invoke("say: Oslo");
        expect(any.tool_calls?.map(({ name }) => name)).toEqual(["get_weather"]);
        const named = await model.bindTools([weather, time], { tool_choice: "get_time" }).invoke("say: Oslo");
        expect(named.tool_calls?.map(({ name }) => name)).toEqual(["get_time"]);
      });

      for (const method of ["jsonSchema", "functionCalling"] as const) {
        test(`fills a schema by ${method}`, async () => {
          const structured = model.withStructuredOutput(Recipe, { method, name: "recipe" });
          const recipe = await structured.invoke('A recipe for "Pancakes", please.');
          expect(Recipe.parse(recipe)).toEqual(recipe);
          expect(recipe.title).toBe("Pancakes");
        });
      }

      test("is told of a wrong key and of an unknown model", async () => {
        const wrong = modelAt({ ...gatewayAt(), apiKey: "sk-wrong" }).invoke("hi");
        await expect(wrong).rejects.toMatchObject({ status: 401, lc_error_code: "MODEL_AUTHENTICATION" });
        const unknown = modelAt(gatewayAt(), { model: "vendor/nothing:latest" }).invoke("hi");
        await expect(unknown).rejects.toMatchObject({ status: 404, lc_error_code: "MODEL_NOT_FOUND" });
      });

      test("leaves in the middle of a stream", async () => {
        const leaving = new AbortController();
        const stream = await model.stream(`say: ${"tick ".repeat(500)}`, { signal: leaving.signal });
        const reading = (async () => {
          for await (const _ of stream) leaving.abort();
        })();
        await expect(reading).rejects.toThrow(/abort/i);
      });
    });
  }
}

for (const [place, gatewayAt] of [
  ["the embedded models", () => gateways.near],
  ["another gateway as upstream", () => gateways.overChat],
] as const) {
  describe(`LangChain's other models over ${place}`, () => {
    test("embed documents in their order, and a question alike", async () => {
      const { baseUrl: baseURL, apiKey } = gatewayAt();
      const embeddings = new OpenAIEmbeddings({ model: "embedded-embedding", apiKey, configuration: { baseURL } });
      const documents = Array.from({ length: 20 }, (_, i) => `Document ${i} tells of thing number ${i}.`);
      const vectors = await embeddings.embedDocuments(documents);
      expect(vectors.length).toBe(20);
      expect(await embeddings.embedQuery(documents[7] ?? "")).toEqual(vectors[7]);
    });

    test("embed in as many dimensions as asked for, by default and by numbers", async () => {
      const { baseUrl: baseURL, apiKey } = gatewayAt();
      const lengths = [];
      for (const format of [{}, { encodingFormat: "float" as const }]) {
        const options = { model: "embedded-embedding", dimensions: 64, ...format };
        const embeddings = new OpenAIEmbeddings({ ...options, apiKey, configuration: { baseURL } });
        lengths.push((await embeddings.embedQuery("short")).length);
      }
      expect(lengths).toEqual([64, 64]);
    });

    test("go on with texts, one after another and streamed", async () => {
      const { baseUrl: baseURL, apiKey } = gatewayAt();
      const model = new OpenAI({
        ...{ model: "embedded-chat", batchSize: 1 },
        apiKey,
        configuration: { baseURL },
        maxRetries: 0,
      });
      expect(await model.invoke("say: one two three")).toBe("one two three");
      expect(await model.invoke("say: one two three", { stop: [" three"] })).toBe("one two");
      const { generations } = await model.generate(["say: a", "say: b"]);
      expect(generations.map(([generation]) => generation?.text)).toEqual(["a", "b"]);
      const pieces = await Array.fromAsync(await model.stream("say: one two three"));
      expect(pieces.join("")).toBe("one two three");
      expect(pieces.length).toBeGreaterThan(2);
    });
  });
}

describe("LangChain's chat model for Anthropic over an upstream that tells the input's count at the end", () => {
  test("has an estimate of it on a stream, and adds nothing to it", async () => {
    const upstream = await startScriptedUpstream((exchange) => exchange.stream(...helloChunks, usageChunk()));
    const gateway = await startTestGateway(upstreamAt(upstream.baseUrl));
    const pieces = await Array.fromAsync(await anthropic(gateway).stream("x".repeat(4000)));
    const counts = expectSound(pieces.reduce((sum, piece) => sum.concat(piece)));
    // 3 to prime the answer, 4 for the message, and a token for four bytes.
    expect(counts).toMatchObject({ input_tokens: 1007, output_tokens: 2 });
    await gateway.close();
    await upstream.close();
  });
});

describe("LangChain's chat model for Anthropic over an upstream that tells the input's count at once", () => {
  test("has it on a stream, cached tokens among it", async () => {
    const usage = { input_tokens: 7, cache_creation_input_tokens: 11, cache_read_input_tokens: 13, output_tokens: 0 };
    const head = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null };
    const events = [
      { type: "message_start", message: { ...head, stop_sequence: null, usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ];
    const upstream = await startScriptedUpstream((exchange) => {
      exchange.head(200, eventStream);
      exchange.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
    });
    const gateway = await startTestGateway(anthropicUpstreamAt(upstream.baseUrl));
    const pieces = await Array.fromAsync(await anthropic(gateway).stream("hi"));
    const final = pieces.reduce((sum, piece) => sum.concat(piece));
    const counts = expectSound(final);
    expect(counts).toMatchObject({ input_tokens: 31, output_tokens: 5 });
    expect(counts.input_token_details).toMatchObject({ cache_read: 13, cache_creation: 11 });
    await gateway.close();
    await upstream.close();
  });
});
