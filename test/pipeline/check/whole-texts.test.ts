/** Requests to models whose texts were cut through an emoji reach every server as Unicode. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { twoFamiliesStage } from "../../support/upstreams/families-stage.ts";

const { upstream, gateway } = twoFamiliesStage();

const cut = "🌤 an error: \ud83d… and 😀";
const result = { type: "tool_result", tool_use_id: "t", content: cut };
const use = { type: "tool_use", id: "t", name: "f", input: { "\ude00": [cut] } };
const turns = [
  { role: "user", content: "hi" },
  { role: "assistant", content: [use] },
  { role: "user", content: [result] },
];
const bodies: Readonly<Record<string, JsonObject>> = {
  "/chat/completions": { messages: [{ role: "user", content: cut }], vendor: { text: cut } },
  "/completions": { prompt: cut },
  "/messages": { max_tokens: 99, messages: turns, metadata: { user_id: cut } },
  "/responses": { input: [{ role: "user", content: [{ type: "input_text", text: cut }] }], store: false },
};

test.each(
  Object.entries(bodies).flatMap(([path, body]) => ["chat", "claude"].map((model) => [path, model, body] as const)),
)("at %s to %s", async (path, model, body) => {
  for (const more of [{}, { user: "x".repeat(300_000) }]) {
    const { status, text } = await ask(gateway, `/v1${path}`, { model, ...body, ...more });
    expect(status, text).toBe(200);
    const sent = upstream.received.at(-1)?.body.toString() ?? "";
    expect(sent).toContain("an error: ");
    expect(sent).not.toMatch(/\\ud[89a-f]/i);
    expect(sent).toContain("😀");
    expect(JSON.stringify(JSON.parse(sent)).isWellFormed()).toBe(true);
  }
});

test("a model's name stays what it was, and is unknown", async () => {
  const { status } = await ask(gateway, "/v1/chat/completions", { model: "chat\ud83d", messages: [] });
  expect([400, 404]).toContain(status);
});
