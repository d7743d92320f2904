/** Every endpoint answers in the words of the API that it is known from. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const model = "embedded-chat";
const messages = [{ role: "user", content: "say: Hello" }];

test.each([
  [
    "/v1/chat/completions",
    { model, messages },
    { object: "chat.completion", choices: [{ message: { content: "Hello" } }] },
  ],
  ["/v1/messages", { model, messages, max_tokens: 9 }, { type: "message", content: [{ type: "text", text: "Hello" }] }],
  ["/v1/completions", { model, prompt: "say: Hello" }, { object: "text_completion", choices: [{ text: "Hello" }] }],
  ["/v1/responses", { model, input: "say: Hello" }, { object: "response", status: "completed" }],
  [
    "/v1/embeddings",
    { model: "embedded-embedding", input: "Hello" },
    { object: "list", data: [{ object: "embedding" }] },
  ],
  ["/v1/messages/count_tokens", { model, messages }, { input_tokens: expect.any(Number) }],
  ["/v1/explain", { path: "/v1/chat/completions", request: { model, messages } }, { operation: "chat" }],
])("POST %s", async (path, body, answer) => {
  const { status, json } = await ask(gateway, path, body);
  expect(status).toBe(200);
  expect(json).toMatchObject(answer);
});

test("POST /v1/audio/speech answers with sound", async () => {
  const body = { model: "tts-1", input: "Hello", voice: "alloy", response_format: "wav" };
  const { status, headers, text } = await ask(gateway, "/v1/audio/speech", body);
  expect([status, headers.get("content-type")]).toEqual([200, "audio/wav"]);
  expect(text.startsWith("RIFF")).toBe(true);
});

test("GET /v1/models lists them, and GET /v1/models/{id} tells of one", async () => {
  const { json } = await ask(gateway, "/v1/models");
  const ids = json.data.map(({ id }: { id: string }) => id);
  expect(ids).toEqual(expect.arrayContaining([model, "embedded-embedding", "tts-1"]));
  expect((await ask(gateway, `/v1/models/${model}`)).json).toMatchObject({ id: model, object: "model" });
});
