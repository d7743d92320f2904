/**
 * What clients send to any server: `reasoning` as OpenRouter has it, empty lists of tools, null for what is not set, over servers
 * that have other words for them, or refuse them.
 */
import { describe, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { type Served, servedBy } from "../support/upstreams/strict-gateway.ts";
import { answerAsAnthropic, answerAsOpenAi } from "../support/vendors.ts";

const messages = [{ role: "user", content: "hi" }];
/** Starts a gateway over a server, and returns what it was sent of a request. */
function over(served: Served) {
  const { upstream, gateway } = scriptedStage(servedBy(served), {
    script: (exchange) => (served.kind === "anthropic" ? answerAsAnthropic(exchange) : answerAsOpenAi(exchange)),
  });
  return async (body: object, path = "/chat/completions") => {
    const { status, dropped } = await ask(gateway, `/v1${path}`, { model: "m", ...body });
    return { status, dropped, sent: upstream.lastAsked };
  };
}

const reasonings = {
  effort: { effort: "high" },
  budget: { max_tokens: 3000 },
  on: { enabled: true },
  off: { enabled: false },
  nothing: { effort: null, max_tokens: null, exclude: false },
  more: { effort: "low", exclude: true },
  unknown: { effort: "utmost" },
} as const;

/** What each server is asked for instead, and what its caller is told is lost. */
const servers = [
  {
    served: { vendor: "anthropic", model: "claude-sonnet-4-5", kind: "anthropic" },
    keys: ["thinking", "output_config", "reasoning"],
    expected: {
      effort: [{ thinking: { type: "enabled", budget_tokens: 4096 } }, null],
      budget: [{ thinking: { type: "enabled", budget_tokens: 3000 } }, null],
      on: [{ thinking: { type: "enabled", budget_tokens: 2048 } }, null],
      off: [{}, null],
      nothing: [{}, null],
      more: [{ thinking: { type: "enabled", budget_tokens: 1024 } }, "reasoning.exclude"],
      unknown: [{}, "reasoning"],
    },
  },
  {
    served: { vendor: "anthropic", model: "claude-opus-4-8", kind: "anthropic" },
    keys: ["output_config", "reasoning"],
    expected: {
      effort: [{ output_config: { effort: "high" } }, null],
      budget: [{ output_config: { effort: "medium" } }, null],
      on: [{ output_config: { effort: "medium" } }, null],
      off: [{}, null],
      nothing: [{}, null],
      more: [{ output_config: { effort: "low" } }, "reasoning.exclude"],
      unknown: [{}, "reasoning"],
    },
  },
  {
    served: { vendor: "openai", model: "gpt-5.5-pro" },
    keys: ["reasoning", "reasoning_effort"],
    expected: {
      effort: [{ reasoning: { effort: "high" } }, null],
      budget: [{ reasoning: { effort: "medium" } }, null],
      on: [{ reasoning: { effort: "medium" } }, null],
      off: [{ reasoning: { effort: "medium" } }, null],
      nothing: [{}, null],
      more: [{ reasoning: { effort: "medium" } }, "reasoning.exclude"],
      unknown: [{ reasoning: {} }, "reasoning_effort"],
    },
  },
  {
    served: { vendor: "openai", model: "gpt-5.5" },
    keys: ["reasoning", "reasoning_effort"],
    expected: {
      effort: [{ reasoning_effort: "high" }, null],
      budget: [{ reasoning_effort: "medium" }, null],
      on: [{ reasoning_effort: "medium" }, null],
      off: [{ reasoning_effort: "none" }, null],
      nothing: [{}, null],
      more: [{ reasoning_effort: "low" }, "reasoning.exclude"],
      unknown: [{}, "reasoning"],
    },
  },
  {
    served: { vendor: "openai", model: "gpt-4.1" },
    keys: ["reasoning", "reasoning_effort"],
    expected: {
      effort: [{}, "reasoning"],
      budget: [{}, "reasoning"],
      on: [{}, "reasoning"],
      off: [{}, "reasoning"],
      nothing: [{}, null],
      more: [{}, "reasoning"],
      unknown: [{}, "reasoning"],
    },
  },
  {
    served: { vendor: "openrouter", model: "some/model" },
    keys: ["reasoning", "reasoning_effort"],
    expected: Object.fromEntries(
      Object.entries(reasonings).map(([name, asked]) => [name, [{ reasoning: asked }, null]]),
    ),
  },
] as const;

describe.each(servers)("over $served.model", ({ served, keys, expected }) => {
  const ask = over(served);
  test.each(Object.entries(reasonings))("`reasoning` with %s", async (name, reasoning) => {
    const { status, dropped, sent } = await ask({ messages, reasoning, max_tokens: 20_000 });
    const asked = Object.fromEntries(keys.filter((key) => key in sent).map((key) => [key, sent[key]]));
    expect([status, asked, dropped]).toEqual([200, ...((expected as Record<string, readonly unknown[]>)[name] as [])]);
  });

  test.each(["budget", "on", "off"] as const)(
    "`reasoning_effort` with what `reasoning` has of %s is that",
    async (name) => {
      const { status, dropped, sent } = await ask({ messages, reasoning_effort: reasonings[name], max_tokens: 20_000 });
      const asked = Object.fromEntries(keys.filter((key) => key in sent).map((key) => [key, sent[key]]));
      expect([status, asked, dropped]).toEqual([
        200,
        ...((expected as Record<string, readonly unknown[]>)[name] as []),
      ]);
      expect(sent).not.toHaveProperty("reasoning_effort", expect.any(Object));
    },
  );
});

describe("over a model that reasons only when asked", () => {
  const ask = over({ vendor: "openai", model: "gpt-5.4" });
  const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
  test("tools beside `reasoning` are asked of /responses, as beside an effort", async () => {
    expect((await ask({ messages, tools, reasoning: { effort: "high" } })).sent).toMatchObject({
      ...{ reasoning: { effort: "high" }, input: [{ role: "user" }] },
    });
    expect((await ask({ messages, tools })).sent).toMatchObject({ messages });
  });
});

describe.each([
  { vendor: "nobody's", model: "m" },
  { vendor: "vllm", model: "qwen3" },
  { vendor: "openai", model: "gpt-5.5" },
])("over $vendor, without tools", (served) => {
  const ask = over(served);
  test.each([
    ["an empty list of tools", { tools: [], tool_choice: "auto", parallel_tool_calls: true }],
    ["an empty list of functions", { functions: [] }],
    ["a choice among none", { tool_choice: "none", parallel_tool_calls: false }],
  ])("%s is not sent", async (_, settings) => {
    const { status, dropped, sent } = await ask({ messages, max_tokens: 20, ...settings });
    expect([status, dropped]).toEqual([200, null]);
    expect(Object.keys(sent)).not.toEqual(expect.arrayContaining([expect.stringMatching(/tool|functions/)]));
  });

  test("a demand for a call is the server's to refuse", async () => {
    const { sent } = await ask({ messages, tools: [], tool_choice: "required" });
    expect(sent).toMatchObject({ tool_choice: "required" });
  });

  test("settings beside tools stay", async () => {
    const tools = [{ type: "function", function: { name: "look" } }];
    const { sent } = await ask({ messages, tools, tool_choice: "none", parallel_tool_calls: false });
    expect(sent).toMatchObject({ tool_choice: "none", parallel_tool_calls: false });
  });
});

describe("over a server that refuses keys", () => {
  const ask = over({ vendor: "mistral", model: "mistral-large" });
  test("a refused key goes with null, too, and nobody is told", async () => {
    const unset = { store: null, seed: null, service_tier: null, metadata: null };
    const turns = [{ role: "user", content: "hi", name: null }];
    const { status, dropped, sent } = await ask({ messages: turns, ...unset });
    expect([status, dropped, Object.keys(sent).sort()]).toEqual([200, null, ["messages", "model"]]);
    expect(Object.keys(sent.messages[0])).toEqual(["role", "content"]);
  });

  test("a last turn of the model's is followed by the user's, unless it is a prefix", async () => {
    const turns = [messages[0], { role: "assistant", content: "It is" }];
    expect((await ask({ messages: turns })).sent.messages.at(-1)).toEqual({ role: "user", content: "Continue." });
    const begun = [messages[0], { role: "assistant", content: "It is", prefix: true }];
    expect((await ask({ messages: begun })).sent.messages).toEqual(begun);
  });

  test("an answer's empty list of calls does not go back", async () => {
    const turns = [messages[0], { role: "assistant", content: "yes", tool_calls: [] }, messages[0]];
    const { sent } = await ask({ messages: turns });
    expect(sent.messages[1]).toEqual({ role: "assistant", content: "yes" });
  });
});

const schema = {
  ...{ type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false },
};

/** A schema where OpenAI's chat has it, and where responses, Fireworks, Together and llama.cpp do. */
const formats = {
  "in json_schema": { type: "json_schema", json_schema: { name: "x", schema, strict: true } },
  "beside the type": { type: "json_schema", name: "x", schema, strict: true },
  "beside json_object": { type: "json_object", schema },
} as const;

describe.each(Object.entries(formats))("a schema %s", (_, response_format) => {
  const askClaude = over({ vendor: "anthropic", model: "claude-sonnet-4-6", kind: "anthropic" });
  const askResponses = over({ vendor: "openai", model: "gpt-5.5-pro" });

  test.each(["/chat/completions", "/responses", "/messages"])("reaches the model by %s", async (path) => {
    const body = { ...(path === "/responses" ? { input: "hi", store: false } : { messages }), response_format };
    const bounded = path === "/messages" ? { ...body, max_tokens: 100 } : body;
    const claude = await askClaude(bounded, path);
    expect([claude.status, claude.dropped]).toEqual([200, null]);
    expect(claude.sent.output_config.format).toMatchObject({ type: "json_schema", schema });
    const response = await askResponses(bounded, path);
    expect([response.status, response.dropped]).toEqual([200, null]);
    expect(response.sent.text.format).toMatchObject({ type: "json_schema", name: expect.any(String), schema });
  });
});

describe("over a server of responses", () => {
  const ask = over({ vendor: "openai", model: "gpt-5.5-pro" });
  test.each([
    [{ max_tokens: 3000 }, "reasoning.max_tokens"],
    [{ enabled: false }, "reasoning.enabled"],
    [{ effort: "medium", summary: "auto" }, "reasoning.effort"],
    [{ effort: "high" }, null],
  ])("an effort beside `reasoning` of %j counts, and what is lost of that is named", async (reasoning, lost) => {
    const { sent, dropped } = await ask({ messages, reasoning_effort: "high", reasoning });
    expect(sent.reasoning.effort).toBe("high");
    expect(dropped).toBe(lost);
  });

  test("chat's verbosity is that of the text", async () => {
    const { sent } = await ask(
      { input: "hi", store: false, verbosity: "low", text: { format: { type: "text" } } },
      "/responses",
    );
    expect(sent.text).toEqual({ format: { type: "text" }, verbosity: "low" });
    expect(sent).not.toHaveProperty("verbosity");
    const own = await ask({ input: "hi", store: false, verbosity: "low", text: { verbosity: "high" } }, "/responses");
    expect(own.sent.text).toEqual({ verbosity: "high" });
  });
});

describe("over a server of chat", () => {
  const ask = over({ vendor: "nobody's", model: "m" });
  test.each([
    ["tools", { tools: [], functions: [{ name: "look" }] }],
    ["functions", { tools: [{ type: "function", function: { name: "look" } }], functions: [] }],
  ])("an empty list of %s is not sent beside the other one", async (empty, lists) => {
    const { status, sent } = await ask({ messages, ...lists, parallel_tool_calls: false });
    expect(status).toBe(200);
    expect(sent).not.toHaveProperty(empty);
    const { [empty]: _, ...kept } = lists as Record<string, object[]>;
    expect(sent).toMatchObject({ ...kept, parallel_tool_calls: false });
  });

  test("an effort with its summary, as the OpenAI Agents SDK sends it to LiteLLM, is the effort", async () => {
    const { status, sent, dropped } = await ask({ messages, reasoning_effort: { effort: "low", summary: "auto" } });
    expect([status, sent.reasoning_effort, dropped]).toEqual([200, "low", "reasoning_effort.summary"]);
    expect((await ask({ messages, reasoning_effort: { effort: 3 } })).status).toBe(400);
  });

  test("a budget in the place of an effort, beside the caller's `reasoning`, is an effort", async () => {
    const reasoning_effort = { max_tokens: 2048, exclude: true };
    const { sent, dropped } = await ask({ messages, reasoning_effort, reasoning: { summary: "auto" } });
    expect(sent).toMatchObject({ reasoning_effort: "medium", reasoning: { summary: "auto" } });
    expect(dropped).toBe("reasoning_effort.exclude");
  });
});

describe("an image in the result of a tool stays in it", () => {
  const data = "iVBORw0KGgo=";
  const url = `data:image/png;base64,${data}`;
  const askClaude = over({ vendor: "anthropic", model: "claude-sonnet-4-6", kind: "anthropic" });
  const askResponses = over({ vendor: "openai", model: "gpt-5.5-pro" });

  test("from responses to messages", async () => {
    const input = [
      { role: "user", content: "look" },
      { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" },
      {
        ...{ type: "function_call_output", call_id: "call_1" },
        output: [
          { type: "input_text", text: "Seen:" },
          { type: "input_image", image_url: url },
        ],
      },
    ];
    const { status, dropped, sent } = await askClaude({ input, store: false }, "/responses");
    expect([status, dropped]).toEqual([200, null]);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
    expect(sent.messages[2]).toEqual({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "call_1", content: [{ type: "text", text: "Seen:" }, image] }],
    });
  });

  test.each([
    [false, []],
    [true, [{ type: "input_text", text: "Error:" }]],
  ])("from messages to responses, of a failure: %s", async (is_error, said) => {
    const source = { type: "base64", media_type: "image/png", data };
    const turns = [
      { role: "user", content: "look" },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_1", is_error, content: [{ type: "image", source }] }],
      },
    ];
    const { status, dropped, sent } = await askResponses({ messages: turns, max_tokens: 100 }, "/messages");
    expect([status, dropped]).toEqual([200, null]);
    expect(sent.input[2]).toEqual({
      ...{ type: "function_call_output", call_id: "toolu_1" },
      output: [...said, { type: "input_image", image_url: url, detail: "auto" }],
    });
  });
});
