/**
 * A call is the same call whichever door it comes through, and wherever its model runs: every door against the
 * embedded model, and against another gateway over HTTP.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Door, doors, type Outcome } from "../support/clients/doors.ts";
import { behind, startTestGateway, type TestGateway } from "../support/gateway.ts";

const hello = { model: "embedded-chat", messages: [{ role: "user", content: "Hello, 世界! 👋" }] };
const weather = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

const answered: Record<string, JsonObject> = {
  "plain text": hello,
  "content as parts": {
    model: "embedded-chat",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        ],
      },
    ],
  },
  "two choices": { ...hello, n: 2 },
  "a tool that must be called": { ...hello, tools: [weather], tool_choice: "required" },
  "a tool's result": {
    model: "embedded-chat",
    messages: [
      { role: "user", content: "How is the weather in Oslo?" },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "4 degrees" },
    ],
    tools: [weather],
  },
  "an answer cut at its bound": { ...hello, max_completion_tokens: 3 },
  "a filled schema": {
    ...hello,
    response_format: {
      type: "json_schema",
      json_schema: {
        name: "answer",
        schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      },
    },
  },
  "keys that no schema knows": { ...hello, top_k: 5, chat_template_kwargs: { enable_thinking: false } },
  "usage on the stream": { ...hello, stream_options: { include_usage: true } },
};

const refused: Record<string, { request: JsonObject; apiKey?: string; status: number; param: string | null }> = {
  "an unknown model": { request: { ...hello, model: "nobody/knows:it" }, status: 404, param: "model" },
  "a request without a model": { request: { messages: hello.messages }, status: 400, param: "model" },
  "a conversation without messages": {
    request: { model: "embedded-chat", messages: [] },
    status: 400,
    param: "messages",
  },
  "a message without a role": {
    request: { ...hello, messages: [{ content: "hi" }] },
    status: 400,
    param: "messages[0].role",
  },
  "a temperature out of bounds": { request: { ...hello, temperature: 3 }, status: 400, param: "temperature" },
  "a bias out of bounds": {
    request: { ...hello, logit_bias: { "50256": 200 } },
    status: 400,
    param: "logit_bias.50256",
  },
  "no key": { request: hello, apiKey: "", status: 401, param: null },
  "an unknown key": { request: hello, apiKey: "sk-unknown", status: 401, param: null },
  "what the upstream refuses": { request: simulate({ simulate_status: "400" }), status: 400, param: null },
  "an upstream that is busy": { request: simulate({ simulate_status: "429" }), status: 429, param: null },
  "an upstream that fails": { request: simulate({ simulate_status: "502" }), status: 502, param: null },
  "an upstream that is overloaded": { request: simulate({ simulate_status: "503" }), status: 503, param: null },
};

function simulate(metadata: Record<string, string>): JsonObject {
  return { ...hello, metadata };
}

let near: TestGateway;
let far: TestGateway;

beforeAll(async () => {
  near = await startTestGateway();
  far = await startTestGateway(behind(near));
});

afterAll(async () => {
  await far.close();
  await near.close();
});

const [rest, ...others] = doors as readonly [Door, ...Door[]];

for (const [place, gateway] of [
  ["the embedded model", () => near],
  ["another gateway as upstream", () => far],
] as const) {
  describe(`over ${place}`, () => {
    for (const stream of [false, true]) {
      const form = stream ? "streamed" : "whole";

      for (const [name, request] of Object.entries(answered)) {
        test(`answers ${name}, ${form}, alike through every door`, async () => {
          // The embedded model through REST is the measure of all others.
          const expected = await rest.chat(near, { request, stream });
          expect(expected.refused).toBeUndefined();
          expect(expected.answers.length).toBeGreaterThan(0);
          for (const door of [rest, ...others]) {
            expect(await door.chat(gateway(), { request, stream }), door.name).toEqual(expected);
          }
        });
      }

      for (const [name, { request, apiKey, status, param }] of Object.entries(refused)) {
        test(`refuses ${name}, ${form}, alike through every door`, async () => {
          const expected = await rest.chat(near, { request, stream, apiKey });
          expect(expected).toMatchObject({ answers: [], refused: { status, param } });
          for (const door of [rest, ...others]) {
            expect(await door.chat(gateway(), { request, stream, apiKey }), door.name).toEqual(expected);
          }
        });
      }
    }

    test("ends a stream that breaks with the same pieces and the same refusal through every door", async () => {
      const call = { request: simulate({ simulate_break_after: "3" }), stream: true };
      const outcomes: Outcome[] = [];
      for (const door of doors) outcomes.push(await door.chat(gateway(), call));
      for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0]);
      expect(outcomes[0]?.answers.length).toBeGreaterThan(2);
      expect(outcomes[0]?.refused).toMatchObject({ status: 502 });
    });
  });
}
