/** Tools of the Messages API over a chat model: what the vendor's own have done is told, and what the caller runs is offered. */
import { expect, test } from "vitest";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { messagesToChat } from "../../../src/families/messages-to-chat/index.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";

const context = { form: "whole", maxOutputTokens: undefined, answerId: "a", now: 1, estimateTokens: () => 0 } as const;
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

test("where only the vendor would search for tools, all are offered", () => {
  const tools = [
    { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
    { name: "f", input_schema: { type: "object" }, defer_loading: true },
  ];
  const { chat, dropped } = translate({ messages: [user], tools });
  expect(chat.tools).toMatchObject([{ function: { name: "f" } }]);
  expect(dropped).toEqual(["tools[0]", "tools[1].defer_loading"]);
});

test.for(["code_execution_20250825", "web_fetch_20250910", "computer_20251124", "of_tomorrow"])(
  "a tool that only the vendor runs, or that needs more than a schema, is refused by name: %s",
  (type) => {
    expect(() => translate({ messages: [user], tools: [{ type, name: "x" }] })).toThrow("tools[0]");
  },
);
