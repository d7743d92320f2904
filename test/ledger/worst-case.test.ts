/**
 * What a request may use at most, however it is written.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema, Role } from "../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { CreateMessageRequestSchema } from "../../gen/modelgateway/v1/messages_pb.ts";
import { inputBound, isBoundUnusual, outputBound, withOutputBound } from "../../src/ledger/worst-case.ts";
import { Wire } from "../../src/wire/wire.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

const window = 200_000;
const ofChat = (json: JsonObject) => inputBound(Wire.ofJson(CreateChatCompletionRequestSchema, json), window);
const ofMessages = (json: JsonObject) => inputBound(Wire.ofJson(CreateMessageRequestSchema, json), window);

test("a key that every object has is no attachment", () => {
  const content = (key: string) => [{ type: "text", text: "Hi", [key]: { url: "x" } }];
  const bound = (key: string) => ofChat({ messages: [{ role: "user", content: content(key) }] });
  expect(bound("constructor")).toBe(bound("destructors"));
});
const said = (content: JsonObject[] | string) => ({ model: "m", messages: [{ role: "user", content }] });

describe("the bound of the output by a name that only some servers obey", () => {
  type Bounded = "chat" | "completions" | "messages" | "responses";
  const bounded = (json: JsonObject, operation: Bounded = "chat") => outputBound(operation, json);

  test("counts where it is the larger, for it is obeyed before the others", () => {
    expect(bounded({ max_tokens: 5, n_predict: 100_000 })).toBe(100_000);
    expect(bounded({ max_tokens: 5, n_predict: 100_000 }, "completions")).toBe(100_000);
    expect(bounded({ max_completion_tokens: 500, n_predict: 5 })).toBe(500);
    expect(bounded({ n_predict: 7 })).toBe(7);
    expect(bounded({ max_tokens: 5, n_predict: null })).toBe(5);
    expect(bounded({ max_output_tokens: 5, n_predict: 100_000 }, "responses")).toBe(100_000);
    expect(bounded({ max_tokens: 5, max_completion_tokens: 100_000 }, "completions")).toBe(100_000);
    expect(bounded({ max_tokens: 5, max_completion_tokens: 100_000 }, "messages")).toBe(100_000);
  });

  test.each([-1, -2, 0.5, "100000", true, []])("is no bound where it is %j", (n_predict) => {
    expect(bounded({ max_tokens: 5, n_predict })).toBeUndefined();
  });

  test("is lowered with the others to what the credit pays for", () => {
    const request = Wire.ofJson(CreateChatCompletionRequestSchema, { ...said("x"), max_tokens: 5, n_predict: -1 });
    expect(withOutputBound("chat", request, 9, "max_tokens").json()).toMatchObject({ max_tokens: 9, n_predict: 9 });
  });

  test("is no bound for the others, which get it by the usual name besides", () => {
    expect(isBoundUnusual("chat", { n_predict: 5 })).toBe(true);
    expect(isBoundUnusual("chat", { n_predict: 5, max_completion_tokens: 5 })).toBe(false);
    expect(isBoundUnusual("completions", { max_completion_tokens: 5, max_tokens: null })).toBe(true);
    expect(isBoundUnusual("chat", {})).toBe(false);
    expect(isBoundUnusual("embeddings", { n_predict: 5 })).toBe(false);
    const request = Wire.ofJson(CreateChatCompletionRequestSchema, { ...said("x"), n_predict: 5 });
    const sent = withOutputBound("chat", request, 5, "max_completion_tokens").json();
    expect(sent).toMatchObject({ max_completion_tokens: 5, n_predict: 5 });
  });
});

describe("the most input of a request", () => {
  test("is its bytes where it is text, documents in plain text and search results too", () => {
    const source = { type: "text", media_type: "text/plain", data: "hi" };
    expect(ofMessages(said([{ type: "document", source }]))).toBeLessThan(1000);
    const content = [{ type: "text", text: "found" }];
    expect(ofMessages(said([{ type: "search_result", source: "https://a", title: "t", content }]))).toBeLessThan(1000);
    expect(ofMessages(said([{ type: "document", source: { type: "content", content } }]))).toBeLessThan(1000);
  });

  test("is the whole context where a part is fetched by its vendor", () => {
    expect(ofChat(said([{ type: "video_url", video_url: { url: "https://a/b" } }]))).toBe(window);
    const image = { type: "image", source: { type: "url", url: "https://a/b" } };
    expect(ofMessages(said([{ type: "document", source: { type: "content", content: [image] } }]))).toBeGreaterThan(
      60_000,
    );
  });

  test("is more than the context where tools of the vendor's fetch what they want", () => {
    const tools = [{ type: "web_search_20250305", name: "web_search" }];
    expect(ofMessages({ ...said("hi"), tools })).toBeGreaterThan(window);
    expect(ofMessages({ ...said("hi"), mcp_servers: [{ type: "url", url: "https://a", name: "a" }] })).toBeGreaterThan(
      window,
    );
    const own = [{ name: "f", input_schema: { type: "object" } }];
    expect(ofMessages({ ...said("hi"), tools: own })).toBeLessThan(2000);
  });
});

describe("a request that says a bound in another way", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  test.each(["MAX_TOKENS", "Model", "N"])("is refused, as by %s", async (key) => {
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ ...said("hi"), model: "embedded-chat", [key]: 5 }),
    });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: JsonObject };
    expect(error).toMatchObject({ param: key, message: expect.stringContaining(key.toLowerCase()) });
  });

  test.each([{ n: "128" }, { n: 100_000 }, { max_tokens: -2 }, { max_completion_tokens: "100000" }])(
    "is refused in the rest of an RPC's message, as by %j",
    async (extra) => {
      const client = createClient(
        InferenceService,
        createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" }),
      );
      const messages = [{ role: Role.USER, content: { case: "text", value: "hi" } as const }];
      const call = client.createChatCompletion(
        { model: "embedded-chat", messages, extra },
        { headers: { authorization: `Bearer ${gateway.apiKey}` } },
      );
      await expect(call).rejects.toMatchObject({ code: 3 });
    },
  );
});
