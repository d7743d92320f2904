/** Requests are fitted to servers of which a profile says more than any in the catalogue. */
import { expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { fittingOf } from "../../../src/providers/profile/fit.ts";
import { createProfile } from "../../../src/providers/profile/profile.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";

test.each([
  ["that is on, each has thoughts", { reasoning: { enabled: true } }, " "],
  ["that is off by `reasoning_effort`, none needs thoughts", { reasoning_effort: "none" }, undefined],
  ["that is off by `reasoning`, none needs thoughts", { reasoning: { enabled: false } }, undefined],
])("of the turns of a model's thinking %s", (_, asked, thoughts) => {
  const profile = createProfile({
    ...{ thoughts: "reasoning_content", thoughts_demanded: true, refuses: ["reasoning"] },
    efforts: ["none", "medium"],
  });
  const turns = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "hello" },
    { role: "user", content: "go on" },
  ];
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages: turns, ...asked });
  const { messages } = runNow(fittingOf(profile.of("m"), undefined).fit("chat", request, true)).request.json();
  expect(messages).toEqual(turns.with(1, { ...turns[1], ...(thoughts && { reasoning_content: thoughts }) } as never));
});

test.each([
  ["mistral", "mistral-large-latest", { prompt_cache_key: "k" }, {}],
  ["openai", "gpt-5-pro", { reasoning_effort: "low" }, { reasoning_effort: "high" }],
  ["openai", "gpt-5.4-pro-2026-03-05", { reasoning_effort: "none" }, { reasoning_effort: "medium" }],
  ["openai", "gpt-5.5-pro", { reasoning_effort: "xhigh" }, {}],
  ["openai", "gpt-6-rosalind", { reasoning_effort: "none" }, { reasoning_effort: "low" }],
  ["mistral", "devstral-medium-latest", { reasoning_effort: "medium" }, { reasoning_effort: "high" }],
  ["together", "moonshotai/Kimi-K3", { reasoning_effort: "medium" }, { reasoning_effort: "high" }],
  ["mistral", "mistral-large-4", { reasoning_effort: "low" }, { reasoning_effort: "high" }],
  ["xai", "grok-4.7", { reasoning_effort: "xhigh" }, { reasoning_effort: "high" }],
  ["moonshot", "kimi-k3.1-pro", { reasoning_effort: "xhigh" }, { reasoning_effort: "max" }],
  ["google", "gemini-4-argon", { reasoning_effort: "none" }, { reasoning_effort: "low" }],
  ["openai", "gpt-5.6", { reasoning_effort: "max" }, {}],
  ["openai", "gpt-5.5", { reasoning_effort: "max" }, { reasoning_effort: "xhigh" }],
  ["openai", "gpt-6.2-sol", { reasoning_effort: "max" }, { reasoning_effort: "xhigh" }],
  ["openai", "gpt-6.2-astra", { reasoning_effort: "none" }, { reasoning_effort: "low" }],
  ["openai", "o3-mini", { stop: ["END"] }, {}],
  ["openai", "o3", { stop: ["END"] }, { stop: undefined }],
  ["deepseek", "deepseek-flash", { reasoning_effort: "xhigh" }, { reasoning_effort: "high" }],
  ["groq", "qwen/qwen3-32b", { reasoning_effort: "none" }, {}],
  ["groq", "qwen/qwen3-32b", { reasoning_effort: "high" }, { reasoning_effort: undefined }],
])("a setting that %s takes for %s reaches it: %j, changed by %j", (vendor, model, asked, changes) => {
  const profile = createProfile(vendors.find(({ name }) => name === vendor)?.profile ?? {});
  const json = { model, messages: [{ role: "user", content: "hi" }], ...asked };
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, json);
  for (const isOwn of [false, true]) {
    const fitted = runNow(fittingOf(profile.of(model), undefined).fit("chat", request, isOwn));
    const dropped = Object.entries(changes).flatMap(([key, value]) => (value === undefined ? [key] : []));
    expect([fitted.request.json(), fitted.dropped]).toEqual([{ ...json, ...changes }, dropped]);
  }
});

test("the schema of an answer is told to a model whose server takes any JSON only", () => {
  const schema = { type: "object", properties: { city: { type: "string" } } };
  const response_format = { type: "json_schema", json_schema: { name: "place", description: "A place.", schema } };
  const told = "A place.\n\nAnswer with one JSON object that fits this JSON Schema, and with nothing else:\n";
  const text = `${told}${JSON.stringify(schema)}`;
  const user = { role: "user", content: "hi" };
  const fitted = (vendor: string, model: string, messages: object[]) => {
    const profile = createProfile(vendors.find(({ name }) => name === vendor)?.profile ?? {});
    const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model, messages, response_format } as never);
    const { request: sent, dropped } = runNow(fittingOf(profile.of(model), undefined).fit("chat", request, true));
    return [sent.json().messages, sent.json().response_format, dropped];
  };
  const any = [{ type: "json_object" }, ["response_format.json_schema"]];
  const brief = (content: unknown) => ({ role: "system", content });
  for (const [vendor, model] of [
    ["deepseek", "deepseek-flash"],
    ["zai", "glm-5.3"],
    ["alibaba", "qwen3-max"],
  ] as const) {
    expect(fitted(vendor, model, [user])).toEqual([[brief(text), user], ...any]);
    expect(fitted(vendor, model, [brief("Be brief."), user])).toEqual([[brief(`Be brief.\n\n${text}`), user], ...any]);
  }
  const parts = [{ type: "text", text: "Be brief." }];
  expect(fitted("zai", "glm-5.3", [brief(parts), user])).toEqual([
    [brief([...parts, { type: "text", text }]), user],
    ...any,
  ]);
  expect(fitted("alibaba", "qwen3.8-max", [user])).toEqual([[user], response_format, []]);
});

const disabled = { thinking: { type: "disabled" } };
const off = { ...disabled, reasoning_effort: undefined };
const named = { tool_choice: { type: "function", function: { name: "f" } } };
const allowed = (mode: string) => ({ tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools: [] } } });

const demandedAs = {
  legacy: { function_call: { name: "f" }, functions: [{ name: "f" }, { name: "g" }], tools: undefined },
  custom: { tool_choice: { type: "custom", custom: { name: "g" } } },
};

test.each<[string, object, object, string[]]>([
  ["kimi-k3", named, { tool_choice: "required", tools: ["f"] }, []],
  ["kimi-k3", demandedAs.custom, { tool_choice: "required", tools: ["g"] }, []],
  ["kimi-k3", demandedAs.legacy, { functions: ["f"] }, ["function_call"]],
  ["kimi-k3", { tool_choice: "required" }, { tool_choice: "required", tools: ["f", "g"] }, []],
  ["kimi-k3.1-pro", { tool_choice: "auto" }, { tool_choice: "auto", tools: ["f", "g"] }, []],
  ["kimi-k2.7-code", named, { tools: ["f"] }, ["tool_choice"]],
  ["kimi-k2.7-code-highspeed", { tool_choice: "required" }, { tools: ["f", "g"] }, ["tool_choice"]],
  ["kimi-k2.7-code", allowed("required"), { ...allowed("auto"), tools: ["f", "g"] }, ["tool_choice"]],
  ["kimi-k2.7-code", { tool_choice: "none" }, { tool_choice: "none", tools: ["f", "g"] }, []],
  ["kimi-k2.7-code", demandedAs.legacy, { functions: ["f"] }, ["function_call"]],
])("%s, which thinks always, is asked for a demand that it may not take: %j, as %j", (model, asked, told, dropped) => {
  const profile = createProfile(vendors.find(({ name }) => name === "moonshot")?.profile ?? {});
  const tools = ["f", "g"].map((name) => ({ type: "function", function: { name } }));
  const written = JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], tools, ...asked });
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, JSON.parse(written));
  for (const isOwn of [false, true]) {
    const fitted = runNow(fittingOf(profile.of(model), undefined).fit("chat", request, isOwn));
    const { model: _, messages: __, ...rest } = JSON.parse(JSON.stringify(fitted.request.json()));
    for (const key of ["tools", "functions"])
      if (rest[key]) rest[key] = rest[key].map((tool: Named) => tool.name ?? tool.function?.name);
    expect([rest, fitted.dropped]).toEqual([told, dropped]);
  }
});

interface Named {
  readonly name?: string;
  readonly function?: { readonly name: string };
}

test.each([
  ["deepseek", "deepseek-v4-pro", { reasoning_effort: "none" }, off, []],
  ["moonshot", "kimi-k2.6", { reasoning_effort: "none" }, off, []],
  ["alibaba", "qwen3.8-max", { reasoning_effort: "none" }, { enable_thinking: false, reasoning_effort: undefined }, []],
  ["deepseek", "deepseek-v4-pro", { tool_choice: "required" }, off, []],
  ["deepseek", "deepseek-v4-pro", allowed("required"), off, []],
  ["deepseek", "deepseek-v4-pro", allowed("auto"), {}, []],
  ["deepseek", "deepseek-v4-pro", { tool_choice: "none" }, {}, []],
  ["deepseek", "deepseek-v4-pro", { ...named, ...disabled }, {}, []],
  ["deepseek", "deepseek-v4-pro", { ...named, reasoning_effort: "max" }, off, ["reasoning_effort"]],
  ["deepseek", "deepseek-v4-pro", { ...named, thinking: { type: "enabled" } }, off, ["thinking"]],
])("%s is told for %s how not to reason, where a call is demanded, too: %j, changed by %j", (...all) => {
  const [vendor, model, asked, changes, dropped] = all;
  const profile = createProfile(vendors.find(({ name }) => name === vendor)?.profile ?? {});
  const tools = [{ type: "function", function: { name: "f" } }];
  const json = { model, messages: [{ role: "user", content: "hi" }], tools, ...asked };
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, json as never);
  for (const isOwn of [false, true]) {
    const fitted = runNow(fittingOf(profile.of(model), undefined).fit("chat", request, isOwn));
    expect([fitted.request.json(), fitted.dropped]).toEqual([{ ...json, ...changes }, dropped]);
  }
});

test.each([
  [{}, { effort: "none" }, []],
  [{ reasoning: { effort: "max", summary: "auto" } }, { effort: "none", summary: "auto" }, ["reasoning.effort"]],
])("a response of DeepSeek's with a demand for a call, and %j, is asked for with %j", (asked, reasoning, dropped) => {
  const profile = createProfile(vendors.find(({ name }) => name === "deepseek")?.profile ?? {});
  const tools = [{ type: "function", name: "f", parameters: {} }];
  const json = { model: "deepseek-flash", input: "hi", tools, tool_choice: "required", ...asked };
  const request = Wire.ofJson(CreateResponseRequestSchema, json as never);
  const fitted = runNow(fittingOf(profile.of("deepseek-flash"), undefined).fit("responses", request, true));
  expect([fitted.request.json(), fitted.dropped]).toEqual([{ ...json, reasoning }, dropped]);
});

test.each([
  ["what a hook says behind one call", "u a h A u", "u a A h u"],
  ["what a hook says behind several, and among their results", "a b h A h B s c C", "a b A B h h s c C"],
  ["a turn of the model's among results", "a b A s c B C", "a b A B s c C"],
  ["what the model says among its calls", "a s r b A B", "a s r b A B"],
  ["a call whose result is nowhere", "a u b h B", "a u b B h"],
  ["calls of two turns by one id", "a h A u a h Z", "a A h u a Z h"],
  ["a call without a result, and a later one by its id", "a u a h Z", "a u a Z h"],
])("results stand right behind their calls in items for DeepSeek, whatever is between: %s", (_, order, told) => {
  const items: Record<string, object> = {
    u: { role: "user", content: "hi" },
    h: { role: "developer", content: "Mind the tests." },
    s: { type: "message", role: "assistant", content: "So." },
    r: { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Look." }] },
  };
  for (const id of ["a", "b", "c"]) {
    items[id] = { type: "function_call", call_id: id, name: "f", arguments: "{}" };
    items[id.toUpperCase()] = { type: "function_call_output", call_id: id, output: "1" };
  }
  items.Z = { ...items.A, output: "2" };
  const listed = (names: string) => names.split(" ").map((name) => items[name] as object);
  const fitted = (vendor: string) => {
    const profile = createProfile(vendors.find(({ name }) => name === vendor)?.profile ?? {});
    const json = { model: "m", input: listed(order), reasoning: { effort: "none" } };
    const request = Wire.ofJson(CreateResponseRequestSchema, json as never);
    return runNow(fittingOf(profile.of("m"), undefined).fit("responses", request, true)).request.json().input;
  };
  const system = { ...items.h, role: "system" };
  expect(fitted("deepseek")).toEqual(listed(told).map((item) => (item === items.h ? system : item)));
  expect(fitted("openai")).toEqual(listed(order));
});

test("each turn of DeepSeek's items has its reasoning, unless it is not to reason", () => {
  const profile = createProfile(vendors.find(({ name }) => name === "deepseek")?.profile ?? {});
  const [user, said] = [
    { role: "user", content: "hi" },
    { type: "message", role: "assistant", content: "So." },
  ];
  const call = (call_id: string) => ({ type: "function_call", call_id, name: "f", arguments: "{}" });
  const result = (call_id: string) => ({ type: "function_call_output", call_id, output: "1" });
  const thought = (text: string) => ({ type: "reasoning", summary: [], content: [{ type: "reasoning_text", text }] });
  const sealed = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "e" };
  const first = [user, thought("Look."), call("a"), call("b"), result("a"), result("b")];
  const fitted = (input: object[], effort: string) => {
    const json = { model: "deepseek-flash", input, reasoning: { effort } };
    const request = Wire.ofJson(CreateResponseRequestSchema, json as never);
    return runNow(fittingOf(profile.of("deepseek-flash"), undefined).fit("responses", request, true)).request.json()
      .input;
  };
  const input = [...first, said, call("c"), result("c"), sealed, call("d"), result("d"), user];
  const rest = [said, call("c"), result("c"), sealed, thought(" "), call("d"), result("d"), user];
  expect(fitted(input, "high")).toEqual([...first, thought(" "), ...rest]);
  expect(fitted(input, "none")).toEqual(input);
  expect(fitted(first, "high")).toEqual(first);
});

test.each([
  ["gpt-6-sol", "max", "max"],
  ["gpt-5.2-pro", "low", "medium"],
  ["gpt-5-pro", "xhigh", "high"],
  ["gpt-6.2-astra", "max", "max"],
  ["gpt-6.2-astra", "none", "low"],
  ["gpt-5.5", "max", "xhigh"],
])("of a response %s is asked for effort %s as %s", (model, asked, taken) => {
  const profile = createProfile(vendors.find(({ name }) => name === "openai")?.profile ?? {});
  const json = { model, input: "hi", reasoning: { effort: asked, summary: "auto" } };
  const request = Wire.ofJson(CreateResponseRequestSchema, json);
  const fitted = runNow(fittingOf(profile.of(model), undefined).fit("responses", request, true));
  expect(fitted.request.json()).toEqual({ ...json, reasoning: { effort: taken, summary: "auto" } });
});

/** Arguments of an earlier call, as a model wrote them, and what a server is told. */
const written = [
  ['{"q": 1}', '{"q": 1}'],
  [`{"q": "${"a".repeat(70_000)}"}`, `{"q": "${"a".repeat(70_000)}"}`],
  ["", "{}"],
  [" \n", "{}"],
  ["null", "{}"],
  ['"{\\"q\\":1}"', '{"q":1}'],
  ['{"q": "a', '{"_raw":"{\\"q\\": \\"a"}'],
  ['{"q": "say "hi" now"}', '{"_raw":"{\\"q\\": \\"say \\"hi\\" now\\"}"}'],
  ['["a"]', '{"_raw":"[\\"a\\"]"}'],
  ["[]", "{}"],
  [`{"q": "${"a".repeat(70_000)}`, `{"_raw":"{\\"q\\": \\"${"a".repeat(70_000)}"}`],
  ["a".repeat(70_000), `{"_raw":"${"a".repeat(70_000)}"}`],
  // These are judged by their ends.
  [`{"q": "${"a".repeat(600_000)}" !}`, `{"q": "${"a".repeat(600_000)}" !}`],
  [`{"q": "${"a".repeat(600_000)}`, `{"_raw":"{\\"q\\": \\"${"a".repeat(600_000)}"}`],
] as const;

test.each([
  ["nobody's", "m", true],
  ["nobody's", "m", false],
  ["vllm", "m", true],
  ["mistral", "mistral-large-latest", false],
  ["openai", "gpt-4.1", true],
])("the arguments of earlier calls are objects for servers of the profile %s", (vendor, model, isOwn) => {
  const { of } = createProfile(vendors.find(({ name }) => name === vendor)?.profile ?? {});
  const fitter = fittingOf(of(model), undefined);
  for (const [text, told] of written) {
    const call = { id: "abcdefghi", type: "function", function: { name: "get", arguments: text } };
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", tool_call_id: "abcdefghi", content: "done" },
    ];
    const chat = Wire.ofBytes(CreateChatCompletionRequestSchema, Buffer.from(JSON.stringify({ model, messages })));
    const fitted = runNow(fitter.fit("chat", chat, isOwn));
    const sent = fitted.request.json() as { messages: { tool_calls: (typeof call)[] }[] };
    expect([sent.messages[1]?.tool_calls[0]?.function.arguments, fitted.dropped]).toEqual([told, []]);
    if (text === told && isOwn) expect(fitted.request).toBe(chat);
  }
});

test("the arguments of earlier calls are objects in responses, too", () => {
  const profile = createProfile(vendors.find(({ name }) => name === "vllm")?.profile ?? {});
  for (const [text, told] of written) {
    const call = { type: "function_call", call_id: "c1", name: "get", arguments: text };
    const input = [call, { type: "function_call_output", call_id: "c1", output: "done" }];
    const request = Wire.ofJson(CreateResponseRequestSchema, { model: "m", input });
    const fitted = runNow(fittingOf(profile.of("m"), undefined).fit("responses", request, true)).request.json();
    expect(fitted.input).toEqual([{ ...call, arguments: told }, input[1]]);
  }
});

test("a server that takes efforts of responses alone is sent the reasoning of these", () => {
  const profile = createProfile({ operations: { responses: "/responses" }, efforts: [], efforts_responses: ["max"] });
  const fit = (effort: string) => {
    const json = { model: "m", input: "hi", reasoning: { effort } };
    const request = Wire.ofJson(CreateResponseRequestSchema, json);
    return runNow(fittingOf(profile.of("m"), undefined).fit("responses", request, true)).request.json().reasoning;
  };
  expect(fit("max")).toEqual({ effort: "max" });
  expect(fit("low")).toEqual({});
});

test.each(["mistral", "moonshot", "deepseek", "openai", "groq", "xai"])(
  "%s is not sent turns of the model that say nothing",
  (vendor) => {
    const profile = createProfile(vendors.find(({ name }) => name === vendor)?.profile ?? {});
    const user = { role: "user", content: "hi" };
    const call = { id: "abcdefghi", type: "function", function: { name: "f", arguments: "{}" } };
    const kept = [
      { role: "assistant", content: "hello" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "abcdefghi", content: "" },
    ];
    const silent = [
      { role: "assistant", content: "" },
      { role: "assistant", content: null, tool_calls: [] },
      { role: "assistant", content: [{ type: "text", text: "" }] },
      { role: "assistant" },
      { role: "assistant", content: "", reasoning_content: "Hm." },
    ];
    const roles = ({ role }: { role: string }) => role;
    const messages = [user, ...silent, ...kept];
    const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages });
    const { request: sent, dropped } = runNow(fittingOf(profile.of("m"), undefined).fit("chat", request, true));
    expect((sent.json().messages as typeof kept).map(roles)).toEqual([user, ...kept].map(roles));
    expect(dropped).toContainEqual(expect.stringMatching(/^messages\[5\]/));
    expect(dropped.filter((path) => /^messages\[[1-4]\]$/.test(path))).toEqual([]);
  },
);

test("a server that nobody knows is sent turns that say nothing as they came", () => {
  const messages = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "" },
    { role: "user", content: "go on" },
  ];
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages });
  const { request: sent } = runNow(fittingOf(createProfile({}).of("m"), undefined).fit("chat", request, true));
  expect(sent.json().messages).toEqual(messages);
});
