/** What coding agents send as responses: namespaced tools, free text, tools found later, messages between agents. */
import { describe, expect, test } from "vitest";
import { ChatCompletionChunkSchema, ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Frames } from "../../../src/call/call.ts";
import type { Form } from "../../../src/call/operations.ts";
import { Refusal } from "../../../src/call/refusals.ts";
import { responsesToChat } from "../../../src/families/responses-to-chat/index.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { context } from "../../support/translations/context.ts";

const careful = { customTools: false };
const parameters = { type: "object", properties: { q: { type: "string" } } };
const fn = (name: string, more: object = {}) => ({ type: "function", name, description: "d", parameters, ...more });
const namespace = (name: string, ...tools: object[]) => ({ type: "namespace", name, description: "", tools });
const user = { type: "message", role: "user", content: "hi" };

function translate(request: object, form: Form = "whole", takes: object | undefined = careful) {
  const wire = Wire.ofJson(CreateResponseRequestSchema, { model: "m", input: [user], ...request } as JsonObject);
  return runNow(responsesToChat.translate(wire, { ...context, form, ...takes }));
}

function sent(request: object, takes?: object) {
  return translate(request, "whole", takes).request.json() as {
    messages: JsonObject[];
    tools?: JsonObject[];
  } & JsonObject;
}

function namesSent(request: object, takes?: object): string[] {
  return (sent(request, takes).tools ?? []).map((tool) => ((tool.function ?? tool.custom) as { name: string }).name);
}

const call = (name: string, text: string, id = "c1") => ({ id, type: "function", function: { name, arguments: text } });

/** Returns the items of a unary answer with these calls. A stream has the same items, and ends each of them. */
async function itemsOf(
  request: object,
  calls: JsonObject[],
  takes: object | undefined = careful,
): Promise<JsonObject[]> {
  const message = { role: "assistant", content: null, tool_calls: calls };
  const body = {
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
  };
  const whole = translate(request, "whole", takes).answer({
    kind: "whole",
    body: Wire.ofJson(ChatCompletionSchema, body, true),
  });
  if (whole.kind !== "whole") throw new Error("no whole answer");
  const items = whole.body.json().output as JsonObject[];
  whole.body.message();
  const events = await streamed(request, calls, takes);
  expect(events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item)).toEqual(items);
  return items;
}

async function streamed(
  request: object,
  calls: JsonObject[],
  takes: object | undefined = careful,
): Promise<JsonObject[]> {
  const delta = (tool_calls: object[], finish_reason: string | null = null) =>
    ({
      id: "1",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta: { tool_calls }, finish_reason }],
    }) as unknown as JsonObject;
  const chunks = calls.flatMap((made, index) => {
    const key = made.custom ? "custom" : "function";
    const part = made.custom ? "input" : "arguments";
    const { [part]: text, name } = made[key] as Record<string, string>;
    const begun = delta([{ index, id: made.id, type: made.type, [key]: { name, [part]: "" } }]);
    return [begun, ...Array.from(text ?? "", (letter) => delta([{ index, [key]: { [part]: letter } }]))];
  });
  async function* frames(): Frames<typeof ChatCompletionChunkSchema> {
    for (const chunk of [...chunks, delta([], "tool_calls")])
      yield [Wire.ofJson(ChatCompletionChunkSchema, chunk, true)];
  }
  const answer = translate(request, "stream", takes).answer({ kind: "stream", frames: frames() });
  if (answer.kind !== "stream") throw new Error("no stream");
  const events: JsonObject[] = [];
  for await (const batch of answer.frames) for (const frame of batch) events.push(frame.json());
  return events;
}

describe("tools of a namespace", () => {
  const tools = [fn("shell"), namespace("mcp__files", fn("read"), fn("write"))];

  test("reach the model as functions", () => {
    expect(namesSent({ tools })).toEqual(["shell", "mcp__files__read", "mcp__files__write"]);
    expect(translate({ tools }).dropped).toEqual([]);
  });

  test("come back with their namespace and their own name", async () => {
    const [shell, read] = await itemsOf({ tools }, [call("shell", "{}"), call("mcp__files__read", '{"q":"a"}', "c2")]);
    expect(shell).not.toHaveProperty("namespace");
    expect(read).toMatchObject({
      type: "function_call",
      namespace: "mcp__files",
      name: "read",
      arguments: '{"q":"a"}',
    });
  });

  test("come back the same where the model omits the namespace", async () => {
    expect((await itemsOf({ tools }, [call("read", "{}")]))[0]).toMatchObject({
      namespace: "mcp__files",
      name: "read",
    });
  });

  test("have their current names in the history", () => {
    const input = [
      user,
      { type: "function_call", call_id: "c1", namespace: "mcp__files", name: "read", arguments: "{}" },
    ];
    const [, turn] = sent({ tools, input }).messages;
    expect(turn?.tool_calls).toEqual([call("mcp__files__read", "{}")]);
    expect(sent({ input }).messages[1]).toEqual(turn);
  });

  test.for([
    ["two namespaces that read alike", [namespace("a__b", fn("c")), namespace("a", fn("b__c"))]],
    ["a function that is called like a member", [fn("a__b"), namespace("a", fn("b"))]],
    ["names that are too long", [namespace("n".repeat(60), fn("first"), fn("second"))]],
    ["a namespace of signs", [namespace("my files!", fn("r")), namespace("my files?", fn("r"))]],
    ["a long function", [fn("f".repeat(90)), fn(`${"f".repeat(89)}g`)]],
  ] as const)("keep apart, within 64 characters: %s", async ([, tools]) => {
    const names = namesSent({ tools });
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(namesSent({ tools })).toEqual(names);
    const items = await itemsOf(
      { tools },
      names.map((name, i) => call(name, "{}", `c${i}`)),
    );
    const told = (tools as readonly (ReturnType<typeof fn> | ReturnType<typeof namespace>)[]).flatMap((tool) =>
      "tools" in tool
        ? tool.tools.map((member) => [tool.name, (member as { name: string }).name])
        : [[undefined, tool.name]],
    );
    expect(items.map(({ namespace, name }) => [namespace, name])).toEqual(told);
  });

  test.for([
    ["nested in itself", namespace("a", namespace("a", fn("b"))), "tools[0].tools[0].type"],
    ["without a name", { type: "namespace", tools: [fn("b")] }, "tools[0].name"],
    ["without tools", { type: "namespace", name: "a" }, "tools[0].tools"],
    ["whose tools are no list", { type: "namespace", name: "a", tools: { 0: fn("b") } }, "tools[0].tools"],
    ["with a tool that is none", { type: "namespace", name: "a", tools: ["b"] }, "tools[0].tools[0]"],
    ["with a nameless tool", namespace("a", { type: "function" }), "tools[0].tools[0].name"],
    ["with a tool of a wrong type", namespace("a", { ...fn("b"), strict: "yes" }), "tools[0].tools[0].strict"],
  ] as const)("are refused %s", ([, tool, param]) => {
    expect.assertions(1);
    try {
      translate({ tools: [tool] });
    } catch (error) {
      expect(error instanceof Refusal && error.param).toBe(param);
    }
  });

  test("can be chosen, by both names or by one", () => {
    const chosen = { type: "function", function: { name: "mcp__files__read" } };
    const choose = (tool_choice: object) => sent({ tools, tool_choice }).tool_choice;
    expect(choose({ type: "function", name: "read", namespace: "mcp__files" })).toEqual(chosen);
    expect(choose({ type: "function", name: "mcp__files.read" })).toEqual(chosen);
    expect(choose({ type: "function", name: "read" })).toEqual(chosen);
  });

  test("have only vendor-specific keywords removed from their schemas", () => {
    const properties = { message: { type: "string", encrypted: true }, encrypted: { type: "boolean" } };
    const [tool] =
      sent({ tools: [namespace("c", fn("f", { parameters: { type: "object", properties } }))] }).tools ?? [];
    expect((tool?.function as JsonObject | undefined)?.parameters).toEqual({
      type: "object",
      properties: { message: { type: "string" }, encrypted: { type: "boolean" } },
    });
  });
});

describe("tools that come with an item", () => {
  const exec = { type: "custom", name: "exec", description: "runs" };
  const input = [
    { type: "additional_tools", role: "developer", tools: [namespace("functions", exec, fn("wait"))] },
    user,
  ];

  test("reach the model, those of the default namespace by their bare names", async () => {
    expect(namesSent({ input })).toEqual(["exec", "wait"]);
    const [made] = await itemsOf({ input }, [call("exec", '{"input":"ls"}')]);
    expect(made).toMatchObject({ type: "custom_tool_call", namespace: "functions", name: "exec", input: "ls" });
  });

  test("are refused with the path of the fault", () => {
    const wrong = [{ type: "additional_tools", tools: [fn("a"), namespace("b", namespace("c"))] }, user];
    expect(() => translate({ input: wrong })).toThrow(
      expect.objectContaining({ param: "input[0].tools[1].tools[0].type" }),
    );
  });
});

describe("a search for tools", () => {
  const search = { type: "tool_search", execution: "client", description: "finds", parameters };
  const tools = [fn("shell"), search];
  const found = namespace("mcp__files", fn("read", { defer_loading: true }));
  const input = [
    user,
    { type: "tool_search_call", call_id: "s1", execution: "client", arguments: { q: "read" } },
    { type: "tool_search_output", call_id: "s1", execution: "client", tools: [found] },
  ];

  test("is a function to the model and a call of its own kind to the caller", async () => {
    expect(namesSent({ tools })).toEqual(["shell", "tool_search"]);
    const [made] = await itemsOf({ tools }, [call("tool_search", '{"q":"read","limit":3}')]);
    expect(made).toEqual({
      id: "tsc_a_0",
      type: "tool_search_call",
      status: "completed",
      call_id: "c1",
      execution: "client",
      arguments: { q: "read", limit: 3 },
    });
    expect(await itemsOf({ tools }, [call("tool_search", "no json")])).toMatchObject([{ arguments: {} }]);
  });

  test("offers the tools it has found", () => {
    const { messages } = sent({ tools, input });
    expect(messages[1]?.tool_calls).toEqual([call("tool_search", '{"q":"read"}', "s1")]);
    expect(messages[2]).toEqual({
      role: "tool",
      tool_call_id: "s1",
      content: "These tools can be called now: mcp__files__read",
    });
    expect(namesSent({ tools, input })).toEqual(["shell", "tool_search", "mcp__files__read"]);
    expect(translate({ tools, input: [...input, ...input.slice(1)] }).dropped).toEqual([]);
  });

  test("is dropped and named where its vendor runs it", () => {
    expect(namesSent({ tools: [fn("shell"), { type: "tool_search" }] })).toEqual(["shell"]);
  });
});

describe("tools that the caller runs by their kind", () => {
  const tools = [{ type: "shell", environment: { type: "local" } }, { type: "apply_patch" }];
  const item = { status: "completed", call_id: "c1" };

  test("are functions to the model and calls of their own kinds to the caller", async () => {
    expect(namesSent({ tools })).toEqual(["shell", "apply_patch"]);
    expect(translate({ tools }).dropped).toEqual([]);
    const action = { commands: ["ls"], timeout_ms: 900, max_output_length: null };
    expect(await itemsOf({ tools }, [call("shell", '{"commands":["ls"],"timeout_ms":900}')])).toEqual([
      { ...item, id: "sh_a_0", type: "shell_call", action, environment: { type: "local" } },
    ]);
    const operation = { type: "update_file", path: "a", diff: "@@\n-x\n+y" };
    expect(await itemsOf({ tools }, [call("apply_patch", JSON.stringify(operation))])).toEqual([
      { ...item, id: "apc_a_0", type: "apply_patch_call", operation },
    ]);
    expect(await itemsOf({ tools }, [call("shell", "no json")])).toMatchObject([{ action: { commands: [] } }]);
  });

  test("have their calls back in the history as the model made them", async () => {
    const made = [call("shell", '{"commands":["ls"]}'), call("apply_patch", '{"type":"delete_file","path":"a"}', "c2")];
    const results = [
      { type: "shell_call_output", call_id: "c1", output: [{ stdout: "a", stderr: "", outcome: { type: "exit" } }] },
      { type: "apply_patch_call_output", call_id: "c2", status: "failed", output: "No such file." },
    ];
    const { messages } = sent({ tools, input: [user, ...(await itemsOf({ tools }, made)), ...results] });
    expect(messages[1]?.tool_calls).toEqual(made);
    expect(messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "c1", content: "a" },
      { role: "tool", tool_call_id: "c2", content: "Error: No such file." },
    ]);
  });

  test("can be chosen, and only where they are offered", () => {
    const choice = { tools, tool_choice: { type: "shell" } };
    expect(sent(choice).tool_choice).toEqual({ type: "function", function: { name: "shell" } });
    expect(() => translate({ tools: [fn("f")], tool_choice: { type: "shell" } })).toThrow("tool_choice");
  });

  test.each([
    ["web_search", { type: "web_search" }],
    ["web_search_2025_08_26", { type: "web_search_preview" }],
    ["mcp", { type: "mcp", server_label: "s" }],
  ])("a choice of the vendor's %s is dropped as the tool is", (type, tool_choice) => {
    const { request, dropped } = translate({ tools: [{ type, server_label: "s" }, fn("f")], tool_choice });
    expect(request.json().tools).toMatchObject([{ function: { name: "f" } }]);
    expect(request.json()).not.toHaveProperty("tool_choice");
    expect(dropped).toEqual(["tools[0]", "tool_choice"]);
    expect(() => translate({ tools: [fn("f")], tool_choice })).toThrow("tool_choice");
  });

  test("are dropped and named where the vendor runs them", () => {
    const hosted = [{ type: "shell", environment: { type: "container_auto" } }, { type: "local_shell" }];
    expect(translate({ tools: hosted }).dropped).toEqual(["tools[0]", "tools[1]"]);
    const tool_choice = { type: "allowed_tools", tools: [{ type: "shell" }, { type: "local_shell" }, fn("f")] };
    for (const takes of [careful, { customTools: true }]) {
      const { request, dropped } = translate({ tools: [...hosted, fn("f")], tool_choice }, "whole", takes);
      expect(request.json().tools).toMatchObject([{ function: { name: "f" } }]);
      expect(dropped).toEqual(["tools[0]", "tools[1]", "tool_choice.tools[0]", "tool_choice.tools[1]"]);
    }
    const none = { type: "allowed_tools", tools: [{ type: "shell" }] };
    const { request } = translate({ tools: [fn("f")], tool_choice: none }, "whole", { customTools: true });
    expect(request.json()).not.toHaveProperty("tools");
  });

  test("lose what a function cannot say by name", () => {
    const skills = [{ name: "pdf", path: "/skills/pdf" }];
    const shell = { type: "shell", environment: { type: "local", skills } };
    expect(translate({ tools: [shell, fn("f", { environment: { type: "local" } })] }).dropped).toEqual([
      "tools[0].environment.skills",
      "tools[1].environment",
    ]);
  });
});

describe("a tool with free text as input", () => {
  const format = { type: "grammar", syntax: "lark", definition: "start: /.+/s" };
  const tools = [{ type: "custom", name: "apply_patch", description: "patches", format }];
  const history = [user, { type: "custom_tool_call", call_id: "c9", name: "apply_patch", input: 'say "hi"' }];

  test("becomes a function of one string where the server has no such kind, with its grammar in the description", () => {
    const [tool] = sent({ tools }).tools ?? [];
    expect(tool).toMatchObject({
      type: "function",
      function: { name: "apply_patch", parameters: { required: ["input"] } },
    });
    expect(JSON.stringify(tool)).toContain("start: /.+/s");
    expect(translate({ tools }).dropped).toEqual(["tools[0].format"]);
    expect(sent({ tools, input: history }).messages[1]?.tool_calls).toEqual([
      call("apply_patch", '{"input":"say \\"hi\\""}', "c9"),
    ]);
  });

  test("stays as it is where the server has the kind", async () => {
    const takes = { customTools: true, developer: true, systemFirst: false };
    expect(sent({ tools }, takes).tools?.[0]).toMatchObject({ type: "custom", custom: { name: "apply_patch" } });
    const made = { id: "c1", type: "custom", custom: { name: "apply_patch", input: '{"input":"x"}' } };
    expect((await itemsOf({ tools }, [made], takes))[0]).toMatchObject({
      type: "custom_tool_call",
      input: '{"input":"x"}',
    });
  });

  test.for([
    ['{"input":"*** Begin\\n+a"}', "*** Begin\n+a"],
    ['{"patch":"a"}', "a"],
    ['"a"', "a"],
    ["*** Begin Patch", "*** Begin Patch"],
    ["{}", ""],
    ['{"input":""}', ""],
    ['{"a":"1","b":"2"}', '{"a":"1","b":"2"}'],
    ['{"input":"cut o', '{"input":"cut o'],
  ])("comes back as its text: %s", async ([text, input]) => {
    const [item] = await itemsOf({ tools }, [call("apply_patch", text as string)]);
    expect(item).toEqual({
      id: "ctc_a_0",
      type: "custom_tool_call",
      status: "completed",
      call_id: "c1",
      name: "apply_patch",
      input,
    });
    const events = await streamed({ tools }, [call("apply_patch", text as string)]);
    const deltas = events.filter(({ type }) => type === "response.custom_tool_call_input.delta");
    expect(deltas.map(({ delta }) => delta).join("")).toBe(input);
  });
});

describe("messages between agents", () => {
  test.for([
    ["plain parts", [{ type: "input_text", text: "three files" }], "From /root/t1:\n\nthree files"],
    [
      "parts that a vendor would have hidden",
      [
        { type: "input_text", text: "Sender: /root/t1\n" },
        { type: "encrypted_content", encrypted_content: "look" },
      ],
      "Sender: /root/t1\nlook",
    ],
    ["plain text", "done", "From /root/t1:\n\ndone"],
  ] as const)("reaches the model: %s", ([, content, text]) => {
    const { messages } = sent({
      input: [user, { type: "agent_message", author: "/root/t1", recipient: "/root", content }],
    });
    expect(messages).toEqual([
      { role: "user", content: "hi" },
      { role: "user", content: text },
    ]);
  });
});

test("keys of responses are dropped", () => {
  const foreign = {
    client_metadata: { a: "b" },
    generate: false,
    prompt_cache_options: { a: 1 },
    context_management: [{ type: "compaction" }],
  };
  const { request, dropped } = translate({ ...foreign, top_k: 3, include: ["reasoning.encrypted_content"] });
  expect(Object.keys(request.json())).toEqual(["top_k", "model", "messages"]);
  expect(dropped).toEqual(Object.keys(foreign));
});

test("effort reaches a model that reasons, and is named for one that does not", () => {
  const wire = Wire.ofJson(CreateResponseRequestSchema, { model: "m", input: "x", reasoning: { effort: "high" } });
  expect(runNow(responsesToChat.translate(wire, { ...context, reasons: true })).request.json().reasoning_effort).toBe(
    "high",
  );
  const { request, dropped } = runNow(responsesToChat.translate(wire, { ...context, reasons: false }));
  expect(request.json()).not.toHaveProperty("reasoning_effort");
  expect(dropped).toEqual(["reasoning.effort"]);
});

test("a server without lists of allowed tools is offered only those tools", () => {
  const tool_choice = {
    type: "allowed_tools",
    mode: "required",
    tools: [{ type: "function", name: "b" }, { type: "web_search" }],
  };
  const { request, dropped } = translate({ tools: [fn("a"), fn("b")], tool_choice });
  expect(request.json()).toMatchObject({ tools: [{ function: { name: "b" } }], tool_choice: "required" });
  expect(dropped).toEqual(["tool_choice.tools[1]"]);
});
