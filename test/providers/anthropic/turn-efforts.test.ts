/** Efforts in mid-conversation, as Claude Code asks for them, are kept for models that take them, and are the request's for all others. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { answerAsAny } from "../../support/upstreams/one-of-each.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";

const taking = ["claude-opus-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1"];
const others = ["claude-opus-4-8", "claude-sonnet-5", "claude-opus-4-5", "deepseek-v4-pro"];
const profile = vendors.find(({ name }) => name === "openai")?.profile ?? {};

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "claude", kind: "anthropic", base_url },
      { name: "openai", kind: "openai", base_url, profile },
    ],
    models: [
      ...[...taking, ...others, "claude-haiku-4-5"].map((name) => modelAt("claude", name)),
      ...["gpt-5.4", "gpt-5.3-codex", "gpt-4.1"].map((name) => modelAt("openai", name)),
    ],
    embeddedModels: false,
  }),
  { script: answerAsAny },
);

const user = (content: JsonValue = "hi"): JsonObject => ({ role: "user", content });
const assistant = { role: "assistant", content: "Hello." };
const effort = (level: string, content: JsonValue = []) => ({
  role: "system",
  content,
  output_config: { effort: level },
});
const use = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {} }] };
const result = user([{ type: "tool_result", tool_use_id: "t1", content: "1" }]);

async function sentFor(model: string, messages: JsonValue[], more: JsonObject = {}) {
  const body = { model, max_tokens: 9000, messages, ...more };
  const { status, text, dropped } = await ask(gateway, "/v1/messages", body);
  expect(status, text).toBe(200);
  return { sent: upstream.lastAsked, dropped };
}

/** Conversations, and the effort of the next answer where the request asks for high. */
const conversations: Readonly<Record<string, readonly [JsonValue[], string]>> = {
  "behind the user's words": [[user(), assistant, user("go"), effort("low")], "low"],
  "before the user's words": [[user(), assistant, effort("low"), user("go")], "low"],
  "long ago": [[user(), effort("low"), assistant, user("go")], "low"],
  twice: [[user(), effort("low"), assistant, effort("medium"), user("go")], "medium"],
  "behind the model's turn": [[user(), assistant, effort("low")], "high"],
  "before the result of a call": [[user(), use, effort("low"), result], "high"],
  "behind the result of a call": [[user(), use, result, effort("low")], "high"],
};

describe.each(Object.entries(conversations))("an effort %s", (_, [messages, expected]) => {
  test.each(taking)("stays for %s", async (model) => {
    const { sent, dropped } = await sentFor(model, messages, { output_config: { effort: "high" } });
    expect([sent.messages, sent.output_config, dropped]).toEqual([messages, { effort: "high" }, null]);
  });

  test.each(others)("is the request's for %s", async (model) => {
    const { sent, dropped } = await sentFor(model, messages, { output_config: { effort: "high" } });
    expect([sent.output_config, dropped]).toEqual([{ effort: expected }, null]);
    expect(sent.messages).toEqual(messages.filter((turn) => (turn as JsonObject).role !== "system"));
  });

  test("is that of a server of chat or responses", async () => {
    const more = { output_config: { effort: "high" }, thinking: { type: "adaptive" } };
    const chat = await sentFor("gpt-5.4", messages, more);
    expect([chat.sent.reasoning_effort ?? chat.sent.reasoning?.effort, chat.dropped]).toEqual([expected, null]);
    expect(JSON.stringify(chat.sent)).not.toMatch(/"system"|"content":""/);
    const response = await sentFor("gpt-5.3-codex", messages, more);
    expect(response.sent.reasoning.effort).toBe(expected);
  });
});

test("instructions with an effort are the user's text where no model takes either", async () => {
  const { sent } = await sentFor("deepseek-v4-pro", [user(), effort("low", "Be brief.")]);
  expect(sent.output_config).toEqual({ effort: "low" });
  expect(JSON.stringify(sent.messages)).toContain("Be brief.");
  expect(JSON.stringify(sent.messages)).not.toContain("output_config");
});

test("a format stays beside the effort", async () => {
  const format = { type: "json_schema", schema: { type: "object", properties: {}, additionalProperties: false } };
  const { sent } = await sentFor("claude-opus-4-8", [user(), effort("low")], { output_config: { format } });
  expect(sent.output_config).toMatchObject({ effort: "low", format });
});

test("an effort that the model does not take is left out and named", async () => {
  const claude = await sentFor("claude-haiku-4-5", [user(), effort("low")]);
  expect(claude.sent).not.toHaveProperty("output_config");
  expect(claude.dropped).toContain("output_config.effort");
  const chat = await sentFor("gpt-4.1", [user(), effort("low")]);
  expect(chat.sent).not.toHaveProperty("reasoning_effort");
  expect(chat.dropped).toContain("messages[1].output_config.effort");
});

test.each([7, "low", { effort: 7 }, { effort: "utmost" }, {}])(
  "the value %j is no effort for a chat",
  async (config) => {
    const turn = { role: "system", content: [], output_config: config } as JsonObject;
    const { sent } = await sentFor("gpt-5.4", [user(), turn]);
    expect(sent.reasoning_effort).toBeUndefined();
  },
);
