/** A conversation that changed its model: Claude does not get thinking that it has not signed. */
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import { describe, expect, test } from "vitest";
import { anthropicUpstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-x",
  content: [{ type: "text", text: "ok" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
};
const user: MessageParam = { role: "user", content: "hi" };
const text = { type: "text", text: "Two." };
const signed = { type: "thinking", thinking: "hm", signature: "c2ln" };
const use = { type: "tool_use", id: "t1", name: "f", input: {} };
const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "4" }] };
const budget = { type: "enabled", budget_tokens: 1024 };

const { upstream, gateway } = scriptedStage(
  (baseUrl) => anthropicUpstreamAt(baseUrl, "upstream-key", "claude-sonnet-4-6"),
  { script: (exchange) => exchange.json(200, exchange.path.endsWith("/count_tokens") ? { input_tokens: 9 } : answer) },
);

async function ask(body: object, path = "/messages", headers: object = {}) {
  const response = await fetch(gateway.baseUrl + path, {
    method: "POST",
    headers: { "x-api-key": gateway.apiKey, ...headers },
    body: JSON.stringify({ model: "embedded-chat", max_tokens: 4000, ...body }),
  });
  const told = (await response.json()) as { error: { message: string } };
  const sent = upstream.lastAsked;
  return { status: response.status, dropped: response.headers.get("x-gateway-dropped"), sent, told };
}

describe("Claude after another model", () => {
  test.for([
    ["an empty signature", { type: "thinking", thinking: "1", signature: "" }],
    ["no signature", { type: "thinking", thinking: "1" }],
    ["a null for a signature", { type: "thinking", thinking: "1", signature: null }],
    ["redacted thinking of nothing", { type: "redacted_thinking", data: "" }],
  ] as const)("does not see thinking with %s", async ([, thinking]) => {
    const messages = [user, { role: "assistant", content: [thinking, text] }, user];
    for (const path of ["/messages", "/messages/count_tokens"]) {
      const { status, dropped, sent } = await ask({ messages }, path);
      expect({ status, dropped }).toEqual({ status: 200, dropped: "messages[1].content[0]" });
      expect(sent.messages).toEqual([user, { role: "assistant", content: [text] }, user]);
    }
  });

  test("gets what it has signed, byte by byte", async () => {
    const messages = [user, { role: "assistant", content: [signed, use] }, result];
    const { dropped, sent } = await ask({ messages, thinking: budget });
    expect(dropped).toBeNull();
    expect(sent.messages).toEqual(messages);
    expect(sent.thinking).toEqual(budget);
  });

  test("gets no turn of nothing but such thinking", async () => {
    const messages = [user, { role: "assistant", content: [{ ...signed, signature: "" }] }, user];
    expect((await ask({ messages })).sent.messages).toEqual([user, user]);
  });

  test("does not think within a budget in a turn that now begins without thinking", async () => {
    const messages = [user, { role: "assistant", content: [{ ...signed, signature: "" }, use] }, result];
    const edits = [{ type: "clear_thinking_20251015", keep: "all" }];
    const { sent, dropped } = await ask({ messages, thinking: budget, context_management: { edits } });
    expect(Object.keys(sent)).toEqual(["model", "max_tokens", "messages"]);
    expect(dropped).toBe("messages[1].content[0], thinking, context_management");
    const adaptive = { type: "adaptive" };
    expect((await ask({ messages, thinking: adaptive })).sent.thinking).toEqual(adaptive);
    expect(
      (await ask({ messages: [...messages, { role: "assistant", content: "ok" }, user], thinking: budget })).sent
        .thinking,
    ).toEqual(budget);
  });

  test("gets none of it in a long conversation either", async () => {
    const long = { role: "user", content: "word ".repeat(30_000) };
    const messages = [long, { role: "assistant", content: [{ ...signed, signature: "" }, text] }, user];
    const { sent, dropped } = await ask({ messages });
    expect(sent.messages).toEqual([long, { role: "assistant", content: [text] }, user]);
    expect(sent.model).toBe("claude-sonnet-4-6");
    expect(dropped).toBe("messages[1].content[0]");
  });

  test("is not called for a caller in strict mode", async () => {
    const messages = [user, { role: "assistant", content: [{ ...signed, signature: "" }, text] }, user];
    const { status, told } = await ask({ messages }, "/messages", { "x-gateway-strict": "true" });
    expect(status).toBe(400);
    expect(told.error.message).toContain("messages[1].content[0]");
  });
});

test("Claude does not get citations that a translation made, which are not named", async () => {
  const made = { type: "web_search_result_location", url: "https://a.example", title: null, cited_text: "" };
  const own = { ...made, encrypted_index: "sealed" };
  const messages = (...citations: readonly object[]) => {
    const block = citations.length > 0 ? { ...text, citations } : text;
    return [user, { role: "assistant", content: [block] }, user];
  };
  for (const [given, sent] of [
    [messages({ ...made, encrypted_index: "" }), messages()],
    [messages({ ...made, encrypted_index: "" }, own), messages(own)],
    [messages(own), messages(own)],
  ] as const) {
    const asked = await ask({ messages: given });
    expect(asked).toMatchObject({ status: 200, dropped: null });
    expect(asked.sent.messages).toEqual(sent);
  }
});
