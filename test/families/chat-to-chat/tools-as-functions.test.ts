/** Custom tools, and lists of the tools that may be called now, over a server of chat that takes functions only. */
import { describe, expect, test } from "vitest";
import { ask, eventsIn } from "../../support/ask.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { servedBy } from "../../support/upstreams/strict-gateway.ts";
import { answerAsOpenAi, chatAnswer, chatChunk, usageChunk } from "../../support/vendors.ts";

const path = "/v1/chat/completions";
const user = { role: "user", content: "hi" };
const grammar = { syntax: "lark", definition: "start: /.+/" };
const patch = { type: "custom", custom: { name: "patch", description: "Edits", format: { type: "grammar", grammar } } };
const fn = (name: string) => ({ type: "function", function: { name, parameters: { type: "object", properties: {} } } });
const chosen = (name: string) => ({ type: "function", function: { name } });

const { upstream, gateway } = scriptedStage(servedBy({ vendor: "groq", model: "llama-3.3-70b-versatile" }), {
  script: answerAsOpenAi,
});

async function sent(body: object) {
  const { status, dropped } = await ask(gateway, path, { model: "m", messages: [user], ...body });
  return { status, dropped, ...upstream.lastAsked };
}

describe("the request", () => {
  test("offers a custom tool as a function of one text, with its grammar and its earlier calls", async () => {
    const made = { id: "c1", type: "custom", custom: { name: "patch", input: 'a "b"' } };
    const other = { id: "c2", type: "function", function: { name: "get", arguments: "{}" } };
    const messages = [
      user,
      { role: "assistant", content: null, tool_calls: [made, other] },
      { role: "tool", tool_call_id: "c1", content: "done" },
      { role: "tool", tool_call_id: "c2", content: "got" },
    ];
    const choice = { type: "custom", custom: { name: "patch" } };
    const told = await sent({ messages, tools: [patch, fn("get")], tool_choice: choice });
    expect(told).toMatchObject({ status: 200, dropped: "tools[0].custom.format", tool_choice: chosen("patch") });
    expect(told.tools).toEqual([
      {
        type: "function",
        function: {
          name: "patch",
          description: "Edits\n\n`input` follows this lark grammar:\nstart: /.+/",
          parameters: {
            type: "object",
            properties: { input: { type: "string", description: expect.any(String) } },
            required: ["input"],
            additionalProperties: false,
          },
        },
      },
      fn("get"),
    ]);
    expect(told.messages[1].tool_calls).toEqual([
      { id: "c1", type: "function", function: { name: "patch", arguments: '{"input":"a \\"b\\""}' } },
      other,
    ]);
  });

  test.each(["auto", "required"])("offers only the tools that may be called now: %s", async (mode) => {
    const allowed_tools = { mode, tools: [{ type: "custom", custom: { name: "patch" } }, chosen("put")] };
    const tools = [patch, fn("get"), fn("put")];
    const told = await sent({ tools, tool_choice: { type: "allowed_tools", allowed_tools } });
    const names = told.tools.map((tool: { function: { name: string } }) => tool.function.name);
    expect([told.status, told.tool_choice, names]).toEqual([200, mode, ["patch", "put"]]);
  });

  test("is passed on as it came where all tools are functions", async () => {
    const body = { tools: [fn("get")], tool_choice: chosen("get") };
    expect(await sent(body)).toMatchObject({ status: 200, dropped: null, ...body });
  });
});

interface Heard {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  input: string;
}

/** Joins the pieces of calls, as the vendor's SDK does, and returns them with the reasons why the stream ends. */
function heardIn(text: string) {
  const calls: Heard[] = [];
  const finishes: string[] = [];
  for (const { choices } of eventsIn(text))
    for (const { delta, finish_reason: finish } of choices) {
      for (const { index, id, type, custom, function: called } of delta.tool_calls ?? []) {
        const { name, input, arguments: args } = custom ?? called;
        calls[index] ??= { id, type, name, input: "" };
        calls[index].input += input ?? args ?? "";
        expect([custom !== undefined, finishes]).toEqual([calls[index].type === "custom", []]);
      }
      if (finish) finishes.push(finish);
    }
  return { calls, finishes };
}

const piece = (index: number, text: string, more: object = {}) => ({ index, function: { arguments: text }, ...more });
const begun = (index: number, name: string, text = "") => ({
  ...{ index, id: `c${index}`, type: "function" },
  function: { name, arguments: text },
});
const calls = (...tool_calls: object[]) => chatChunk({ tool_calls });
const whole = [
  { id: "c0", type: "custom", name: "patch", input: "a\nb" },
  { id: "c1", type: "function", name: "get", input: '{"q":1}' },
];

describe("the answer", () => {
  const asked = { model: "m", messages: [user], tools: [patch, fn("get")] };
  const text = '{"input":"a\\nb"}';

  test("has calls of the custom tool, in one piece", async () => {
    const tool_calls = [begun(0, "patch", text), begun(1, "get", '{"q":1}')];
    upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: null, tool_calls }, "tool_calls"));
    const { json } = await ask(gateway, path, asked);
    const [first, second] = json.choices[0].message.tool_calls;
    expect(first).toEqual({ index: 0, id: "c0", type: "custom", custom: { name: "patch", input: "a\nb" } });
    expect(second).toEqual(tool_calls[1]);
  });

  test.each([
    ["piece by piece", [calls(begun(0, "patch")), calls(piece(0, text.slice(0, 9))), calls(piece(0, text.slice(9)))]],
    [
      "with ids and names in each piece",
      [calls(begun(0, "patch", text.slice(0, 4))), calls(begun(0, "patch", text.slice(4)))],
    ],
    ["in one piece", [calls(begun(0, "patch", text))]],
  ])("is the same as a stream, %s", async (_, chunks) => {
    const more = [calls(begun(1, "get", '{"q"')), calls(piece(1, ":1}"))];
    for (const last of [[chatChunk({}, "tool_calls")], [chatChunk({ content: null }, "tool_calls"), usageChunk()]]) {
      upstream.script = (exchange) => exchange.stream(chatChunk({ role: "assistant" }), ...chunks, ...more, ...last);
      const heard = await ask(gateway, path, { ...asked, stream: true });
      expect(heardIn(heard.text)).toEqual({ calls: whole, finishes: ["tool_calls"] });
    }
  });

  test("is the same where the calls come with the reason why they end", async () => {
    const tool_calls = [begun(0, "patch", text), begun(1, "get", '{"q":1}')];
    upstream.script = (exchange) => exchange.stream(chatChunk({ role: "assistant", tool_calls }, "tool_calls"));
    const heard = await ask(gateway, path, { ...asked, stream: true });
    expect(heardIn(heard.text)).toEqual({ calls: whole, finishes: ["tool_calls"] });
  });

  test("tells texts as they come", async () => {
    upstream.script = answerAsOpenAi;
    const heard = await ask(gateway, path, { ...asked, stream: true });
    const texts = eventsIn(heard.text).map(({ choices }) => choices[0]?.delta.content ?? "");
    expect(texts.join("")).toBe("Hello");
  });
});
