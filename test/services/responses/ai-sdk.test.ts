/**
 * Responses through the AI SDK, whose OpenAI provider asks for them by default: on later steps it sends references to
 * what the gateway has kept instead of the items themselves.
 */
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, isStepCount, Output, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { sentence } from "../../support/clients/sdk.ts";
import { behind, behindAnthropic, behindResponses, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let near: TestGateway;
let far: TestGateway;
let across: TestGateway;
let relaying: TestGateway;

beforeAll(async () => {
  near = await startTestGateway();
  far = await startTestGateway(behind(near));
  across = await startTestGateway(behindAnthropic(near));
  relaying = await startTestGateway(behindResponses(near));
});

afterAll(async () => {
  await relaying.close();
  await across.close();
  await far.close();
  await near.close();
});

/** The provider, and the bodies that it sends. */
function providerOf({ baseUrl, apiKey }: TestGateway) {
  const sent: { input: { type?: string }[] }[] = [];
  const openai = createOpenAI({
    baseURL: baseUrl,
    apiKey,
    fetch(url, init) {
      sent.push(JSON.parse(String(init?.body)));
      return fetch(url, init);
    },
  });
  return { model: openai("embedded-chat"), sent };
}

const get_weather = tool({
  description: "Tells the weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `4 degrees in ${city}`,
});
const prompt = 'How is it in "Oslo"? Use get_weather.';

for (const [place, gatewayAt] of [
  ["the embedded model", () => near],
  ["another gateway that speaks chat", () => far],
  ["another gateway that speaks Anthropic's API", () => across],
  ["another gateway that speaks responses", () => relaying],
] as const) {
  describe(`the AI SDK over ${place}`, () => {
    test("generates text, with usage and finish reason", async () => {
      const { model } = providerOf(gatewayAt());
      const { text, finishReason, usage, response } = await generateText({ model, prompt: `say: ${sentence}` });
      expect(text).toBe(sentence);
      expect(finishReason).toBe("stop");
      expect(usage.outputTokens).toBeGreaterThan(8);
      expect(response.id).toMatch(/^resp_/);
    });

    test("streams text", async () => {
      const { model } = providerOf(gatewayAt());
      const result = streamText({ model, prompt: `say: ${sentence}` });
      const pieces = await Array.fromAsync(result.textStream);
      expect(pieces.length).toBeGreaterThan(8);
      expect(pieces.join("")).toBe(sentence);
      expect(await result.finishReason).toBe("stop");
      expect((await result.usage).outputTokens).toBeGreaterThan(8);
    });

    test("is told that an answer was cut", async () => {
      const { model } = providerOf(gatewayAt());
      const { text, finishReason } = await generateText({ model, prompt: `say: ${sentence}`, maxOutputTokens: 3 });
      expect([text, finishReason]).toEqual(["The quick brown", "length"]);
    });

    test("runs tools in several steps, and refers to what was kept in the next turn", async () => {
      const { model, sent } = providerOf(gatewayAt());
      const { text, steps } = await generateText({ model, prompt, tools: { get_weather }, stopWhen: isStepCount(3) });
      expect(steps.length).toBe(2);
      expect(steps[0]?.toolCalls).toMatchObject([{ toolName: "get_weather", input: { city: "Oslo" } }]);
      expect(text).toContain("4 degrees in Oslo");
      const history = steps.flatMap(({ response }) => response.messages);
      const next = await generateText({
        model,
        messages: [{ role: "user", content: prompt }, ...history, { role: "user", content: "say: thanks" }],
      });
      expect(next.text).toBe("thanks");
      expect(sent[2]?.input.map(({ type }) => type)).toContain("item_reference");
    });

    test("runs tools in several steps of a stream", async () => {
      const { model } = providerOf(gatewayAt());
      const result = streamText({ model, prompt, tools: { get_weather }, stopWhen: isStepCount(3) });
      expect(await result.text).toContain("4 degrees in Oslo");
      expect((await result.steps).length).toBe(2);
    });

    test("runs tools with nothing kept", async () => {
      const { model, sent } = providerOf(gatewayAt());
      const providerOptions = { openai: { store: false } };
      const options = { model, prompt, tools: { get_weather }, stopWhen: isStepCount(3), providerOptions };
      expect((await generateText(options)).text).toContain("4 degrees in Oslo");
      expect(sent[1]?.input.map(({ type }) => type)).not.toContain("item_reference");
    });

    test("generates and streams an object", async () => {
      const { model } = providerOf(gatewayAt());
      const schema = z.object({ name: z.string(), people: z.array(z.string()) });
      const output = Output.object({ schema });
      const whole = await generateText({ model, prompt: 'Plan a "Party".', output });
      expect(whole.output.name).toBe("Party");
      const streamed = streamText({ model, prompt: 'Plan a "Party".', output });
      const parts = await Array.fromAsync(streamed.partialOutputStream);
      expect(parts.at(-1)).toEqual(whole.output);
    });

    test("is told what is wrong", async () => {
      const { baseUrl, apiKey } = gatewayAt();
      const model = createOpenAI({ baseURL: baseUrl, apiKey })("nobody");
      const error = await generateText({ model, prompt: "hi", maxRetries: 0 }).catch((reason: unknown) => reason);
      expect(APICallError.isInstance(error) && error.statusCode).toBe(404);
      expect(String(error)).toMatch(/The model .* does not exist/);
    });
  });
}

for (const [place, gatewayAt] of [
  ["the embedded model", () => near],
  ["another gateway", () => far],
  ["another gateway that speaks responses", () => relaying],
] as const) {
  describe(`a stream to the AI SDK over ${place}`, () => {
    test("that breaks is an error", async () => {
      const { model } = providerOf(gatewayAt());
      const providerOptions = { openai: { metadata: { simulate_break_after: "3" } } };
      const errors: unknown[] = [];
      const onError = ({ error }: { error: unknown }) => void errors.push(error);
      const result = streamText({ model, prompt: `say: ${sentence}`, providerOptions, onError, maxRetries: 0 });
      const parts = await Array.fromAsync(result.fullStream);
      expect(parts.some(({ type }) => type === "text-delta")).toBe(true);
      expect(errors.length).toBe(1);
      expect(JSON.stringify(errors[0])).toContain("upstream");
    });

    test("that is left is left by the gateway too", async () => {
      const { model } = providerOf(gatewayAt());
      const leaving = new AbortController();
      const providerOptions = { openai: { metadata: { simulate_token_delay_ms: "200" } } };
      const { signal } = leaving;
      const result = streamText({ model, prompt: `say: ${"tick ".repeat(500)}`, providerOptions, abortSignal: signal });
      const parts: string[] = [];
      for await (const { type } of result.fullStream) {
        parts.push(type);
        if (type === "text-delta") leaving.abort();
      }
      expect(parts.at(-1)).toBe("abort");
      // Another gateway is read on for a while, as any upstream is.
      await expect.poll(() => near.logged()).toContain('"reason":"CANCELLED"');
    });
  });
}
