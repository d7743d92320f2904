/** Each generation of Claude is asked for thinking, effort and tools as it takes them, whichever its client knows. */
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { anthropicUpstreamAt, modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsAnthropic } from "../../support/vendors.ts";

const names = [
  ...["claude-3-5-haiku-20241022", "claude-sonnet-4-20250514", "claude-haiku-4-5-20251001", "claude-sonnet-4-5"],
  ...["claude-opus-4-5", "claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4-8", "claude-sonnet-5", "an-alias"],
  ...["claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5-1"],
] as const;
type Name = (typeof names)[number];

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({
    ...anthropicUpstreamAt(baseUrl),
    models: names.map((name) => modelAt("far", name, name, { price: { input: 1, output: 1 } })),
  }),
  {
    script: (exchange) =>
      exchange.path.endsWith("/count_tokens") ? exchange.json(200, { input_tokens: 9 }) : answerAsAnthropic(exchange),
  },
);

const user = { role: "user", content: "hi" };
const use = { type: "tool_use", id: "t1", name: "f", input: {} };
const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "4" }] };
const signed = { type: "thinking", thinking: "hm", signature: "c2ln" };
const tools = [{ name: "f", input_schema: { type: "object" } }];
const adaptive = { type: "adaptive" };
const enabled = { type: "enabled", budget_tokens: 2000 };
const within = (budget_tokens: number) => ({ type: "enabled", budget_tokens });

async function asked(model: Name, body: object, headers: Record<string, string> = {}) {
  const whole = { model, max_tokens: 9000, messages: [user], ...body };
  const { status, dropped } = await ask(gateway, "/v1/messages", whole, { headers });
  const { thinking, output_config: config, context_management: management, tool_choice: choice } = upstream.lastAsked;
  return { status, dropped, thinking, config, management, choice };
}

describe("a budget", () => {
  test.each(["claude-opus-4-8", "claude-sonnet-5"] as const)("becomes adaptive thinking for %s", async (model) => {
    const told = await asked(model, { thinking: enabled });
    const summarized = { ...adaptive, display: "summarized" };
    expect(told).toMatchObject({ status: 200, dropped: "thinking.budget_tokens", thinking: summarized });
    const omitted = await asked(model, { thinking: { ...enabled, display: "omitted" } });
    expect(omitted.thinking).toEqual({ ...adaptive, display: "omitted" });
  });

  test.each(["claude-sonnet-4-5", "claude-opus-4-6", "an-alias"] as const)("is %s's own", async (model) => {
    expect(await asked(model, { thinking: enabled })).toMatchObject({ dropped: null, thinking: enabled });
  });

  test("is not lost in silence", async () => {
    const strict = { "x-gateway-strict": "true" };
    const body = { model: "claude-opus-4-8", max_tokens: 9000, messages: [user], thinking: enabled };
    const { status, json } = await ask(gateway, "/v1/messages", body, { headers: strict });
    expect([status, json.error.message]).toEqual([400, expect.stringContaining("thinking.budget_tokens")]);
  });
});

describe("adaptive thinking", () => {
  test.each([
    ["without an effort", {}, 4096],
    ["of little effort", { output_config: { effort: "low" } }, 1024],
    ["of most effort, within the bound", { output_config: { effort: "max" } }, 4500],
    [
      "in a turn that began with thinking",
      { messages: [user, { role: "assistant", content: [signed, use] }, result] },
      4096,
    ],
  ])("%s becomes a budget", async (_, body, budget) => {
    for (const model of ["claude-sonnet-4-20250514", "claude-haiku-4-5-20251001", "claude-sonnet-4-5"] as const) {
      const told = await asked(model, { tools, thinking: adaptive, ...body });
      const dropped = "output_config" in body ? "output_config.effort" : null;
      expect(told).toEqual({
        status: 200,
        dropped,
        thinking: within(budget),
        config: undefined,
        management: undefined,
      });
    }
  });

  test.each([
    ["beside a bound that leaves no place", { max_tokens: 1024 }],
    ["beside a choice that forces a tool", { tools, tool_choice: { type: "any" } }],
    ["beside a temperature", { temperature: 0.5 }],
    [
      "in a turn that began without thinking",
      { tools, messages: [user, { role: "assistant", content: [use] }, result] },
    ],
  ])("%s is left out", async (_, body) => {
    expect(await asked("claude-sonnet-4-5", { thinking: adaptive, ...body })).toMatchObject({
      ...{ status: 200, dropped: "thinking", thinking: undefined },
    });
  });

  test("is left out for a model that never thinks, with what depends on it", async () => {
    const context_management = { edits: [{ type: "clear_thinking_20251015", keep: "all" }] };
    const told = await asked("claude-3-5-haiku-20241022", { thinking: adaptive, context_management });
    expect(told).toMatchObject({ dropped: "thinking, context_management", thinking: undefined, management: undefined });
  });

  test.each(["claude-opus-4-6", "claude-opus-4-8", "an-alias"] as const)("is %s's own", async (model) => {
    const body = { thinking: adaptive, output_config: { effort: "high" } };
    expect(await asked(model, body)).toMatchObject({ dropped: null, thinking: adaptive, config: { effort: "high" } });
  });

  test("is counted as a budget", async () => {
    const body = { model: "claude-sonnet-4-5", messages: [user], thinking: adaptive };
    const { status } = await ask(gateway, "/v1/messages/count_tokens", body);
    expect([status, upstream.lastAsked.thinking]).toEqual([200, within(4096)]);
  });
});

test.each([
  ["claude-sonnet-4-5", "high", undefined],
  ["claude-opus-4-5", "low", "low"],
  ["claude-opus-4-5", "max", "high"],
  ["claude-opus-4-5", "xhigh", "high"],
  ["claude-sonnet-4-6", "xhigh", "high"],
  ["claude-sonnet-4-6", "max", "max"],
  ["claude-opus-4-8", "xhigh", "xhigh"],
  ["an-alias", "max", "max"],
] as const)("%s is asked for the effort %s as %s, and for all else as it came", async (model, effort, taken) => {
  const format = { type: "json_schema", schema: { type: "object", description: "d".repeat(70_000) } };
  const told = await asked(model, { output_config: { effort, format } });
  expect(told.config).toEqual({ format, ...(taken && { effort: taken }) });
  expect(told.dropped).toBe(taken ? null : "output_config.effort");
});

describe("thinking is switched off", () => {
  const off = { type: "disabled" };
  const between = { type: "between_tools" };
  test.each([
    ["claude-sonnet-4-5", off],
    ["claude-opus-4-8", off],
    ["claude-sonnet-5", off],
    ["claude-sonnet-5-5", between],
  ] as const)("for %s by %j", async (model, word) => {
    for (const thinking of [off, between])
      expect(await asked(model, { thinking })).toMatchObject({ status: 200, dropped: null, thinking: word });
    const { thinking, config } = await asked(model, { thinking: word, output_config: { effort: "low" } });
    expect([thinking, config]).toEqual([word, model === "claude-sonnet-4-5" ? undefined : { effort: "low" }]);
  });

  test.each(["claude-opus-5-5", "claude-fable-5-1"] as const)("as far as %s can be", async (model) => {
    const told = await asked(model, { thinking: off });
    expect(told).toMatchObject({ dropped: "thinking", thinking: undefined, config: { effort: "low" } });
    const { config } = await asked(model, { thinking: off, output_config: { effort: "medium" } });
    expect(config).toEqual({ effort: "medium" });
  });

  test.each(["claude-sonnet-5", "claude-sonnet-5-5"] as const)(
    "for %s at no effort of thinking alone",
    async (model) => {
      for (const effort of ["xhigh", "max"])
        expect((await asked(model, { thinking: off, output_config: { effort } })).config).toEqual({ effort: "high" });
      expect((await asked(model, { thinking: adaptive, output_config: { effort: "max" } })).config).toEqual({
        effort: "max",
      });
    },
  );

  test("by the caller's own word for a model that nobody knows", async () => {
    for (const thinking of [off, between]) expect((await asked("an-alias", { thinking })).thinking).toEqual(thinking);
  });
});

test.each([
  ["claude-sonnet-5-5", true],
  ["claude-opus-5-5", true],
  ["claude-sonnet-5", false],
  ["an-alias", false],
] as const)("a forced tool is left to %s: %j", async (model, isLeft) => {
  for (const choice of [{ type: "any" }, { type: "tool", name: "f", disable_parallel_tool_use: true }]) {
    const told = await asked(model, { tools, tool_choice: choice });
    const { name: _, ...free } = { name: undefined, ...choice, type: "auto" };
    expect(told).toMatchObject({ status: 200, dropped: isLeft ? "tool_choice" : null });
    expect(told.choice).toEqual(isLeft ? free : choice);
  }
});
