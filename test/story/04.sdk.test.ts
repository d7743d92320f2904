/** A call by the vendors' own SDKs, unmodified: a base URL and a key are all that is set. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  gateway = await startTestGateway();
  openai = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey });
  anthropic = new Anthropic({ baseURL: gateway.rootUrl, apiKey: gateway.apiKey });
});
afterAll(() => gateway.close());

const model = "embedded-chat";
const messages = [{ role: "user" as const, content: "say: Good morning" }];

test("OpenAI's asks for a chat, whole and streamed, and reads the same words", async () => {
  const { choices } = await openai.chat.completions.create({ model, messages });
  expect(choices[0]?.message.content).toBe("Good morning");
  let streamed = "";
  for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
    streamed += chunk.choices[0]?.delta.content ?? "";
  }
  expect(streamed).toBe("Good morning");
});

test("OpenAI's asks for a response, and goes on from it", async () => {
  const first = await openai.responses.create({ model, input: "say: One" });
  expect(first.output_text).toBe("One");
  const next = await openai.responses.create({ model, input: "say: Two", previous_response_id: first.id });
  expect(next).toMatchObject({ output_text: "Two", previous_response_id: first.id });
});

test("Anthropic's asks the same model for a message, whole and streamed", async () => {
  const asked = { model, max_tokens: 50, messages };
  expect((await anthropic.messages.create(asked)).content).toMatchObject([{ type: "text", text: "Good morning" }]);
  expect(await anthropic.messages.stream(asked).finalText()).toBe("Good morning");
});

test("each throws its own error for a model that nobody serves", async () => {
  await expect(openai.chat.completions.create({ model: "nobody", messages })).rejects.toThrow(OpenAI.NotFoundError);
  const asked = anthropic.messages.create({ model: "nobody", max_tokens: 5, messages });
  await expect(asked).rejects.toThrow(Anthropic.NotFoundError);
});
