/** Settings in the words of servers of open models reach models elsewhere as what they mean there, and their own servers as they came. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { answerAsAny } from "../../support/upstreams/one-of-each.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";

const reasoning = { reasoning: true };
const profileOf = (vendor: string) => vendors.find(({ name }) => name === vendor)?.profile;
const local = ["vllm", "sglang", "ollama"];
const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "far", kind: "openai", base_url },
      { name: "claude", kind: "anthropic", base_url },
      {
        name: "own",
        kind: "openai",
        base_url,
        profile: { operations: { responses: "/responses" }, efforts: ["none", "low", "medium", "high"] },
      },
      { name: "strict", kind: "openai", base_url, profile: profileOf("google") },
      { name: "fast", kind: "openai", base_url, profile: profileOf("groq") },
      ...local.map((name) => ({ name, kind: "openai" as const, base_url, profile: profileOf(name) })),
    ],
    models: [
      modelAt("far", "far", "m"),
      { ...modelAt("claude", "adaptive", "claude-opus-4-8"), ...reasoning },
      { ...modelAt("claude", "budget", "claude-opus-4-5"), ...reasoning },
      { ...modelAt("own", "responses", "m"), ...reasoning },
      modelAt("strict", "gemini", "gemini-2.5-flash"),
      modelAt("fast", "oss", "openai/gpt-oss-20b"),
      ...local.map((name) => modelAt(name, name, "qwen3")),
      ...local.map((name) => ({ ...modelAt(name, `${name}-thinker`, "qwen3"), ...reasoning })),
    ],
    embeddedModels: false,
  }),
  { script: answerAsAny },
);

async function asked(model: string, more: JsonObject) {
  const body = { model, messages: [{ role: "user", content: "hi" }], max_tokens: 9000, ...more };
  const { status, text, headers } = await ask(gateway, "/v1/chat/completions", body);
  expect(status, text).toBe(200);
  return { json: upstream.received.at(-1)?.asked as JsonObject, dropped: headers.get("x-gateway-dropped") };
}

const off: readonly JsonObject[] = [
  { enable_thinking: false },
  { chat_template_kwargs: { enable_thinking: false } },
  { chat_template_kwargs: { thinking: false } },
  { thinking_budget: 0 },
  { think: false },
];
const on: readonly JsonObject[] = [
  { enable_thinking: true, thinking_budget: 3000 },
  { chat_template_kwargs: { enable_thinking: true, thinking_budget: 3000 } },
  { thinking_budget: 3000 },
];
const medium: readonly JsonObject[] = [
  { enable_thinking: true },
  { chat_template_kwargs: { thinking: true } },
  { think: true },
  { think: "medium" },
  { chat_template_kwargs: { reasoning_effort: "medium" } },
];

test.each(off)("off: %j", async (setting) => {
  for (const model of ["adaptive", "budget"]) {
    const { json, dropped } = await asked(model, setting);
    expect(json.thinking ?? { type: "disabled" }).toEqual({ type: "disabled" });
    expect(dropped).toBeNull();
  }
  expect((await asked("responses", setting)).json.reasoning).toEqual({ effort: "none" });
  expect((await asked("gemini", setting)).json.reasoning_effort).toBe("none");
});

test.each([...on, ...medium])("on: %j", async (setting) => {
  const { json, dropped } = await asked("adaptive", setting);
  expect(json).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "medium" } });
  expect(dropped).toBeNull();
  expect((await asked("responses", setting)).json.reasoning).toEqual({ effort: "medium" });
  for (const model of ["gemini", "oss"]) {
    const fitted = await asked(model, setting);
    expect(fitted.json.reasoning_effort).toBe("medium");
    for (const key of [...Object.keys(setting), "reasoning"]) expect(fitted.json).not.toHaveProperty(key);
    expect(fitted.dropped).toBeNull();
  }
});

test.each(on)("with a budget: %j", async (setting) => {
  expect((await asked("budget", setting)).json.thinking).toMatchObject({ type: "enabled", budget_tokens: 3000 });
});

test("reasoning of a chat's own words reaches servers that know the effort alone", async () => {
  const { json, dropped } = await asked("oss", { reasoning: { effort: "high" } });
  expect(json.reasoning_effort).toBe("high");
  expect(dropped).toBeNull();
});

test("a setting of chat's own wins, and the other is named", async () => {
  const both = { reasoning_effort: "high", enable_thinking: false };
  const { json, dropped } = await asked("adaptive", both);
  expect(json.output_config).toEqual({ effort: "high" });
  expect(dropped).toBe("enable_thinking");
});

test("what stands beside the switch is named, and so is a switch that the model does not have", async () => {
  const { dropped } = await asked("responses", { chat_template_kwargs: { thinking: true, documents: "none" } });
  expect(dropped).toBe("chat_template_kwargs.documents");
  const refused = await ask(gateway, "/v1/chat/completions", {
    model: "gemini",
    messages: [{ role: "user", content: "hi" }],
    chat_template_kwargs: { novel: 1 },
  });
  expect(refused.headers.get("x-gateway-dropped")).toBe("chat_template_kwargs");
});

const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };

test.each([
  { format: schema },
  { guided_json: schema },
  { structured_outputs: { json: schema } },
  { json_schema: schema },
] as JsonObject[])("a schema for the answer: %j", async (setting) => {
  const claude = await asked("adaptive", setting);
  expect(claude.json).toMatchObject({ output_config: { format: { type: "json_schema", schema } } });
  expect(claude.dropped).toBeNull();
  const response = await asked("responses", setting);
  expect(response.json.text).toMatchObject({ format: { type: "json_schema", schema } });
  const gemini = await asked("gemini", setting);
  expect(gemini.json.response_format).toMatchObject({ type: "json_schema", json_schema: { name: "answer", schema } });
  expect(gemini.dropped).toBeNull();
});

test("JSON as Ollama is asked for it", async () => {
  expect((await asked("responses", { format: "json" })).json.text).toEqual({ format: { type: "json_object" } });
  expect((await asked("gemini", { format: "json" })).json.response_format).toEqual({ type: "json_object" });
});

test.each([...off, ...on, { format: "json" }, { guided_json: schema }] as JsonObject[])(
  "an unknown server gets %j as it came",
  async (setting) => {
    const { json, dropped } = await asked("far", setting);
    expect(json).toMatchObject(setting);
    expect(dropped).toBeNull();
  },
);

/** They answer as if such a setting were not there: vLLM 0.33, SGLang 0.5.23 and Ollama's openai/openai.go say which they know. */
test.each(local)("%s gets settings that it would pass over as what it knows", async (model) => {
  const switches = [
    { reasoning: { enabled: false } },
    { enable_thinking: false },
    { think: false },
    { thinking_budget: 0 },
  ];
  for (const setting of switches) {
    const { json, dropped } = await asked(model, setting);
    const [key = ""] = Object.keys(setting);
    expect([json.reasoning_effort, key in json, dropped], key).toEqual(["none", false, null]);
  }
  const schema = { type: "object", properties: { a: { type: "string" } } };
  for (const key of ["guided_json", "format", "json_schema"]) {
    const { json, dropped } = await asked(model, { [key]: schema });
    expect([json.response_format, key in json, dropped]).toMatchObject([{ json_schema: { schema } }, false, null]);
  }
});

test.each<[string, JsonObject, string | undefined]>([
  ["vllm", { type: "disabled" }, "none"],
  ["ollama", { type: "enabled", budget_tokens: 3000 }, "medium"],
  ["vllm", { type: "enabled" }, "medium"],
  ["vllm", { type: "enabled", effort: "high" }, "high"],
])("%s gets thinking %j as the effort", async (model, thinking, effort) => {
  const { json } = await asked(model, { thinking });
  expect([json.reasoning_effort, json.thinking]).toEqual([effort, undefined]);
  const own = await asked(model, { thinking, reasoning_effort: "low" });
  expect(own.json.reasoning_effort).toBe("low");
});

test.each(local)(
  "%s is told by callers of messages that its model is not to think, where that is known to",
  async (name) => {
    const off = { max_tokens: 9, thinking: { type: "disabled" }, messages: [{ role: "user", content: "hi" }] };
    const told = async (model: string, more: JsonObject = {}) => {
      const { status, dropped } = await ask(gateway, "/v1/messages", { model, ...off, ...more });
      return [status, dropped, upstream.received.at(-1)?.asked.reasoning_effort];
    };
    expect(await told(`${name}-thinker`)).toEqual([200, null, "none"]);
    expect(await told(`${name}-thinker`, { output_config: { effort: "low" } })).toEqual([
      ...[200, "output_config.effort", "none"],
    ]);
    expect(await told(name)).toEqual([200, "thinking", undefined]);
  },
);

test("thinking goes to SGLang, whose templates read it, and to Claude as it came", async () => {
  expect((await asked("sglang", { thinking: { type: "disabled" } })).json.thinking).toEqual({ type: "disabled" });
  expect((await asked("budget", { thinking: { type: "disabled" } })).json.thinking).toEqual({ type: "disabled" });
});
