/** Tools that a Messages caller defers, finds, adds and removes: a chat model is offered the final list. */
import { expect, test } from "vitest";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { messagesToChat } from "../../../src/families/messages-to-chat/index.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { context } from "../../support/translations/context.ts";

const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: "object", properties: {} }, ...more });
const tools = [
  tool("ToolSearch"),
  tool("DeferredToolPlaceholder", { defer_loading: true }),
  tool("mcp__files__read", { defer_loading: true }),
];
const user = (content: unknown) => ({ role: "user", content });
const system = (...content: object[]) => ({ role: "system", content });
const found = user([
  { type: "tool_result", tool_use_id: "t1", content: [{ type: "tool_reference", tool_name: "mcp__files__read" }] },
]);
const search = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "ToolSearch", input: {} }] };
const byName = (type: string, name: string) => ({ type, tool: { type: "tool_reference", name } });
const byValue = (definition: object) => ({ type: "tool_addition", tool: { type: "tool_definition", definition } });

function translated(messages: object[], offered: object[] = tools) {
  const asked = { model: "m", max_tokens: 9, tools: offered, messages } as unknown as JsonObject;
  const { request, dropped } = runNow(
    messagesToChat.translate(Wire.ofJson(CreateMessageRequestSchema, asked), context),
  );
  const json = request.json() as { messages: JsonObject[]; tools: { function: { name: string } }[] };
  return { messages: json.messages, names: json.tools.map(({ function: { name } }) => name), dropped };
}

test.for([
  ["of those put off none", [user("hi")], ["ToolSearch"], ["tools[1]", "tools[2]"]],
  ["what a search has found", [user("hi"), search, found], ["ToolSearch", "mcp__files__read"], ["tools[1]"]],
  [
    "what was added by name",
    [user("hi"), system(byName("tool_addition", "mcp__files__read"))],
    ["ToolSearch", "mcp__files__read"],
    ["tools[1]"],
  ],
  [
    "what was brought along",
    [user("hi"), system(byValue(tool("get_time")))],
    ["ToolSearch", "get_time"],
    ["tools[1]", "tools[2]"],
  ],
  [
    "what was not taken away",
    [user("hi"), system(byName("tool_removal", "ToolSearch"), byValue(tool("a")))],
    ["a"],
    ["tools[0]", "tools[1]", "tools[2]"],
  ],
  [
    "what was added again",
    [
      user("hi"),
      system(byName("tool_removal", "ToolSearch")),
      user("x"),
      system(byName("tool_addition", "ToolSearch")),
    ],
    ["ToolSearch"],
    ["tools[1]", "tools[2]"],
  ],
  ["nobody's tool", [user("hi"), system(byName("tool_addition", "unheard"))], ["ToolSearch"], ["tools[1]", "tools[2]"]],
  [
    "no server's set of tools",
    [user("hi"), system({ type: "tool_addition", tool: { type: "mcp_toolset_reference", server_name: "s" } })],
    ["ToolSearch"],
    ["tools[1]", "tools[2]", "messages[1].content[0]"],
  ],
] as const)("the model is offered %s", ([, messages, names, dropped]) => {
  const { names: offered, dropped: lost } = translated([...messages]);
  expect(offered).toEqual(names);
  expect([...lost].sort()).toEqual([...dropped].sort());
});

test("a message that only changes tools is dropped, and text beside a change stays", () => {
  const change = byName("tool_addition", "mcp__files__read");
  expect(translated([user("hi"), system(change)]).messages).toEqual([{ role: "user", content: "hi" }]);
  const { messages } = translated([user("hi"), system(change, { type: "text", text: "Use it." })]);
  expect(messages[1]).toEqual({ role: "system", content: "Use it." });
});

test("tools that were found are named in the result of the search", () => {
  expect(translated([user("hi"), search, found]).messages[2]).toEqual({
    role: "tool",
    tool_call_id: "t1",
    content: "mcp__files__read",
  });
});

test.for([
  [{ type: "tool_addition" }, "messages[1].content[0].tool"],
  [byValue(["x"]), "messages[1].content[0].tool.definition"],
  [byValue({ name: 3 }), "messages[1].content[0].tool.definition.name"],
  [byValue({ description: "nameless" }), "messages[1].content[0].tool.definition.name"],
] as const)("a change that cannot be read is refused by its path: %j", ([change, param]) => {
  expect(() => translated([user("hi"), system(change)])).toThrow(expect.objectContaining({ param }));
});

test("a tool that is removed hides none of those that nothing could find", () => {
  const offered = [tool("f"), tool("g", { defer_loading: true })];
  expect(translated([user("hi")], offered).names).toEqual(["f", "g"]);
  expect(translated([user("hi"), system(byName("tool_removal", "f"))], offered).names).toEqual(["g"]);
});
