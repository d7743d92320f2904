/** Marks of a cached prompt reach each server as it takes them: agents send Claude's whatever they call, and most servers refuse them. */
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateResponseRequestSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { fittingOf } from "../../../../src/providers/profile/fit.ts";
import { createProfile } from "../../../../src/providers/profile/profile.ts";
import { runNow } from "../../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../../src/wire/json.ts";
import { Wire } from "../../../../src/wire/wire.ts";
import { vendors } from "../../../support/upstreams/vendor-profiles.ts";

const claudes = { cache_control: { type: "ephemeral", ttl: "1h" } };
const openAis = { prompt_cache_breakpoint: { mode: "explicit", ttl: "12h" } };
const text = (said: string, mark: JsonObject = {}) => ({ type: "text", text: said, ...mark });
const user = (content: string | JsonObject[], mark: JsonObject = {}) => ({ role: "user", content, ...mark });
const tool = (mark: JsonObject = {}) => ({
  type: "function",
  function: { name: "f", parameters: { type: "object", properties: {} } },
  ...mark,
});
const called = (mark: JsonObject = {}) => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" }, ...mark };
  return { role: "assistant", content: null, tool_calls: [call] };
};

function fitBy(vendor: string, model: string, json: JsonObject, isOwn = true) {
  const profile = createProfile(vendors.find(({ name }) => name === vendor)?.profile ?? {});
  const schema = json.messages ? CreateChatCompletionRequestSchema : CreateResponseRequestSchema;
  const operation = json.messages ? "chat" : "responses";
  const { request, dropped } = runNow(
    fittingOf(profile.of(model), undefined).fit(operation, Wire.ofJson(schema, json), isOwn),
  );
  return { json: request.json() as JsonObject, dropped };
}

/** An agent's request, with every mark that any sends. */
const marked = {
  model: "m",
  messages: [
    user([text("a", claudes), text("b", openAis), text("c")]),
    user("whole", claudes),
    called(claudes),
    { role: "tool", tool_call_id: "c", content: "result", ...claudes },
    user("end"),
  ],
  tools: [tool(claudes), tool()],
};

describe("of a chat", () => {
  const silent = vendors.filter(({ profile }) => profile?.cache_marks === "none");

  test.each(silent.map(({ name }) => name))("%s gets none, and each is named", (vendor) => {
    const { json, dropped } = fitBy(vendor, "some-model", { ...marked, cache_control: { type: "ephemeral" } });
    expect(JSON.stringify(json)).not.toMatch(/cache_control|prompt_cache/);
    expect(dropped.filter((path) => /cache/.test(path))).toEqual([
      "messages[0].content[0].cache_control",
      "messages[0].content[1].prompt_cache_breakpoint",
      "messages[1].cache_control",
      "messages[2].tool_calls[0].cache_control",
      "messages[3].cache_control",
      "tools[0].cache_control",
      "cache_control",
    ]);
  });

  test("every vendor's profile says which it takes", () => {
    expect(vendors.filter(({ profile }) => profile && !profile.cache_marks).map(({ name }) => name)).toEqual([]);
    expect(silent.length).toBeGreaterThan(10);
  });

  test("GPT from 5.6 on gets breakpoints, at parts", () => {
    const { json, dropped } = fitBy("openai", "gpt-5.6-sol", marked);
    const plain = { prompt_cache_breakpoint: { mode: "explicit" } };
    expect(json.messages).toEqual([
      user([text("a", plain), text("b", openAis), text("c")]),
      user([text("whole", plain)]),
      called(),
      { role: "tool", tool_call_id: "c", content: [text("result", plain)] },
      user("end"),
    ]);
    expect(json.tools).toEqual([tool(), tool()]);
    expect(dropped).toEqual(["messages[2].tool_calls[0].cache_control", "tools[0].cache_control"]);
  });

  test("Qwen gets Claude's, at parts", () => {
    const { json } = fitBy("alibaba", "qwen-max", marked);
    expect(json.messages).toMatchObject([
      user([text("a", claudes), text("b", { cache_control: { type: "ephemeral" } }), text("c")]),
      user([text("whole", claudes)]),
      called(),
      { role: "tool", content: [text("result", claudes)] },
      user("end"),
    ]);
  });

  test("an aggregator gets each as it is, at parts", () => {
    const { json, dropped } = fitBy("openrouter", "anthropic/claude-sonnet-5", marked);
    expect(json.messages).toEqual([
      marked.messages[0],
      user([text("whole", claudes)]),
      marked.messages[2],
      { role: "tool", tool_call_id: "c", content: [text("result", claudes)] },
      user("end"),
    ]);
    expect(json.tools).toEqual(marked.tools);
    expect(dropped).toEqual([]);
  });

  test("a mark where nothing is said is named or gone, and null is no mark", () => {
    const nulls = { cache_control: null, prompt_cache_breakpoint: null };
    const json = { model: "m", messages: [user("", claudes), user([text("a", nulls)], nulls), called()] };
    const fitted = fitBy("groq", "m", json);
    expect(fitted.json.messages).toEqual([user(""), user([text("a")]), called()]);
    expect(fitted.dropped).toEqual(["messages[0].cache_control"]);
  });

  test("one long text keeps every letter", () => {
    const said = "é".repeat(200_000);
    const { json } = fitBy("openai", "gpt-6", { model: "m", messages: [user(said, claudes)] });
    expect(json.messages).toEqual([user([text(said, { prompt_cache_breakpoint: { mode: "explicit" } })])]);
  });

  test("a server that nobody knows gets those of its own format as they are, and none of a translation", () => {
    const profile = fittingOf(createProfile({}).of("m"), undefined);
    const request = Wire.ofJson(CreateChatCompletionRequestSchema, marked);
    expect(runNow(profile.fit("chat", request, true)).request.json()).toEqual(marked);
    expect(JSON.stringify(runNow(profile.fit("chat", request, false)).request.json())).not.toMatch(/cache/);
  });

  test.each([
    ["groq", "m", undefined],
    ["openai", "gpt-4o", undefined],
    ["openai", "gpt-6", { mode: "explicit" }],
  ])("options of OpenAI's cache reach %s's %s as %j", (vendor, model, expected) => {
    const asked = { model, messages: [user("a")], prompt_cache_options: { mode: "explicit" } };
    const { json, dropped } = fitBy(vendor, model, asked);
    expect([json.prompt_cache_options, dropped]).toEqual([expected, expected ? [] : ["prompt_cache_options"]]);
  });
});

describe("of a response", () => {
  const part = { type: "input_text", text: "a", ...openAis };
  const result = { type: "function_call_output", call_id: "c", output: [part] };
  const asked = { model: "m", input: [{ role: "user", content: [part] }, result] };

  test.each([
    ["openai", "gpt-6", true],
    ["openai", "o3", false],
    ["xai", "grok-5", false],
    ["groq", "openai/gpt-oss-120b", false],
    ["openrouter", "openai/gpt-6", true],
  ])("%s's %s gets breakpoints: %s", (vendor, model, gets) => {
    const { json, dropped } = fitBy(vendor, model, asked);
    const { prompt_cache_breakpoint: _, ...unmarked } = part;
    const expected = gets ? part : unmarked;
    expect(json.input).toEqual([
      { role: "user", content: [expected] },
      { ...result, output: [expected] },
    ]);
    const names = ["input[0].content[0].prompt_cache_breakpoint", "input[1].output[0].prompt_cache_breakpoint"];
    expect(dropped).toEqual(gets ? [] : names);
  });
});
