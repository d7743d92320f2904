/** Clients write null for what they have not set: servers that refuse it do not get it, on any path. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { answerAsAny } from "../../support/upstreams/one-of-each.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";

const profile = vendors.find(({ name }) => name === "openai")?.profile ?? {};

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "far", kind: "openai", base_url },
      { name: "openai", kind: "openai", base_url, profile },
      { name: "claude", kind: "anthropic", base_url },
    ],
    models: [
      modelAt("far", "chat", "m"),
      modelAt("openai", "responses", "gpt-5.4"),
      modelAt("claude", "claude", "claude-opus-4-8"),
    ],
    embeddedModels: false,
  }),
  { script: answerAsAny },
);

async function sentFor(path: string, body: JsonObject): Promise<JsonObject> {
  const { status, text, dropped } = await ask(gateway, `/v1${path}`, body);
  expect([status, dropped], text).toEqual([200, null]);
  return upstream.lastAsked;
}

const nulls = (...keys: string[]) => Object.fromEntries(keys.map((key) => [key, null]));
const user = { role: "user", content: "hi" };
const schema = { type: "object", properties: { a: { type: "string", default: null } } };

describe("settings that are null are not sent", () => {
  test("on the path of chat, but for keys that the API does not have", async () => {
    const unset = nulls("tools", "tool_choice", "stop", "response_format", "temperature", "max_tokens", "n", "user");
    const sent = await sentFor("/chat/completions", { model: "chat", messages: [user], ...unset, zzz: null });
    expect(sent).toEqual({ model: "m", messages: [user], zzz: null });
  });

  test("on the path of messages", async () => {
    const unset = nulls(
      "tools",
      "tool_choice",
      "system",
      "stop_sequences",
      "metadata",
      "temperature",
      "thinking",
      "top_k",
    );
    const sent = await sentFor("/messages", { model: "claude", max_tokens: 9, messages: [user], ...unset, zzz: null });
    expect(sent).toEqual({ model: "claude-opus-4-8", max_tokens: 9, messages: [user], zzz: null });
  });

  test("on the path of responses", async () => {
    const unset = nulls(
      "tools",
      "tool_choice",
      "reasoning",
      "text",
      "instructions",
      "previous_response_id",
      "metadata",
    );
    const sent = await sentFor("/responses", { model: "responses", input: "hi", store: false, ...unset });
    expect(sent).toEqual({ model: "gpt-5.4", input: "hi", store: false });
  });
});

describe("members that are null are not sent", () => {
  test("on the path of chat", async () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a":null}' } };
    const tool = { type: "function", function: { name: "f", parameters: schema } };
    const unset = nulls("name", "refusal", "audio", "function_call", "reasoning_content");
    const sent = await sentFor("/chat/completions", {
      model: "chat",
      messages: [
        { ...user, content: [{ type: "text", text: "hi", ...nulls("image_url", "cache_control") }], name: null },
        { role: "assistant", content: "so", tool_calls: null, ...unset },
        { role: "assistant", content: null, tool_calls: [{ ...call, index: null }], ...unset },
        { role: "tool", tool_call_id: "c", content: "1", name: null },
      ],
      tools: [{ type: "function", function: { ...tool.function, description: null } }],
    });
    expect(sent.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: "so" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: "1" },
    ]);
    expect(sent.tools).toEqual([tool]);
  });

  test("on the path of messages", async () => {
    const use = { type: "tool_use", id: "t", name: "f", input: { a: null } };
    const tool = { name: "f", input_schema: schema };
    const sent = await sentFor("/messages", {
      model: "claude",
      max_tokens: 9,
      messages: [
        { role: "user", content: [{ type: "text", text: "hi", ...nulls("citations", "cache_control") }] },
        { role: "assistant", content: [{ ...use, caller: null }], ...nulls("stop_reason", "id") },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "1", is_error: null }] },
      ],
      tools: [{ ...tool, ...nulls("description", "type", "cache_control") }],
    });
    expect(sent.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: [use] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "1" }] },
    ]);
    expect(sent.tools).toEqual([tool]);
  });

  test("on the path of responses", async () => {
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
    const output = { type: "function_call_output", call_id: "c", output: "1" };
    const unset = nulls("id", "status");
    const input = [
      { ...user, type: "message", ...unset },
      { ...call, ...unset },
      { ...output, ...unset },
    ];
    const sent = await sentFor("/responses", { model: "responses", store: false, input });
    expect(sent.input).toEqual([{ ...user, type: "message" }, call, output]);
  });
});

describe("what says nothing is not sent to Claude", () => {
  const asked = { model: "claude", max_tokens: 9, messages: [user] };
  test.each<[JsonObject, JsonObject]>([
    [{ tools: [], tool_choice: { type: "auto" } }, { tools: [] }],
    [{ tool_choice: { type: "none" } }, {}],
    [{ stop_sequences: ["", "END"] }, { stop_sequences: ["END"] }],
    [{ stop_sequences: [""] }, {}],
    [{ tool_choice: { type: "any" } }, { tool_choice: { type: "any" } }],
  ])("%j", async (settings, expected) => {
    const sent = await sentFor("/messages", { ...asked, ...settings });
    expect(sent).toEqual({ ...asked, model: "claude-opus-4-8", ...expected });
  });

  test("a stop text of blanks, which is named", async () => {
    const { dropped } = await ask(gateway, "/v1/messages", { ...asked, stop_sequences: ["\n", "END"] });
    expect([dropped, upstream.lastAsked.stop_sequences]).toEqual(["stop_sequences[0]", ["END"]]);
  });
});

test.each([["auto"], ["none"]])("a choice %s without tools is not sent to a server of responses", async (choice) => {
  const sent = await sentFor("/responses", { model: "responses", store: false, input: "hi", tool_choice: choice });
  expect(sent).not.toHaveProperty("tool_choice");
  const empty = { model: "responses", store: false, input: "hi", tool_choice: choice, tools: [] };
  expect(await sentFor("/responses", empty)).toMatchObject({ tools: [] });
});
