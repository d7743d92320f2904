/** Instructions in mid-conversation, as Claude Code writes them for every model, reach each server of the Messages API as it takes them. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsAnthropic } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [{ name: "far", kind: "anthropic", base_url }],
    models: [
      ...["claude-sonnet-4-6", "claude-opus-4-8", "claude-sonnet-5", "claude-haiku-5-5", "deepseek-v4-pro"].map(
        (name) => modelAt("far", name),
      ),
    ],
    embeddedModels: false,
  }),
  { script: answerAsAnthropic },
);

const user = { role: "user", content: "hi" };
const system = { role: "system", content: "Answer in French." };
const answer = { role: "assistant", content: [{ type: "text", text: "Hello." }] };
const use = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {} }] };
const result = { type: "tool_result", tool_use_id: "t1", content: "1" };
const searched = {
  role: "assistant",
  content: [{ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }],
};
const text = (words: string) => ({ type: "text", text: words });
const told = text("<system-reminder>\nAnswer in French.\n</system-reminder>");

async function sentFor(model: string, messages: JsonValue[], more: JsonObject = {}) {
  const {
    status,
    text: said,
    dropped,
  } = await ask(gateway, "/v1/messages", { model, max_tokens: 99, messages, ...more });
  expect([status, dropped], said).toEqual([200, null]);
  return upstream.lastAsked;
}

describe.each(["claude-sonnet-4-6", "deepseek-v4-pro"])("%s", (model) => {
  test.each<[string, JsonValue[], JsonValue[]]>([
    ["behind the user's turn", [user, system], [{ role: "user", content: [text("hi"), told] }]],
    ["in the middle", [user, system, answer, user], [{ role: "user", content: [text("hi"), told] }, answer, user]],
    [
      "before the results of calls",
      [user, use, system, { role: "user", content: [result] }],
      [user, use, { role: "user", content: [result, told] }],
    ],
    ["behind the model's turn", [user, answer, system], [user, answer, { role: "user", content: [told] }]],
    ["two of them", [user, system, system], [{ role: "user", content: [text("hi"), told, told] }]],
    [
      "one that has its tags",
      [
        user,
        {
          role: "system",
          content: [{ ...text("<system-reminder>x</system-reminder>"), cache_control: { type: "ephemeral" } }],
        },
      ],
      [
        {
          role: "user",
          content: [
            text("hi"),
            { ...text("<system-reminder>x</system-reminder>"), cache_control: { type: "ephemeral" } },
          ],
        },
      ],
    ],
  ])("gets those %s in the user's turn", async (_, messages, expected) => {
    const sent = await sentFor(model, messages, { system: "Be brief." });
    expect(sent.messages).toEqual(expected);
    expect(sent.system).toBe("Be brief.");
  });
});

describe.each(["claude-opus-4-8", "claude-sonnet-5", "claude-haiku-5-5"])("%s", (model) => {
  test.each<[string, JsonValue[]]>([
    ["behind the user's turn", [user, system]],
    ["before the model's", [user, system, answer, user]],
    ["behind a search", [user, searched, system]],
  ])("gets those %s as they are", async (_, messages) => {
    expect((await sentFor(model, messages)).messages).toEqual(messages);
  });

  test.each<[string, JsonValue[], JsonValue[]]>([
    [
      "behind the model's turn",
      [user, answer, system, user],
      [user, answer, { role: "user", content: [text("hi"), told] }],
    ],
    ["before a user's turn", [user, system, user], [{ role: "user", content: [text("hi"), told] }, user]],
    [
      "two of them",
      [user, system, system],
      [user, { role: "system", content: [text("Answer in French."), text("Answer in French.")] }],
    ],
  ])("gets those %s as it takes them", async (_, messages, expected) => {
    expect((await sentFor(model, messages)).messages).toEqual(expected);
  });
});

test("what holds more than texts is its server's to decide on", async () => {
  const change = { role: "system", content: [{ type: "tool_removal", name: "f" }] };
  expect((await sentFor("claude-sonnet-4-6", [user, change])).messages).toEqual([user, change]);
});

test("they are found in a long conversation, and counted so", async () => {
  const long = { role: "user", content: "x".repeat(300_000) };
  const sent = await sentFor("claude-sonnet-4-6", [long, system]);
  expect(sent.messages).toEqual([{ role: "user", content: [text(long.content), told] }]);
  upstream.script = (exchange) => exchange.json(200, { input_tokens: 9 });
  const counted = await ask(gateway, "/v1/messages/count_tokens", {
    model: "claude-sonnet-4-6",
    messages: [user, system],
  });
  expect(counted.status).toBe(200);
  expect(upstream.lastAsked.messages).toEqual([{ role: "user", content: [text("hi"), told] }]);
});
