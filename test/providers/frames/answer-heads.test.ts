/**
 * Servers leave out of the head of an answer what OpenAI's and Anthropic's always have: goose fails at a response without the time when it
 * was made, and typed SDKs at a chat without its model.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask, eventsIn } from "../../support/ask.ts";
import { eventsOf } from "../../support/clients/endpoints.ts";
import { checkChatStream, checkCompletion } from "../../support/clients/strict.ts";
import { modelAt } from "../../support/gateway.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { anthropicFrames, done, openaiFrames } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage((base_url) => ({
  upstreams: [
    { name: "far", kind: "openai", base_url, api_key: "k" },
    { name: "claude", kind: "anthropic", base_url, api_key: "k" },
    { name: "own", kind: "openai", base_url, api_key: "k", profile: { operations: { responses: "/responses" } } },
  ],
  models: [modelAt("far", "chat", "m"), modelAt("claude", "messages", "m"), modelAt("own", "responses", "m")],
  embeddedModels: false,
}));

const messages = [{ role: "user", content: "hi" }];
const whole = (answer: JsonObject) => {
  upstream.script = (exchange) => exchange.json(200, answer);
};
const streamed = (text: string) => {
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(text);
  };
};

describe("a chat", () => {
  const request = { model: "chat", messages };
  const choices = [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

  test.each<[string, JsonObject, JsonObject]>([
    ["without a head", {}, { object: "chat.completion", created: expect.any(Number), model: "m" }],
    ["without a model", { id: "a", object: "chat.completion", created: 7 }, { id: "a", created: 7, model: "m" }],
    ["of a part of a second", { id: "a", created: 7.9, model: "x" }, { id: "a", created: 7, model: "x" }],
    ["whose id and time are of other types", { id: 5, created: "7", model: "x" }, { id: "5", created: 7, model: "x" }],
    ["whose head is null", { id: null, object: null, created: null, model: null }, { model: "m" }],
  ])("%s has one", async (_, head, expected) => {
    whole({ ...head, choices, usage });
    const { json } = await ask(gateway, "/v1/chat/completions", request);
    expect([json.id, json.model]).toEqual([expect.any(String), expect.any(String)]);
    expect(json).toMatchObject({ created: expect.any(Number), ...expected });
  });

  test("with a head has it as it came", async () => {
    const head = { id: "", object: "own", created: 0, model: "" };
    whole({ ...head, choices, usage });
    expect((await ask(gateway, "/v1/chat/completions", request)).json).toMatchObject(head);
  });

  const chunk = (delta: JsonObject, finish_reason: string | null = null, more: JsonObject = {}): JsonObject => ({
    choices: [{ index: 0, delta, finish_reason }],
    ...more,
  });
  const words = ["Hel", "lo", " wor", "ld"].map((content) => chunk({ content }));
  const head = { id: "a", object: "chat.completion.chunk", created: 7, model: "x" };
  test.each<[string, JsonObject[], JsonObject]>([
    ["none", [...words, chunk({}, "stop"), { choices: [], usage }], { created: expect.any(Number), model: "m" }],
    ["one in its first chunk alone", [chunk({ role: "assistant" }, null, head), ...words, chunk({}, "stop")], head],
    ["parts of seconds", [...words.map((one) => ({ ...one, ...head, created: 7.5 })), chunk({}, "stop")], head],
  ])("in a stream with %s has one, the same in each chunk", async (_, chunks, expected) => {
    streamed(openaiFrames(...chunks) + done);
    const asked = { ...request, stream: true, stream_options: { include_usage: true } };
    const { text } = await ask(gateway, "/v1/chat/completions", asked);
    checkChatStream(eventsOf(Buffer.from(text)), { usage: true });
    const events = eventsIn(text);
    const heads = events.map(({ choices: _, usage: __, ...rest }) => JSON.stringify(rest, Object.keys(rest).sort()));
    expect(new Set(heads).size).toBe(1);
    expect(events[0]).toMatchObject(expected);
    expect(events.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Hello world");
  });

  test("that its server streams in place of the whole has one", async () => {
    streamed(openaiFrames(...words, chunk({}, "stop")) + done);
    const { json } = await ask(gateway, "/v1/chat/completions", request);
    expect(json).toMatchObject({ object: "chat.completion", model: "m", id: expect.any(String) });
  });

  test("that is a completion of text has one", async () => {
    whole({ choices: [{ index: 0, text: "Hi", logprobs: null, finish_reason: "stop" }], usage });
    const { json } = await ask(gateway, "/v1/completions", { model: "chat", prompt: "hi" });
    checkCompletion(json);
  });
});

describe("a message", () => {
  test.each([
    [{}, { model: "m", id: expect.stringMatching(/^msg_/), stop_sequence: null }],
    [
      { id: "msg_a", model: "x", stop_sequence: "s" },
      { id: "msg_a", model: "x", stop_sequence: "s" },
    ],
  ])("with the head %j has all of it", async (head, expected) => {
    whole({ ...head, content: [{ type: "text", text: "Hi" }], usage: { input_tokens: 1, output_tokens: 1 } });
    const { json } = await ask(gateway, "/v1/messages", { model: "messages", max_tokens: 9, messages });
    expect(json).toMatchObject({ type: "message", role: "assistant", ...expected });
  });
});

describe("a response", () => {
  const tools = [{ type: "function", name: "f", parameters: { type: "object", properties: {} }, strict: false }];
  const request = { model: "responses", input: "hi", instructions: "be brief", tools, temperature: 0.5 };
  const output = [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi" }] }];
  const usage = { input_tokens: 3, output_tokens: 2 };
  const echo = {
    object: "response",
    created_at: expect.any(Number),
    tools,
    instructions: "be brief",
    temperature: 0.5,
  };

  test("without a head has what was asked", async () => {
    whole({ output, usage });
    const { json } = await ask(gateway, "/v1/responses", request);
    expect(json).toMatchObject({ ...echo, status: "completed", usage: { ...usage, total_tokens: 5 } });
    expect(json.output[0].status).toBe("completed");
  });

  test("of a part of a second is of a whole one, and else as it came", async () => {
    whole({ id: "a", object: "response", created_at: 7.9, model: "x", temperature: null, output, usage });
    const { json } = await ask(gateway, "/v1/responses", request);
    expect(json).toMatchObject({ created_at: 7, model: "x", temperature: null });
  });

  test("in a stream has it in each event, and all events are numbered", async () => {
    streamed(
      anthropicFrames(
        { type: "response.created", response: { id: "resp_0", output: [] } },
        { type: "response.output_item.added", output_index: 0, item: { type: "message", content: [] } },
        { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Hi" },
        { type: "response.output_item.done", output_index: 0, item: output[0] as JsonObject },
        { type: "response.completed", response: { id: "resp_0", usage } },
      ),
    );
    const { text } = await ask(gateway, "/v1/responses", { ...request, stream: true });
    const events = eventsIn(text);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, i) => i));
    const [first, last] = [events[0].response, events.at(-1).response];
    expect(first).toMatchObject({ ...echo, status: "in_progress", model: "responses" });
    expect(last).toMatchObject({ ...echo, status: "completed", usage: { ...usage, total_tokens: 5 } });
    expect(events.flatMap(({ item }) => (item ? [item.status] : []))).toEqual(["in_progress", "completed"]);
  });
});
