/** Values of other types than the APIs have reach models of both families in the right ones, from callers of every path. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { answerAsAny } from "../../support/upstreams/one-of-each.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "far", kind: "openai", base_url },
      {
        name: "responding",
        kind: "openai",
        base_url,
        profile: vendors.find(({ name }) => name === "openai")?.profile ?? {},
      },
      { name: "claude", kind: "anthropic", base_url },
    ],
    models: [
      modelAt("far", "chat", "m"),
      modelAt("responding", "responding", "gpt-4.1"),
      modelAt("claude", "claude", "claude-sonnet-4-6"),
    ],
    embeddedModels: false,
  }),
  { script: answerAsAny },
);

const args = '{"path":"a"}';
const said = { role: "user", content: "hi" };
const id = "call_1";

/** Turns of a conversation on each path: an input, a result and a content, as the caller writes them. */
const turns = {
  "/chat/completions": (input: JsonValue, result: JsonValue, content: JsonValue) => ({
    messages: [
      said,
      { role: "assistant", content: null, tool_calls: [{ id, function: { name: "read", arguments: input } }] },
      { role: "tool", tool_call_id: id, content: result },
      { role: "user", content },
    ],
  }),
  "/messages": (input: JsonValue, result: JsonValue, content: JsonValue) => ({
    max_tokens: 99,
    messages: [
      said,
      { role: "assistant", content: [{ type: "tool_use", id, name: "read", input }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
      { role: "user", content },
    ],
  }),
  "/responses": (input: JsonValue, result: JsonValue, content: JsonValue) => ({
    store: false,
    input: [
      said,
      { type: "function_call", call_id: id, name: "read", arguments: input },
      { type: "function_call_output", call_id: id, output: result },
      { role: "user", content },
    ],
  }),
} satisfies Readonly<Record<string, (...values: JsonValue[]) => JsonObject>>;

type Path = keyof typeof turns;

async function sentFor(path: Path, model: string, values: readonly [JsonValue, JsonValue, JsonValue]) {
  const { status, text, dropped } = await ask(gateway, `/v1${path}`, { model, ...turns[path](...values) });
  expect([status, dropped], text).toEqual([200, null]);
  return upstream.lastAsked;
}

/** Both texts of a content: some callers send one, others a list. */
const parts = (text: string) => expect.toSatisfy((content: unknown) => JSON.stringify(content).includes(text));

test.for([
  ["an input as an object", { path: "a" }, "seen", "go on"],
  ["an input as text", args, "seen", "go on"],
  ["an input as the JSON of a text", JSON.stringify(args), "seen", "go on"],
  ["texts in a list", args, ["seen"], ["go on"]],
  ["parts without a type", args, [{ text: "seen" }], [{ text: "go on" }]],
  ["one part", args, { type: "text", text: "seen" }, { type: "text", text: "go on" }],
] as const)("%s", async ([, input, result, content]) => {
  for (const path of Object.keys(turns) as Path[]) {
    // An input of the Messages API that is the JSON of a text is the model's own.
    if (path === "/messages" && input === JSON.stringify(args)) continue;
    const values = [input, result, content] as unknown as [JsonValue, JsonValue, JsonValue];
    const chat = (await sentFor(path, "chat", values)).messages;
    expect(chat[1].tool_calls).toEqual([{ id, type: "function", function: { name: "read", arguments: args } }]);
    expect(chat.slice(2)).toEqual([
      { role: "tool", tool_call_id: id, content: parts("seen") },
      { role: "user", content: parts("go on") },
    ]);
    const claude = (await sentFor(path, "claude", values)).messages;
    expect(claude[1].content).toEqual([{ type: "tool_use", id, name: "read", input: { path: "a" } }]);
    expect(JSON.stringify(claude.slice(2))).toMatch(/"tool_result".*"seen".*"go on"/);
    const { input: items } = await sentFor("/responses", "responding", values);
    expect(items[1].arguments).toBe(args);
    expect(items[2].output).toEqual(typeof result === "string" ? result : [{ type: "input_text", text: "seen" }]);
  }
});

test.for([
  ["an object", { size: 3 }, '{"size":3}'],
  ["a list of objects", [{ size: 3 }], '[{"size":3}]'],
  ["a number", 3, "3"],
  ["true", true, "true"],
] as const)("a result that is %s is told as JSON", async ([, result, json]) => {
  for (const path of Object.keys(turns) as Path[]) {
    const values = [args, result, "go on"] as unknown as [JsonValue, JsonValue, JsonValue];
    expect((await sentFor(path, "chat", values)).messages[2].content).toBe(json);
    const [, , told] = (await sentFor(path, "claude", values)).messages;
    expect(told.content[0].content).toBe(json);
  }
});

test.for([["{a:"], [[1]]])("an input of %j, which is no object, is kept as text in one", async ([input = null]) => {
  const kept = { _raw: typeof input === "string" ? input : JSON.stringify(input) };
  const { messages } = await sentFor("/messages", "chat", [input, "seen", "go on"]);
  expect(JSON.parse(messages[1].tool_calls[0].function.arguments)).toEqual(kept);
  expect((await sentFor("/messages", "claude", [input, "seen", "go on"])).messages[1].content[0].input).toEqual(kept);
});

test.for([[[]], ["[]"], [" [] "], [""], [null]])(
  "an input of %j is that of a call without any",
  async ([input = null]) => {
    for (const path of Object.keys(turns) as Path[]) {
      const { messages } = await sentFor(path, "chat", [input, "seen", "go on"]);
      expect(messages[1].tool_calls[0].function.arguments).toBe("{}");
      expect((await sentFor(path, "claude", [input, "seen", "go on"])).messages[1].content[0].input).toEqual({});
    }
  },
);

test("a result of null is an empty text", async () => {
  const { messages } = await sentFor("/chat/completions", "chat", [args, null, "go on"]);
  expect(messages[2]).toEqual({ role: "tool", tool_call_id: id, content: "" });
});

test("the address of an image of responses may stand in an object", async () => {
  const url = "https://images.test/a.png";
  const content = [{ type: "input_image", image_url: { url, detail: "low" } }];
  const shown = [{ type: "image_url", image_url: { url, detail: "low" } }];
  for (const path of ["/responses", "/chat/completions"] as const)
    expect((await sentFor(path, "chat", [args, "seen", content])).messages.at(-1).content).toEqual(shown);
  const { input } = await sentFor("/responses", "responding", [args, "seen", content]);
  expect(input.at(-1).content).toEqual([{ type: "input_image", image_url: url, detail: "low" }]);
});

test("PHP's empty list is an object of properties", async () => {
  const [empty, plain] = [
    { type: "object", properties: [] },
    { type: "object", properties: {} },
  ];
  const tools = {
    "/chat/completions": (parameters: JsonValue) => [{ type: "function", function: { name: "f", parameters } }],
    "/messages": (parameters: JsonValue) => [{ name: "f", input_schema: parameters }],
    "/responses": (parameters: JsonValue) => [{ type: "function", name: "f", parameters }],
  };
  for (const path of Object.keys(turns) as Path[]) {
    for (const model of ["chat", "claude", "responding"])
      for (const parameters of [empty, []] as JsonValue[]) {
        const body = { model, ...turns[path](args, "seen", "go on"), tools: tools[path](parameters) };
        const { status, text } = await ask(gateway, `/v1${path}`, body);
        expect(status, text).toBe(200);
        const [{ function: nested, ...flat }] = upstream.lastAsked.tools;
        expect(nested?.parameters ?? flat.parameters ?? flat.input_schema).toEqual(plain);
      }
  }
});

test("a message by which a conversation gets further tools, as Kimi's have them, has no content", async () => {
  const more = { role: "system", tools: [{ type: "function", function: { name: "read", parameters: {} } }] };
  for (const content of [undefined, null, [], ""]) {
    const body = { model: "chat", messages: [said, { ...more, ...(content === undefined ? {} : { content }) }] };
    const { status } = await ask(gateway, "/v1/chat/completions", body);
    expect(status).toBe(200);
    expect(upstream.lastAsked.messages[1]).toEqual(more);
  }
});
