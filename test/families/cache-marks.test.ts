/** Marks of a cached prompt survive each translation to a server that takes them, in its own words, and are named where it takes none. */
import { expect, test } from "vitest";
import type { ProfileConfig } from "../../src/config/schema-profile.ts";
import { ask } from "../support/ask.ts";
import { modelAt, upstreamAt, withProfile } from "../support/gateway.ts";
import type { ScriptedExchange } from "../support/scripted-upstream.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";

const claudes = { cache_control: { type: "ephemeral" } };
const openAis = { prompt_cache_breakpoint: { mode: "explicit" } };
const chatAlone = { operations: { chat: "/chat/completions" } } as const;
const responses = { operations: { responses: "/responses" }, responses: "always", responses_items: "any" } as const;

/** Servers by their names, and what each says of marks. */
const profiles: Readonly<Record<string, ProfileConfig>> = {
  aggregator: { ...chatAlone, cache_marks: "any", system: "anywhere", plain_text: [] },
  qwen: { ...chatAlone, cache_marks: "cache_control" },
  gpt: { ...chatAlone, cache_marks: "prompt_cache_breakpoint", system: "anywhere", plain_text: [] },
  responding: { ...responses, cache_marks: "prompt_cache_breakpoint", system: "anywhere" },
  strict: { ...chatAlone, cache_marks: "none" },
  "strict-responding": { ...responses, cache_marks: "none" },
  unknown: chatAlone,
  "unknown-responding": responses,
};

const stage = scriptedStage(
  (baseUrl) => {
    const config = withProfile(upstreamAt(baseUrl), {});
    const [upstream] = config.upstreams ?? [];
    const claude = { ...upstream, name: "claude", kind: "anthropic" as const };
    const others = Object.entries(profiles).map(([name, profile]) => ({ ...upstream, name, profile }));
    return {
      ...config,
      upstreams: [...others, claude] as never,
      models: [...Object.keys(profiles), "claude"].map((name) => ({
        ...modelAt("far", name),
        targets: [{ ...modelAt("far", name).targets[0], upstream: name, model: name } as never],
      })),
    };
  },
  { script: answer },
);

function answer(exchange: ScriptedExchange): void {
  const said = { type: "text", text: "hi" };
  const usage = { input_tokens: 1, output_tokens: 1, prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const { path } = exchange;
  const message = { id: "msg_1", type: "message", role: "assistant", content: [said], stop_reason: "end_turn" };
  const output = [{ ...message, status: "completed", content: [{ type: "output_text", text: "hi", annotations: [] }] }];
  const choices = [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }];
  if (path.endsWith("/messages")) exchange.json(200, { ...message, model: "m", usage });
  else if (path.endsWith("/responses"))
    exchange.json(200, { id: "r", object: "response", status: "completed", output, usage });
  else exchange.json(200, { id: "c", object: "chat.completion", model: "m", choices, usage });
}

async function send(model: string, path: string, body: object) {
  const asked = await ask(stage.gateway, `/v1${path}`, { model, ...body });
  expect([asked.status, asked.text]).toEqual([200, asked.text]);
  return { dropped: asked.dropped, sent: stage.upstream.lastAsked };
}

/** What Claude Code sends: marks at instructions, at the last text, and at the last result. */
const message = {
  max_tokens: 100,
  system: [
    { type: "text", text: "You help." },
    { type: "text", text: "Be brief.", ...claudes },
    { type: "text", text: "It is noon." },
  ],
  messages: [
    { role: "user", content: [{ type: "text", text: "look" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: {} }] },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", content: "seen", ...claudes },
        { type: "text", text: "and now?", ...claudes },
      ],
    },
  ],
  tools: [{ name: "look", input_schema: { type: "object", properties: {} } }],
};
const names = [
  "system[1].cache_control",
  "messages[2].content[0].cache_control",
  "messages[2].content[1].cache_control",
];

test.each([
  ["aggregator", claudes],
  ["qwen", claudes],
  ["gpt", openAis],
])("a message for the chat of %s keeps them as %j", async (model, mark) => {
  const { sent, dropped } = await send(model, "/messages", message);
  expect(dropped).toBeNull();
  const [system, asked, , result, last] = sent.messages;
  expect(system.content).toEqual([
    { type: "text", text: "You help.\n\nBe brief.", ...mark },
    { type: "text", text: "It is noon." },
  ]);
  expect(asked.content).toBe("look");
  expect(result).toEqual({ role: "tool", tool_call_id: "t1", content: [{ type: "text", text: "seen", ...mark }] });
  expect(last.content).toEqual([{ type: "text", text: "and now?", ...mark }]);
});

test.each(["strict", "unknown", "strict-responding", "unknown-responding"])(
  "a message for %s, which is not known to take any, is as plain as ever, and they are named",
  async (model) => {
    const { sent, dropped } = await send(model, "/messages", message);
    expect(dropped?.split(", ")).toEqual(names);
    expect(JSON.stringify(sent)).not.toMatch(/cache/);
    if (model !== "strict") return;
    expect(sent.messages[0].content).toBe("You help.\n\nBe brief.\n\nIt is noon.");
    expect(sent.messages.at(-1).content).toBe("and now?");
  },
);

test("a message for a server of responses keeps those that an item can have", async () => {
  const { sent, dropped } = await send("responding", "/messages", message);
  expect(dropped).toBe(names[1]);
  const marked = sent.input.flatMap(({ content }: { content?: unknown }) => (Array.isArray(content) ? content : []));
  expect(marked).toContainEqual({ type: "input_text", text: "and now?", ...openAis });
  expect(JSON.stringify(sent)).not.toMatch(/cache_control/);
});

test("a chat for a server of responses has OpenAI's marks for Claude's, also for that of a whole message", async () => {
  const messages = [
    { role: "system", content: "You help.", ...claudes },
    {
      role: "user",
      content: [
        { type: "text", text: "a", ...claudes },
        { type: "text", text: "b" },
      ],
      ...claudes,
    },
    { role: "user", content: "c" },
  ];
  const { sent, dropped } = await send("responding", "/chat/completions", { messages });
  expect(dropped).toBeNull();
  expect(JSON.stringify(sent).match(/prompt_cache_breakpoint/g)).toHaveLength(3);
  expect(JSON.stringify(sent)).not.toMatch(/cache_control/);
  const unknown = await send("unknown-responding", "/chat/completions", { messages });
  expect(JSON.stringify(unknown.sent)).not.toMatch(/cache/);
  expect(unknown.dropped).toMatch(/cache_control/);
});

test("OpenAI's marks of chats and responses are Claude's at Claude", async () => {
  const content = [{ type: "text", text: "a", ...openAis }];
  const chat = await send("claude", "/chat/completions", { messages: [{ role: "user", content }] });
  const input = [{ role: "user", content: [{ type: "input_text", text: "a", ...openAis }] }];
  const response = await send("claude", "/responses", { input });
  for (const { sent, dropped } of [chat, response]) {
    expect(sent.messages).toEqual([{ role: "user", content: [{ type: "text", text: "a", ...claudes }] }]);
    expect(dropped).toBeNull();
  }
});

test("a mark inside a result is the result's at Claude, which refuses it there, and of more than four the latest stay", async () => {
  const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
  const marked = (text: string) => [{ type: "text", text, ...claudes }];
  const messages = [
    { role: "system", content: marked("s") },
    { role: "user", content: marked("a") },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: marked("r") },
    { role: "user", content: marked("b") },
    { role: "user", content: marked("c") },
  ];
  const { sent, dropped } = await send("claude", "/chat/completions", { messages });
  expect(sent.messages.at(-1).content[0]).toEqual({
    ...{ type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "r" }] },
    ...claudes,
  });
  expect(JSON.stringify(sent).match(/cache_control/g)).toHaveLength(4);
  expect(dropped).toBe("messages[0].content[0].cache_control");
});
