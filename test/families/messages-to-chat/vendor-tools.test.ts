/** Tools of the Messages API over a chat model: what the vendor's own have done is told, and what the caller runs is offered. */
import { expect, test } from "vitest";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { signedId } from "../../../src/families/call-signature.ts";
import { messagesToChat } from "../../../src/families/messages-to-chat/index.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { context } from "../../support/translations/context.ts";

const user = { role: "user", content: "go on" };

function translate(request: object) {
  const wire = Wire.ofJson(CreateMessageRequestSchema, { model: "m", max_tokens: 9, ...request } as JsonObject);
  const { request: chat, dropped } = runNow(messagesToChat.translate(wire, context));
  return { chat: chat.json() as { messages: JsonObject[]; tools?: JsonObject[] }, dropped };
}

/** Returns the messages that a turn of the assistant's becomes. */
function told(...content: object[]): JsonObject[] {
  const { chat, dropped } = translate({ messages: [user, { role: "assistant", content }, user] });
  expect(dropped).toEqual([]);
  return chat.messages.slice(1, -1);
}

const said = (content: string | null, ...calls: object[]) => ({
  ...{ role: "assistant", content },
  ...(calls.length > 0 ? { tool_calls: calls } : {}),
});
const call = (id: string, name: string, input: object) => ({
  ...{ id, type: "function" },
  function: { name, arguments: JSON.stringify(input) },
});
const result = (tool_call_id: string, content: string) => ({ role: "tool", tool_call_id, content });
const use = (name: string, input: object, id = "s1") => ({ type: "server_tool_use", id, name, input });
const text = (words: string) => ({ type: "text", text: words });
const answered = (type: string, content: unknown, id = "s1") => ({ type, tool_use_id: id, content });

const page = { type: "document", title: "A", source: { type: "text", media_type: "text/plain", data: "Page." } };
const printed = { type: "bash_code_execution_result", stdout: "a", stderr: "b", return_code: 1, content: [] };

const pdf = { type: "document", title: "A", source: { type: "base64", media_type: "application/pdf", data: "JVBE" } };
const edited = { type: "text_editor_code_execution_str_replace_result", lines: ["-a", "", "+b"], old_lines: 1 };

const steps: readonly (readonly [what: string, content: readonly object[], messages: readonly object[]])[] = [
  [
    "a search of the web",
    [
      use("web_search", { query: "q" }),
      answered("web_search_tool_result", [
        { type: "web_search_result", url: "https://a.example", title: "A", encrypted_content: "x" },
      ]),
      text("Found."),
    ],
    [said(null, call("s1", "web_search", { query: "q" })), result("s1", "A\nhttps://a.example"), said("Found.")],
  ],
  [
    "a search that failed",
    [
      use("web_search", { query: "q" }),
      answered("web_search_tool_result", { type: "web_search_tool_result_error", error_code: "unavailable" }),
    ],
    [said(null, call("s1", "web_search", { query: "q" })), result("s1", "Error: unavailable")],
  ],
  [
    "a page that was fetched",
    [
      use("web_fetch", { url: "https://a.example" }),
      answered("web_fetch_tool_result", { type: "web_fetch_result", url: "https://a.example", content: page }),
    ],
    [said(null, call("s1", "web_fetch", { url: "https://a.example" })), result("s1", "https://a.example\nA\nPage.")],
  ],
  [
    "code that was run",
    [
      use("bash_code_execution", { command: "ls" }),
      answered("bash_code_execution_tool_result", printed),
      text("Done."),
    ],
    [
      said(null, call("s1", "bash_code_execution", { command: "ls" })),
      result("s1", "a\nb\nExit code: 1"),
      said("Done."),
    ],
  ],
  [
    "two calls of an MCP server",
    [
      text("I look."),
      { type: "mcp_tool_use", id: "m1", name: "read", server_name: "files", input: { p: 1 } },
      { ...answered("mcp_tool_result", [text("A")], "m1"), is_error: false },
      { type: "mcp_tool_use", id: "m2", name: "read", server_name: "files", input: {} },
      { ...answered("mcp_tool_result", "no", "m2"), is_error: true },
    ],
    [
      said("I look.", call("m1", "mcp__files__read", { p: 1 })),
      result("m1", "A"),
      said(null, call("m2", "mcp__files__read", {})),
      result("m2", "Error: no"),
    ],
  ],
  [
    "a file of which no text is told",
    [
      use("web_fetch", { url: "https://a.example/a.pdf" }),
      answered("web_fetch_tool_result", { type: "web_fetch_result", url: "https://a.example/a.pdf", content: pdf }),
    ],
    [
      said(null, call("s1", "web_fetch", { url: "https://a.example/a.pdf" })),
      result("s1", "https://a.example/a.pdf\nA\n(The file is not shown here.)"),
    ],
  ],
  [
    "a file that was edited",
    [
      use("text_editor_code_execution", { command: "str_replace" }),
      answered("text_editor_code_execution_tool_result", edited),
    ],
    [said(null, call("s1", "text_editor_code_execution", { command: "str_replace" })), result("s1", "-a\n\n+b")],
  ],
  [
    "a call of an MCP server with any name, that made an image",
    [
      { type: "mcp_tool_use", id: "m1", name: "read.all", server_name: "My Files", input: {} },
      answered("mcp_tool_result", [text("A"), { type: "image", source: pdf.source }], "m1"),
    ],
    [said(null, call("m1", "mcp__My_Files__read_all", {})), result("m1", "A\n\n(The file is not shown here.)")],
  ],
  [
    "a turn that was paused before its result",
    [use("web_search", { query: "q" })],
    [
      said(null, call("s1", "web_search", { query: "q" })),
      result("s1", "The tool call was interrupted: there is no result."),
    ],
  ],
];

test.for(steps)("%s is told as a call with its result", ([, content, messages]) => {
  expect(told(...content)).toEqual(messages);
});

test("a turn that begins with a result has no empty message before it", () => {
  const id = signedId("s1", "c2ln", { model: "m", upstream: "far" });
  const paused = { role: "assistant", content: [use("web_search", { query: "q" }, id)] };
  const resumed = { role: "assistant", content: [answered("web_search_tool_result", [], id), text("So.")] };
  const { chat } = translate({ messages: [user, paused, { role: "system", content: "Go." }, resumed] });
  expect(chat.messages.slice(1)).toEqual([
    said(null, call("s1", "web_search", { query: "q" })),
    result("s1", ""),
    { role: "system", content: "Go." },
    said("So."),
  ]);
});

test("the caller's call beside the vendor's gets its own result", () => {
  const own = { type: "tool_use", id: "t1", name: "f", input: {} };
  const content = [own, use("web_search", { query: "q" }), answered("web_search_tool_result", []), text("So.")];
  const late = { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "R" }] };
  const { chat } = translate({ messages: [user, { role: "assistant", content }, late] });
  expect(chat.messages.slice(1)).toEqual([
    said(null, call("t1", "f", {}), call("s1", "web_search", { query: "q" })),
    result("t1", "R"),
    result("s1", ""),
    said("So."),
  ]);
});

test("tools that the caller runs by their type are offered with their arguments", () => {
  const tools = [
    { type: "bash_20250124", name: "bash" },
    { type: "text_editor_20250728", name: "str_replace_based_edit_tool", max_characters: 9 },
    { type: "memory_20250818", name: "memory" },
  ];
  const { chat, dropped } = translate({ messages: [user], tools });
  expect(chat.tools).toMatchObject([
    { function: { name: "bash", parameters: { properties: { command: {}, restart: {} } } } },
    { function: { name: "str_replace_based_edit_tool", parameters: { required: ["command", "path"] } } },
    { function: { name: "memory", parameters: { required: ["command"] } } },
  ]);
  expect(dropped).toEqual(["tools[1].max_characters"]);
});

test.for([
  ["text_editor_20250124", false],
  ["text_editor_20250728", true],
  ["memory_20250818", true],
] as const)("what an editor inserts stands where its type has it: %s", ([type, hasOwn]) => {
  const { chat } = translate({ messages: [user], tools: [{ type, name: "editor" }] });
  const [tool] = chat.tools as { function: { parameters: { properties: Record<string, { description: string }> } } }[];
  const { new_str: replacing, insert_text: inserted } = tool?.function.parameters.properties ?? {};
  expect((hasOwn ? inserted : replacing)?.description).toContain("insert");
  expect(inserted === undefined).toBe(!hasOwn);
});

test("where only the vendor would search for tools, all are offered", () => {
  const tools = [
    { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
    { name: "f", input_schema: { type: "object" }, defer_loading: true },
  ];
  const { chat, dropped } = translate({ messages: [user], tools });
  expect(chat.tools).toMatchObject([{ function: { name: "f" } }]);
  expect(dropped).toEqual(["tools[0]", "tools[1].defer_loading"]);
});

test("a tool that a message removed is not offered, whoever searches", () => {
  const tools = [
    { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
    ...["f", "g"].map((name) => ({ name, input_schema: { type: "object" }, defer_loading: true })),
  ];
  const change = (type: string, name: string) => ({ type, tool: { type: "tool_reference", name } });
  const removal = { role: "system", content: [change("tool_removal", "f"), change("tool_removal", "g")] };
  const again = { role: "system", content: [change("tool_addition", "g")] };
  const { chat, dropped } = translate({ messages: [user, removal, user, again], tools });
  expect(chat.tools).toMatchObject([{ function: { name: "g" } }]);
  expect(dropped).toContain("tools[1]");
});

test.for(["code_execution_20250825", "web_fetch_20250910", "computer_20251124", "of_tomorrow"])(
  "a tool that only the vendor runs, or that needs more than a schema, is refused by name: %s",
  (type) => {
    expect(() => translate({ messages: [user], tools: [{ type, name: "x" }] })).toThrow("tools[0]");
  },
);
