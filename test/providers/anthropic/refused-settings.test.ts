/** Newer Claude models refuse sampling settings; and no request lets its vendor answer with another model. */
import { describe, expect, test } from "vitest";
import { refusesSampling } from "../../../src/providers/anthropic/generation.ts";
import { anthropicUpstreamAt, modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const answer = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "c", content: [{ type: "text", text: "ok" }] },
  ...{ stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } },
};
const messages = [{ role: "user", content: "hi" }];
const names = ["claude-opus-4-8", "claude-sonnet-4-6"] as const;

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({
    ...anthropicUpstreamAt(baseUrl),
    models: names.map((name) => modelAt("far", name, name, { price: { input: 1, output: 1 } })),
  }),
  { script: (exchange) => exchange.json(200, answer) },
);

async function ask(path: string, body: object, headers: object = {}) {
  const response = await fetch(gateway.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ max_tokens: 100, messages, ...body }),
  });
  const said = await response.text();
  const sent = upstream.lastAsked;
  return { status: response.status, dropped: response.headers.get("x-gateway-dropped"), said, sent };
}

test.each([
  ["claude-opus-4-7", true],
  ["claude-opus-4.8", true],
  ["us.anthropic.claude-opus-4-7-v1:0", true],
  ["anthropic/claude-sonnet-5", true],
  ["claude-haiku-5-5", true],
  ["claude-fable-5-1", true],
  ["claude-haiku-4-5-20251001", false],
  ["claude-opus-4-6", false],
  ["claude-sonnet-4-6", false],
  ["claude-opus-4-20250514", false],
  ["claude-opus-4-1-20250805", false],
  ["claude-3-5-haiku-20241022", false],
  ["claude-instant-1.2", false],
  ["claude-x", false],
  ["deepseek-v4", false],
] as const)("%s refuses sampling settings: %s", (model, refuses) => {
  expect(refusesSampling(model)).toBe(refuses);
});

describe.each(["/chat/completions", "/messages"])("by %s", (path) => {
  test("a newer model gets none of them, and its caller is told", async () => {
    const { status, dropped, sent } = await ask(path, { model: "claude-opus-4-8", temperature: 0.5, top_k: 3 });
    expect({ status, dropped }).toEqual({ status: 200, dropped: "temperature, top_k" });
    expect(Object.keys(sent)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^t(emperature|op_)/)]));
  });

  test("the default is no loss", async () => {
    const body = { model: "claude-opus-4-8", temperature: 1 };
    const { status, dropped, sent } = await ask(path, body, { "x-gateway-strict": "true" });
    expect({ status, dropped, temperature: sent.temperature }).toEqual({ status: 200, dropped: null });
  });

  test("a strict caller is refused", async () => {
    const body = { model: "claude-opus-4-8", temperature: 0.5 };
    const { status, said } = await ask(path, body, { "x-gateway-strict": "true" });
    expect([status, said]).toEqual([400, expect.stringContaining("temperature")]);
  });

  test("an older model gets them", async () => {
    const { sent } = await ask(path, { model: "claude-sonnet-4-6", temperature: 0.5, top_k: 3 });
    expect(sent).toMatchObject({ temperature: 0.5, top_k: 3 });
  });
});

describe("beside other settings a model of 4.6 gets", () => {
  const budget = { type: "enabled", budget_tokens: 1024 };
  test.each([
    ["a temperature, and no top_p", { temperature: 0.5, top_p: 0.9 }, { temperature: 0.5 }, "top_p"],
    ["a temperature, and no default of top_p", { temperature: 0.5, top_p: 1 }, { temperature: 0.5 }, null],
    ["top_p alone", { top_p: 0.9 }, { top_p: 0.9 }, null],
    ["a budget, and no sampling", { thinking: budget, temperature: 0.5, top_k: 3 }, {}, "temperature, top_k"],
    ["adaptive thinking, and no sampling", { thinking: { type: "adaptive" }, top_p: 0.5 }, {}, "top_p"],
    ["what thinking allows", { thinking: budget, temperature: 1 }, { temperature: 1 }, null],
    ["a high top_p", { thinking: budget, top_p: 0.97 }, { top_p: 0.97 }, null],
    ["all but thinking that is off", { thinking: { type: "disabled" }, top_k: 3 }, { top_k: 3 }, null],
  ])("%s", async (_, asked, expected, named) => {
    const body = { model: "claude-sonnet-4-6", max_tokens: 3000, ...asked };
    const { status, dropped, sent } = await ask("/messages", body);
    const { temperature, top_p, top_k, thinking } = sent;
    expect({ status, dropped }).toEqual({ status: 200, dropped: named });
    expect({ temperature, top_p, top_k, thinking }).toEqual({
      ...{ temperature: undefined, top_p: undefined, top_k: undefined },
      ...{ thinking: "thinking" in asked ? asked.thinking : undefined, ...expected },
    });
  });
});

test("fallback models of the vendor are left out and named: the caller may not be permitted them", async () => {
  for (const fallbacks of ["default", [{ model: "claude-fable-5-1" }]]) {
    const body = { model: "claude-opus-4-8", fallbacks };
    const { status, dropped, sent } = await ask("/messages", body, {
      "anthropic-beta": "server-side-fallback-2026-07-01",
    });
    expect({ status, dropped, kept: sent.fallbacks }).toEqual({ status: 200, dropped: "fallbacks" });
  }
});

test("a tool by which another model is called is refused where the model has a price", async () => {
  const before = upstream.received.length;
  const advisor = { type: "advisor_20260301", name: "advisor", model: "claude-fable-5-1" };
  const addition = { type: "tool_addition", tool: { type: "tool_definition", definition: advisor } };
  const added = [...messages, { role: "system", content: [addition] }];
  for (const body of [{ tools: [advisor] }, { messages: added }]) {
    const { status, said } = await ask("/messages", { model: "claude-sonnet-4-6", ...body });
    expect([status, said]).toEqual([403, expect.stringContaining("CLAUDE_CODE_DISABLE_ADVISOR_TOOL=1")]);
  }
  expect(upstream.received.length).toBe(before);
});
