/** Settings in `extra_body`, which OpenAI's SDK for Python alone spreads over the body, reach models as if it had. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { answerAsAny } from "../../support/upstreams/one-of-each.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";

const profile = vendors.find(({ name }) => name === "google")?.profile;
const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "far", kind: "openai", base_url },
      { name: "own", kind: "openai", base_url, profile: { operations: { responses: "/responses" } } },
      { name: "claude", kind: "anthropic", base_url },
      { name: "google", kind: "openai", base_url, profile },
    ],
    models: [
      modelAt("far", "chat", "m"),
      modelAt("own", "responses", "m"),
      modelAt("claude", "claude", "claude-sonnet-4-5"),
      modelAt("far", "vectors", "v", { kind: "embedding" }),
      modelAt("google", "gemini", "gemini-3-pro"),
    ],
    embeddedModels: false,
  }),
  { script: answerAsAny },
);

const messages = [{ role: "user", content: "hi" }];

async function asked(path: string, body: JsonObject) {
  const { status, text, dropped } = await ask(gateway, `/v1${path}`, body);
  expect(status, text).toBe(200);
  return { sent: upstream.lastAsked, dropped };
}

describe.each([
  ["/chat/completions", "chat", { messages }],
  ["/completions", "chat", { prompt: "hi" }],
  ["/messages", "claude", { messages, max_tokens: 99 }],
  ["/responses", "responses", { input: "hi", store: false }],
  ["/embeddings", "vectors", { input: "hi" }],
])("on %s", (path, model, body) => {
  test("what it holds is of the request itself", async () => {
    const extra_body = { top_k: 20, metadata: { a: "b" }, extra_body: { input_type: "query" } };
    const { sent, dropped } = await asked(path, { model, ...body, extra_body });
    expect(sent).toMatchObject({ top_k: 20, metadata: { a: "b" }, input_type: "query" });
    expect(sent).not.toHaveProperty("extra_body");
    expect(dropped).toBeNull();
  });

  test("what servers of a cluster tell each other of their memory is no caller's to say, wherever it stands", async () => {
    const state: JsonObject = { kv_transfer_params: { do_remote_prefill: true, remote_host: "10.0.0.1" } };
    const further: JsonObject = { bootstrap_host: "10.0.0.1", bootstrap_room: 7, session_params: { id: "theirs" } };
    const { sent, dropped } = await asked(path, { model, ...body, ...state, extra_body: further });
    for (const key of Object.keys({ ...state, ...further })) expect(sent).not.toHaveProperty(key);
    const named = [...Object.keys(further).map((key) => `extra_body.${key}`), ...Object.keys(state)];
    expect(dropped?.split(", ").sort()).toEqual(named.sort());
  });
});

test("it wins over what stands beside it, but for the form of the answer", async () => {
  const extra_body = { temperature: 0, stream: true };
  const { sent } = await asked("/chat/completions", { model: "chat", messages, temperature: 1, extra_body });
  expect(sent.temperature).toBe(0);
  expect(sent.stream ?? false).toBe(false);
});

test("what is read of other servers' words is read there, too", async () => {
  const extra_body = { chat_template_kwargs: { enable_thinking: false }, think_twice: 1 };
  const { sent, dropped } = await asked("/chat/completions", { model: "claude", messages, extra_body });
  expect(sent).not.toHaveProperty("chat_template_kwargs");
  expect(dropped).toBe("extra_body.think_twice");
});

test.each([
  { google: { thinking_config: { thinking_budget: 0 } } },
  { extra_body: { google: { thinking_config: { thinking_budget: 0 } } } },
])("Google's own settings stay in %j", async (extra_body) => {
  const { sent } = await asked("/chat/completions", { model: "gemini", messages, extra_body });
  expect(sent.extra_body).toEqual({ google: { thinking_config: { thinking_budget: 0 } } });
});

test("a value that does not fit is refused by the caller's own path", async () => {
  const body = { model: "chat", messages, extra_body: { temperature: "hot" } };
  const { status, text } = await ask(gateway, "/v1/chat/completions", body);
  expect(status).toBe(400);
  expect(text).toContain("extra_body.temperature");
});

test.each(["", 1, [], null])("%j for it is no reason to fail", async (extra_body) => {
  const { sent } = await asked("/chat/completions", { model: "chat", messages, extra_body });
  expect(sent.messages).toEqual(messages);
});
