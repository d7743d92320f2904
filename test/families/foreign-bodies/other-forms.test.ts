/** Tools, choices and settings that are written in the form of another API, or in none, reach models of both families from every path. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { twoFamiliesStage } from "../../support/upstreams/families-stage.ts";

const { upstream, gateway } = twoFamiliesStage();

const messages = [{ role: "user", content: "hi" }];
const bodies = {
  "/chat/completions": { messages },
  "/messages": { messages, max_tokens: 99 },
  "/responses": { input: "hi", store: false },
};
const paths = Object.keys(bodies) as (keyof typeof bodies)[];
const schema = { type: "object", properties: { a: { type: "string" } } };

async function asked(path: keyof typeof bodies, model: "chat" | "claude", more: JsonObject) {
  const { status, text, headers } = await ask(gateway, `/v1${path}`, { model, ...bodies[path], ...more });
  expect(status, text).toBe(200);
  expect(headers.get("x-gateway-dropped")).toBeNull();
  return upstream.received.at(-1)?.asked;
}

describe.each(paths)("on %s", (path) => {
  test.each([
    ["without a type", { name: "look", description: "Looks.", parameters: schema }],
    ["as MCP lists it", { name: "look", description: "Looks.", inputSchema: schema }],
    ["as messages have it", { name: "look", description: "Looks.", input_schema: schema }],
    ["as chat has it, without a type", { function: { name: "look", description: "Looks.", parameters: schema } }],
  ])("a function %s is one", async (_, tool) => {
    const chat = await asked(path, "chat", { tools: [tool] });
    expect(chat.tools).toMatchObject([
      { type: "function", function: { name: "look", description: "Looks.", parameters: schema } },
    ]);
    const claude = await asked(path, "claude", { tools: [tool] });
    expect(claude.tools).toEqual([{ name: "look", description: "Looks.", input_schema: schema }]);
  });

  test("a function without a type and a schema takes nothing", async () => {
    const nothing = { type: "object", properties: {} };
    const claude = await asked(path, "claude", { tools: [{ name: "look", input_schema: null }] });
    expect(claude.tools).toEqual([{ name: "look", input_schema: nothing }]);
  });

  test.each([{ function: { name: "look" } }, { name: "look" }])("the choice %j is of a function", async (choice) => {
    const more = { tools: [{ name: "look", parameters: schema }], tool_choice: choice };
    const chat = await asked(path, "chat", more);
    expect(chat.tool_choice).toEqual({ type: "function", function: { name: "look" } });
    expect((await asked(path, "claude", more)).tool_choice).toEqual({ type: "tool", name: "look" });
  });
});

describe.each(paths)("in forms that no API has, on %s", (path) => {
  const turnsIn = path === "/responses" ? "input" : "messages";
  const look = { name: "look", description: "Looks.", parameters: schema };

  test("a bare name chooses the tool of this name", async () => {
    const more = { tools: [look], tool_choice: "look" };
    expect((await asked(path, "chat", more)).tool_choice).toEqual({ type: "function", function: { name: "look" } });
    expect((await asked(path, "claude", more)).tool_choice).toEqual({ type: "tool", name: "look" });
  });

  test.each(["function_declarations", "functionDeclarations"])("%s of Gemini are functions", async (key) => {
    const parameters = { type: "OBJECT", properties: { a: { type: "STRING" } } };
    const more = { tools: [{ [key]: [{ ...look, parameters }] }] };
    expect((await asked(path, "chat", more)).tools).toEqual([{ type: "function", function: look }]);
    const claude = await asked(path, "claude", more);
    expect(claude.tools).toEqual([{ name: "look", description: "Looks.", input_schema: schema }]);
  });

  test.each([
    [
      { role: "human", content: "hi" },
      { role: "ai", content: "yes" },
    ],
    [
      { role: "User", content: "hi" },
      { role: "ASSISTANT", content: "yes" },
    ],
    [
      { role: "user", parts: [{ text: "hi" }] },
      { role: "model", parts: [{ text: "yes" }] },
    ],
  ])("turns as %j have the roles and the content of the path", async (first, second) => {
    const more = { [turnsIn]: [first, second, first] };
    for (const model of ["chat", "claude"] as const) {
      const { messages: sent } = await asked(path, model, more);
      expect(sent.map(({ role }: JsonObject) => role)).toEqual(["user", "assistant", "user"]);
      expect(JSON.stringify(sent)).toMatch(/"hi".*"yes".*"hi"/);
      expect(JSON.stringify(sent)).not.toContain("parts");
    }
  });

  test.each(["Nobody", "userx", "USER".repeat(20), " "])("the role %j is none", async (role) => {
    const body = { model: "claude", ...bodies[path], [turnsIn]: [{ role, content: "hi" }] };
    expect((await ask(gateway, `/v1${path}`, body)).status).toBe(400);
  });

  test("a part that has no meaning is refused", async () => {
    const turn = { role: "user", parts: [{ executableCode: {} }] };
    const { status, text } = await ask(gateway, `/v1${path}`, { model: "chat", ...bodies[path], [turnsIn]: [turn] });
    expect(status).toBe(400);
    expect(text).toContain(`${turnsIn}[0].parts[0]`);
  });
});

test.each(["json", "json_object", { type: "json" }])("the format %j is JSON", async (format) => {
  for (const path of ["/chat/completions", "/responses"] as const) {
    const sent = await asked(path, "chat", { response_format: format });
    expect(sent.response_format, path).toEqual({ type: "json_object" });
  }
});

test.each([
  ["/chat/completions", "max_tokens"],
  ["/chat/completions", "max_completion_tokens"],
  ["/responses", "max_output_tokens"],
] as const)("a bound of -1 is none on %s, in %s", async (path, bound) => {
  for (const model of ["chat", "claude"] as const) {
    const unbounded = await asked(path, model, {});
    expect(await asked(path, model, { [bound]: -1 })).toEqual(unbounded);
  }
});

test.each([0, -2])("a bound of %j is refused", async (bound) => {
  const body = { model: "chat", ...bodies["/chat/completions"], max_tokens: bound };
  const { status, text } = await ask(gateway, "/v1/chat/completions", body);
  expect([status, JSON.parse(text).error.param]).toEqual([400, "max_tokens"]);
});

test("metadata that are no texts are told as texts, and unset ones are left out", async () => {
  const metadata = { tags: ["app:x", "type:agent"], nested: { a: 1 }, count: 2, is: true, unset: null, text: "t" };
  const texts = { tags: '["app:x","type:agent"]', nested: '{"a":1}', count: "2", is: "true", text: "t" };
  expect((await asked("/chat/completions", "chat", { metadata })).metadata).toEqual(texts);
  const { json } = await ask(gateway, "/v1/responses", { model: "chat", input: "hi", metadata });
  expect(json.metadata).toEqual(texts);
});

test("a format that is no format is refused", async () => {
  const body = { model: "chat", ...bodies["/chat/completions"], response_format: "xml" };
  expect((await ask(gateway, "/v1/chat/completions", body)).status).toBe(400);
});

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const dataUri = `data:image/png;base64,${png}`;
const pdf = "JVBERi0xLjQK";

describe("a part on the path of chat", () => {
  const sent = (part: JsonObject, model: "chat" | "claude") =>
    asked("/chat/completions", model, {
      messages: [{ role: "user", content: [{ type: "text", text: "What?" }, part] }],
    });

  test.each([
    ["the AI SDK's", { type: "image", image: dataUri }],
    ["the AI SDK's, of data alone", { type: "image", image: png, mediaType: "image/png" }],
    ["MCP's", { type: "image", data: png, mimeType: "image/png" }],
    ["of data without a type", { type: "image", data: png }],
    ["by an address of its own name", { type: "image", url: dataUri }],
    ["messages'", { type: "image", source: { type: "base64", media_type: "image/png", data: png } }],
  ])("an image, %s, is seen", async (_, part) => {
    const chat = await sent(part, "chat");
    expect(chat.messages[0].content[1]).toEqual({ type: "image_url", image_url: { url: dataUri } });
    const claude = await sent(part, "claude");
    const source = { type: "base64", media_type: "image/png", data: png };
    expect(claude.messages[0].content[1]).toEqual({ type: "image", source });
  });

  const address = "https://example.com/a.pdf";
  test.each([
    ["by its address", { type: "file", file: { file_url: address } }],
    ["of responses, by its address", { type: "input_file", file_url: address }],
    ["of messages, by its address", { type: "document", source: { type: "url", url: address } }],
  ])("a file %s is read", async (_, part) => {
    const chat = await sent(part, "chat");
    expect(chat.messages[0].content[1]).toEqual({ type: "file", file: { file_data: address } });
    const claude = await sent(part, "claude");
    expect(claude.messages[0].content[1]).toEqual({ type: "document", source: { type: "url", url: address } });
  });

  test("a document of messages is a file, and stays what it is for Claude", async () => {
    const source = { type: "base64", media_type: "application/pdf", data: pdf };
    const part = { type: "document", source, title: "a.pdf" };
    const file = { filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` };
    expect((await sent(part, "chat")).messages[0].content[1]).toEqual({ type: "file", file });
    expect((await sent(part, "claude")).messages[0].content[1]).toEqual(part);
    const cited = { ...part, citations: { enabled: true } };
    expect((await sent(cited, "claude")).messages[0].content[1]).toEqual(cited);
  });
});

describe("an image of MCP's", () => {
  const image = { type: "image", data: png, mimeType: "image/png" };
  const source = { type: "base64", media_type: "image/png", data: png };

  test("in the result of a tool on the path of messages is seen", async () => {
    const use = { type: "tool_use", id: "t1", name: "look", input: {} };
    const result = { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "Here." }, image] };
    const turns = [...messages, { role: "assistant", content: [use] }, { role: "user", content: [result] }];
    const claude = await asked("/messages", "claude", { messages: turns });
    expect(claude.messages[2].content[0].content[1]).toEqual({ type: "image", source });
    expect(JSON.stringify((await asked("/messages", "chat", { messages: turns })).messages)).toContain(dataUri);
  });

  test("in the output of a call on the path of responses is seen", async () => {
    const call = { type: "function_call", call_id: "t1", name: "look", arguments: "{}" };
    const result = { type: "function_call_output", call_id: "t1", output: [image] };
    const input = [{ role: "user", content: "hi" }, call, result];
    expect(JSON.stringify((await asked("/responses", "claude", { input })).messages)).toContain(JSON.stringify(source));
    expect(JSON.stringify((await asked("/responses", "chat", { input })).messages)).toContain(dataUri);
  });
});

describe("on the path of chat", () => {
  const chat = (more: JsonObject, model: "chat" | "claude" = "chat") => asked("/chat/completions", model, more);
  const flat = { type: "json_schema", name: "x", schema, strict: true };
  const nested = { type: "json_schema", json_schema: { name: "x", schema, strict: true } };

  test.each([
    ["a flat format", { response_format: flat }],
    ["a format of responses", { text: { format: flat } }],
    ["a format of responses beside chat's own", { text: { format: { type: "text" } }, response_format: flat }],
  ])("%s is chat's", async (_, more) => {
    const sent = await chat(more);
    expect(sent.response_format).toEqual(nested);
    expect(sent).not.toHaveProperty("text");
    expect((await chat(more, "claude")).output_config.format.schema).toMatchObject(schema);
  });

  test("instructions are a system message, and the bound of responses is a bound", async () => {
    const more = { instructions: "Be brief.", max_output_tokens: 77 };
    const sent = await chat(more);
    expect(sent).toMatchObject({ messages: [{ role: "system", content: "Be brief." }, ...messages], max_tokens: 77 });
    expect(Object.keys(sent).sort()).toEqual(["max_tokens", "messages", "model"]);
    expect(await chat(more, "claude")).toMatchObject({ max_tokens: 77, system: [{ text: "Be brief." }] });
  });

  test("a bound of chat's own wins", async () => {
    const sent = await chat({ max_output_tokens: 77, max_completion_tokens: 5 });
    expect([sent.max_completion_tokens, sent.max_tokens, sent.max_output_tokens]).toEqual([5, undefined, undefined]);
  });
});

test.each([
  [
    "with its bytes",
    { file_data: `data:application/pdf;base64,${pdf}` },
    { type: "base64", media_type: "application/pdf", data: pdf },
  ],
  ["by its address", { file_url: "https://example.com/a.pdf" }, { type: "url", url: "https://example.com/a.pdf" }],
])("a file of responses, %s, is a document on the path of messages", async (_, file, source) => {
  const cache_control = { type: "ephemeral" };
  const content = [
    { type: "text", text: "hi" },
    { type: "input_file", filename: "a.pdf", ...file, cache_control },
  ];
  const claude = await asked("/messages", "claude", { messages: [{ role: "user", content }] });
  expect(claude.messages[0].content[1]).toEqual({ type: "document", source, cache_control });
});
