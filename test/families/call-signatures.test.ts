/** Gemini gets its signatures of calls back, whichever family its caller speaks, and no other model gets them. */
import Anthropic from "@anthropic-ai/sdk";
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import OpenAI from "openai";
import type { ResponseInputItem, ResponseOutputItem } from "openai/resources/responses/responses";
import { describe, expect, test } from "vitest";
import { endsText, signatureForCall, signedId, unsignedId, withText } from "../../src/families/call-signature.ts";
import { modelAt, upstreamAt } from "../support/gateway.ts";
import type { ScriptedExchange } from "../support/scripted-upstream.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk } from "../support/vendors.ts";

const signature = "c2ln+bmF0/dXJl==";
const signed = (id: string, more: object = {}) => ({
  id,
  type: "function",
  function: { name: "weather", arguments: '{"city":"Oslo"}' },
  ...more,
});
const extra = { extra_content: { google: { thought_signature: signature } } };
const calls = [signed("fc-1", extra), signed("fc-2")];

const { upstream, gateway } = scriptedStage(
  (baseUrl) => {
    const { models, ...config } = upstreamAt(baseUrl, "upstream-key", "gemini-3-pro");
    return { ...config, models: [...models, modelAt("far", "other", "qwen")] };
  },
  { script: answer },
);

/** Calls the tools, and once they are answered says what they said. */
function answer(exchange: ScriptedExchange): void {
  const { stream, messages } = exchange.asked;
  const isAnswered = messages.at(-1).role === "tool";
  if (stream) exchange.stream(...calls.map((call) => chatChunk({ tool_calls: [call] })), chatChunk({}, "stop"));
  else exchange.json(200, chatAnswer(isAnswered ? { content: "Rain." } : { content: null, tool_calls: calls }));
}

function callsSent(): object[] {
  const { messages } = upstream.lastAsked;
  const results = messages
    .filter(({ role }: { role: string }) => role === "tool")
    .map(({ tool_call_id: id }: { tool_call_id: string }) => id);
  expect(results).toEqual(["fc-1", "fc-2"]);
  return messages.find(({ tool_calls }: { tool_calls?: object[] }) => tool_calls).tool_calls;
}

describe.each([false, true])("a Messages caller, streamed: %s", (isStream) => {
  test("sends them back with the ids of its calls; another model gets the bare ids", async () => {
    const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: gateway.apiKey, maxRetries: 0 });
    const tools = [{ name: "weather", input_schema: { type: "object" as const } }];
    const first: MessageParam = { role: "user", content: "?" };
    const asked = { model: "embedded-chat", max_tokens: 99, tools };
    const one = isStream
      ? await client.messages.stream({ ...asked, messages: [first] }).finalMessage()
      : await client.messages.create({ ...asked, messages: [first] });
    const uses = one.content.filter(({ type }) => type === "tool_use") as { id: string }[];
    for (const { id } of uses) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    const results = uses.map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: "rain" }));
    const messages: MessageParam[] = [
      first,
      { role: "assistant", content: one.content },
      { role: "user", content: results },
    ];
    await client.messages.create({ ...asked, messages });
    expect(callsSent()).toEqual(calls);
    await client.messages.create({ ...asked, model: "other", messages });
    expect(callsSent()).toEqual([signed("fc-1"), signed("fc-2")]);
  });
});

describe.each([false, true])("a caller of responses, streamed: %s", (isStream) => {
  test("sends them back with its items, and by continuing a response", async () => {
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
    const tools = [{ type: "function" as const, name: "weather", parameters: {}, strict: null }];
    const asked = { model: "embedded-chat", tools };
    const one = isStream
      ? await client.responses.stream({ ...asked, input: "?" }).finalResponse()
      : await client.responses.create({ ...asked, input: "?" });
    const output: readonly ResponseOutputItem[] = one.output;
    const made = output.filter((item) => item.type === "function_call");
    const outputs: ResponseInputItem[] = made.map(({ call_id }) => ({
      type: "function_call_output",
      call_id,
      output: "rain",
    }));
    await client.responses.create({ ...asked, input: [{ role: "user", content: "?" }, ...made, ...outputs] });
    expect(callsSent()).toEqual(calls);
    await client.responses.create({ ...asked, previous_response_id: one.id, input: outputs });
    expect(callsSent()).toEqual(calls);
    await client.responses.create({ ...asked, model: "other", previous_response_id: one.id, input: outputs });
    expect(callsSent()).toEqual([signed("fc-1"), signed("fc-2")]);
  });
});

const at = (model: string) => ({ model, upstream: "far" });

test.for(["c2lnbmF0dXJl", "a+/=", "a+/b", "YQ==", "already_url-safe", "with spaces.", "ab.c", "é", "a".repeat(5000)])(
  "a signature comes back unchanged: %s",
  (text) => {
    const id = signedId("call_1", text, at("m"));
    expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(unsignedId(id)).toBe("call_1");
    expect(signatureForCall(id, true, at("m"))).toEqual({ extra_content: { google: { thought_signature: text } } });
    expect(signatureForCall(id, true, at("n"))).toEqual({});
  },
);

test.for(["call_1", "a-sig-b", "a-sig-bzzzzzzzz-x", "a-sig-b00000000-", "a-sig-b00000000-x.", "-sig-", ""])(
  "an id that only looks signed stays: %s",
  (id) => {
    expect(unsignedId(id)).toBe(id);
    expect(signatureForCall(id, true, at("m"))).toEqual({});
  },
);

test("of the signatures in one seal one gets the text before it, however many a caller writes into it", () => {
  const thought = { type: "thinking", signature: "s" };
  const many = Array.from({ length: 100_000 }, () => thought);
  const texts = withText(many, "a thought").filter(({ thinking }) => thinking !== undefined);
  expect(texts).toEqual([{ ...thought, thinking: "a thought" }]);
  expect([[], [thought], [{ type: "reasoning.encrypted" }]].map(endsText)).toEqual([true, true, false]);
});

test("Gemini is told to skip the check for the first call of another model", () => {
  const word = { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } };
  expect(signatureForCall("toolu_1", true, at("google/gemini-3-flash"))).toEqual(word);
  expect(signatureForCall(signedId("c", "x", at("gemini-4")), true, at("gemini-3-pro"))).toEqual(word);
  expect(signatureForCall("toolu_1", false, at("gemini-3-flash"))).toEqual({});
  expect(signatureForCall("toolu_1", true, at("gemini-2.5-pro"))).toEqual({});
});

test("a signature comes back whatever the id before it has", () => {
  for (const id of ["a-sig-b", "a-id-b-sig-"]) expect(unsignedId(signedId(id, "c2ln", at("m")))).toBe(id);
});
