/** Tools of vendors in a history of responses: a chat model is told of each call with its result, and of none alone. */
import { describe, expect, test } from "vitest";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { Reason, Refusal } from "../../../src/call/refusals.ts";
import { responsesToChat } from "../../../src/families/responses-to-chat/index.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { context } from "../../support/translations/context.ts";

const user = (content: string) => ({ role: "user", content });

function translate(...items: object[]) {
  const input = [user("hi"), ...items, user("go on")];
  const wire = Wire.ofJson(CreateResponseRequestSchema, { model: "m", input } as JsonObject);
  return runNow(responsesToChat.translate(wire, { ...context, customTools: false }));
}

/** Returns the messages between the user's first and last. */
function told(...items: object[]): JsonObject[] {
  const { request, dropped } = translate(...items);
  expect(dropped).toEqual([]);
  const messages = request.json().messages as JsonObject[];
  expect([messages[0], messages.at(-1)]).toEqual([user("hi"), user("go on")]);
  return messages.slice(1, -1);
}

const called = (id: unknown, name: string, input: object) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(input) } }],
});
const result = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content });
const attached = (id: string, url: string) => ({
  role: "user",
  content: [
    { type: "text", text: `Attached to the result of ${id}:` },
    { type: "image_url", image_url: { url } },
  ],
});

const done = { status: "completed" };
const mcpId = `mcpr_${"0".repeat(48)}`;
const image = "data:image/png;base64,aGk=";
const printed = { stdout: "a.txt", stderr: "no b", outcome: { type: "exit", exit_code: 1 } };
const late = { stdout: "", stderr: "", outcome: { type: "timeout" } };

const steps: readonly (readonly [what: string, items: readonly object[], messages: readonly object[]])[] = [
  [
    "a shell",
    [
      { ...done, type: "shell_call", id: "sh_1", call_id: "c", action: { commands: ["ls", "top"], timeout_ms: null } },
      { type: "shell_call_output", call_id: "c", output: [printed, late] },
    ],
    [
      called("c", "shell", { commands: ["ls", "top"] }),
      result("c", "a.txt\nErrors:\nno b\nExit code: 1\nIt was stopped after its time."),
    ],
  ],
  [
    "a local shell, whose result names its item",
    [
      {
        ...done,
        type: "local_shell_call",
        id: "lsh_1",
        call_id: "c",
        action: { type: "exec", command: ["ls"], env: {} },
      },
      { type: "local_shell_call_output", id: "lsh_1", output: "a.txt" },
    ],
    [called("c", "local_shell", { command: ["ls"] }), result("c", "a.txt")],
  ],
  [
    "a patch",
    [
      { ...done, type: "apply_patch_call", call_id: "c", operation: { type: "create_file", path: "a", diff: "+x" } },
      { ...done, type: "apply_patch_call_output", call_id: "c" },
    ],
    [called("c", "apply_patch", { type: "create_file", path: "a", diff: "+x" }), result("c", "completed")],
  ],
  [
    "a computer, with its screenshot",
    [
      { ...done, type: "computer_call", id: "cu", call_id: "c", pending_safety_checks: [], action: { type: "wait" } },
      { type: "computer_call_output", call_id: "c", output: { type: "computer_screenshot", image_url: image } },
    ],
    [
      called("c", "computer", { actions: [{ type: "wait" }] }),
      result("c", "A screenshot was made."),
      attached("c", image),
    ],
  ],
  [
    "an MCP server",
    [
      {
        type: "mcp_call",
        id: "m",
        server_label: "files",
        name: "read",
        arguments: '{"p":1}',
        output: "A",
        error: null,
      },
    ],
    [called("m", "mcp__files__read", { p: 1 }), result("m", "A")],
  ],
  [
    "an MCP server that failed",
    [
      {
        ...{ type: "mcp_call", id: "m", server_label: "files", name: "read", arguments: "{}", output: null },
        error: { type: "http_error", code: 500, message: "down" },
      },
    ],
    [called("m", "mcp__files__read", {}), result("m", "Error: down")],
  ],
  [
    "a call that its user did not allow",
    [
      { type: "mcp_approval_request", id: "r", server_label: "files", name: "read", arguments: "{}" },
      { type: "mcp_approval_response", approval_request_id: "r", approve: false, reason: "Not now." },
    ],
    [called("r", "mcp__files__read", {}), result("r", "The user did not allow this call. Not now.")],
  ],
  [
    "a call that its user allowed",
    [
      { type: "mcp_approval_request", id: "r", server_label: "files", name: "read", arguments: "{}" },
      { type: "mcp_approval_response", approval_request_id: "r", approve: true },
      {
        ...{ type: "mcp_call", id: "m", server_label: "files", name: "read", arguments: "{}", output: "A" },
        approval_request_id: "r",
      },
    ],
    [called("m", "mcp__files__read", {}), result("m", "A")],
  ],
  [
    "a web search with its sources",
    [
      {
        ...{ ...done, type: "web_search_call", id: "w" },
        action: { type: "search", query: "q", sources: [{ type: "url", url: "https://a.example" }] },
      },
    ],
    [called("w", "web_search", { type: "search", query: "q" }), result("w", "https://a.example")],
  ],
  [
    "a file search",
    [{ ...done, type: "file_search_call", id: "f", queries: ["q"], results: [{ filename: "a.md", text: "Found." }] }],
    [called("f", "file_search", { queries: ["q"] }), result("f", "a.md\nFound.")],
  ],
  [
    "code that was run",
    [{ ...done, type: "code_interpreter_call", id: "i", code: "1+1", outputs: [{ type: "logs", logs: "2" }] }],
    [called("i", "code_interpreter", { code: "1+1" }), result("i", "2")],
  ],
  [
    "an image that was made",
    [{ ...done, type: "image_generation_call", id: "g", revised_prompt: "A cat.", result: "aGk=" }],
    [called("g", "image_generation", { prompt: "A cat." }), result("g", "The image is made.")],
  ],
  [
    "code that made an image",
    [{ ...done, type: "code_interpreter_call", id: "i", code: "plot()", outputs: [{ type: "image", url: image }] }],
    [called("i", "code_interpreter", { code: "plot()" }), result("i", "(It made an image, which is not shown here.)")],
  ],
  [
    "a search that failed",
    [{ type: "web_search_call", id: "w", status: "failed", action: { type: "search", query: "q" } }],
    [called("w", "web_search", { type: "search", query: "q" }), result("w", "Error: No results are told of.")],
  ],
  [
    "code that failed",
    [{ type: "code_interpreter_call", id: "i", status: "failed", code: "1", outputs: null }],
    [called("i", "code_interpreter", { code: "1" }), result("i", "Error: It printed nothing.")],
  ],
  [
    "a patch that failed",
    [
      { ...done, type: "apply_patch_call", call_id: "c", operation: { type: "delete_file", path: "a" } },
      { type: "apply_patch_call_output", call_id: "c", status: "failed" },
    ],
    [called("c", "apply_patch", { type: "delete_file", path: "a" }), result("c", "Error")],
  ],
  [
    "a call that its user allowed, and nobody made",
    [
      { type: "mcp_approval_request", id: mcpId, server_label: "files", name: "read", arguments: "{}" },
      { type: "mcp_approval_response", id: "o", approval_request_id: mcpId, approve: true },
    ],
    [
      called(expect.stringMatching(/^call_[0-9a-f]{35}$/), "mcp__files__read", {}),
      result(expect.any(String), "The user allowed this call, and it was not made."),
    ],
  ],
  [
    "a program",
    [
      { type: "program", id: "p", call_id: "c", code: "1", fingerprint: "f" },
      { ...done, type: "program_output", id: "o", call_id: "c", result: "2" },
    ],
    [called("c", "program", { code: "1" }), result("c", "2")],
  ],
  [
    "a search for tools that the vendor ran",
    [
      {
        ...done,
        type: "tool_search_call",
        id: "t",
        call_id: null,
        execution: "server",
        arguments: { paths: ["files"] },
      },
      {
        ...{ ...done, type: "tool_search_output", id: "u", call_id: null, execution: "server" },
        tools: [{ type: "function", name: "read", parameters: {} }],
      },
    ],
    [called("t", "tool_search", { paths: ["files"] }), result("t", "These tools can be called now: read")],
  ],
  [
    "a search for tools that the vendor ran, without its ids",
    [
      { ...done, type: "tool_search_call", call_id: null, execution: "server", arguments: { paths: ["files"] } },
      {
        ...{ ...done, type: "tool_search_output", call_id: null, execution: "server" },
        tools: [{ type: "function", name: "read", parameters: {} }],
      },
    ],
    [
      called(expect.stringMatching(/^call_\w+$/), "tool_search", { paths: ["files"] }),
      result(expect.stringMatching(/^call_\w+$/), "These tools can be called now: read"),
    ],
  ],
];

test.for(steps)("%s is told as a call with its result", ([, items, messages]) => {
  expect(told(...items)).toEqual(messages);
});

describe("ids of 53 characters", () => {
  const long = (mark: string) => mark.padEnd(53, "0");
  const tools = [{ type: "function", name: "read", parameters: {} }];

  test("of an item, which its result names", () => {
    const [id, call_id] = [long("lsh_"), long("call_")];
    const action = { type: "exec", command: ["ls"], env: {} };
    const call = { ...done, type: "local_shell_call", id, call_id, action };
    const turn = [called(call_id, "local_shell", { command: ["ls"] }), result(call_id, "A")];
    expect(told(call, { type: "local_shell_call_output", id, output: "A" })).toEqual(turn);
    expect(told(call, { type: "function_call_output", call_id, output: "A" })).toEqual(turn);
  });

  test("of a search's call, which its result has, too", () => {
    const call_id = long("call_");
    const call = { ...done, type: "tool_search_call", call_id, execution: "client", arguments: {} };
    const output = { type: "tool_search_output", call_id, execution: "client", tools };
    expect(told(call, output)).toEqual([
      called(call_id, "tool_search", {}),
      result(call_id, "These tools can be called now: read"),
    ]);
  });

  test("of a call with a signature in it", () => {
    const call_id = long("call_1__thought__");
    const call = { ...done, type: "shell_call", call_id, action: { commands: ["ls"] } };
    const output = { type: "shell_call_output", call_id, output: "A" };
    expect(told(call, output)).toEqual([called(call_id, "shell", { commands: ["ls"] }), result(call_id, "A")]);
  });
});

test("calls of the vendor's without an id get one each", () => {
  const search = { ...done, type: "web_search_call", action: { type: "search", query: "q" } };
  const messages = told(search, search);
  const ids = messages.flatMap(({ tool_calls: calls = [] }) => calls as { id: string }[]).map(({ id }) => id);
  expect(new Set(ids).size).toBe(2);
  const turns = ids.map((id) => [called(id, "web_search", search.action), result(id, "No results are told of.")]);
  expect(messages).toEqual(turns.flat());
  expect(told(search, search)).toEqual(messages);
});

test("what says nothing of a tool at work is dropped and named", () => {
  const listed = { type: "mcp_list_tools", id: "l", server_label: "files", tools: [] };
  const bare = { ...done, type: "web_search_call", id: "w" };
  expect(translate(listed, bare, { type: "of_tomorrow" }).dropped).toEqual(["input[1]", "input[2]", "input[3]"]);
});

describe("what no chat model can do is refused by name:", () => {
  const refusal = (...items: object[]) => {
    try {
      translate(...items);
    } catch (error) {
      return error instanceof Refusal ? error.param : error;
    }
    return undefined;
  };

  test("a call of an MCP server that the vendor is now to make", () => {
    const request = { type: "mcp_approval_request", id: "r", server_label: "files", name: "read", arguments: "{}" };
    const response = { type: "mcp_approval_response", approval_request_id: "r", approve: true };
    const input = [user("hi"), request, response, response];
    const wire = Wire.ofJson(CreateResponseRequestSchema, { model: "m", input } as JsonObject);
    const asked = () => runNow(responsesToChat.translate(wire, { ...context, customTools: false }));
    expect(asked).toThrow(expect.objectContaining({ param: "input[2]" }));
  });

  test.each([
    ["a word", "false", Reason.INVALID_TYPE],
    ["a number", 0, Reason.INVALID_TYPE],
    ["nothing", null, Reason.MISSING_FIELD],
    ["nothing at all", undefined, Reason.MISSING_FIELD],
  ])("an approval that is %s, whether its call was made or not", (_, approve, reason) => {
    const item = {
      type: "mcp_approval_response",
      approval_request_id: "r",
      ...(approve === undefined ? {} : { approve }),
    };
    const made = { ...{ type: "mcp_call", id: "m", name: "read", arguments: "{}" }, approval_request_id: "r" };
    const refused = expect.objectContaining({ reason, param: "input[1].approve" });
    for (const items of [[item], [item, user("and?")], [item, made]]) {
      expect(() => translate(...items)).toThrow(refused);
    }
  });

  test("a call that has neither an id nor its result", () => {
    expect(refusal({ type: "shell_call", action: { commands: ["ls"] } })).toBe("input[1].call_id");
  });

  test("a screenshot that only the vendor has", () => {
    const output = { type: "computer_screenshot", file_id: "file-1" };
    expect(refusal({ type: "computer_call_output", call_id: "c", output })).toBe("input[1].output");
  });

  test("the result of a function as an object", () => {
    expect(refusal({ type: "function_call_output", call_id: "c", output: { a: 1 } })).toBe("input[1].output");
  });
});

describe("calls and results come in pairs:", () => {
  const call = (id: string) => ({ type: "function_call", call_id: id, name: "read", arguments: "{}" });
  const output = (id: string) => ({ type: "function_call_output", call_id: id, output: `of ${id}` });

  test("a result that comes late stands behind its call", () => {
    expect(told(call("c"), user("and?"), output("c"))).toEqual([
      called("c", "read", {}),
      result("c", "of c"),
      user("and?"),
    ]);
  });

  test("a call without a result says so", () => {
    const [, first, second] = told(call("c"), call("d"), output("d"));
    expect(first).toEqual(result("c", "The tool call was interrupted: there is no result."));
    expect(second).toEqual(result("d", "of d"));
  });

  test("a result without a call is told as text", () => {
    expect(told(output("c"))).toEqual([user("The result of a tool, for which no call is waiting:\n\nof c")]);
  });

  test("an id may come again in a later turn", () => {
    const twice = [call("c"), output("c"), call("c"), output("c")];
    const turn = [called("c", "read", {}), result("c", "of c")];
    expect(told(...twice)).toEqual([...turn, ...turn]);
  });
});

test("an id that is too long for OpenAI's chat is shortened, the same way for the call and its result", () => {
  const id = `mcp_${"0".repeat(60)}`;
  const [call, answer] = told({ type: "mcp_call", id, server_label: "s", name: "n", arguments: "{}", output: "A" });
  const short = answer?.tool_call_id as string;
  expect(short.length).toBeLessThanOrEqual(40);
  expect(call?.tool_calls).toMatchObject([{ id: short }]);
});
