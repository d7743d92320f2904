/**
 * A conversation that began at another server of the Messages API goes on at one that does not know the types of its blocks: what they say is
 * told as texts, in the same call and in the next.
 *
 * Sources: vLLM 0.33 (entrypoints/anthropic/protocol.py), SGLang 0.5.23 (srt/entrypoints/anthropic/protocol.py),
 * Xinference 4.1 (api/protocols/anthropic.py)
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { blocksOf } from "../../../src/call/request/refused-members.ts";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { cpuMsOf } from "../../support/run/cpu-time.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [{ name: "far", kind: "anthropic", base_url }],
    models: [modelAt("far", "open", "qwen3-coder")],
    embeddedModels: false,
  }),
  { perTest: true },
);

const known = ["text", "image", "tool_use", "tool_result", "thinking"];
const expected = known.map((type) => `'${type}'`).join(", ");

/** Refusal says that a block is not known, by its type and its place; it may say so of several. */
type Refusal = (found: readonly (readonly [type: string, turn: number, block: number])[]) => JsonObject;

const ofAnthropic = (message: string) => ({ type: "error", error: { type: "invalid_request_error", message } });
const refusals: Readonly<Record<string, Refusal>> = {
  "vLLM's": (found) => {
    const errors = found.map(
      ([type, turn, block]) =>
        `{'type': 'literal_error', 'loc': 'body.messages.${turn}.content.${block}.type', ` +
        `'msg': "Input should be ${expected}", 'input': '${type}', 'ctx': {'expected': "${expected}"}}`,
    );
    const message = `${errors.length} validation errors:\n  ${errors.join("\n  ")}`;
    return { error: { message, type: "Bad Request", param: "body.messages.1.content", code: 400 } };
  },
  "older vLLM's": (found) => {
    const errors = found.map(
      ([type, turn, block]) =>
        `{'type': 'literal_error', 'loc': ('body', 'messages', ${turn}, 'content', 'list[AnthropicContentBlock]', ` +
        `${block}, 'type'), 'msg': "Input should be ${expected}", 'input': '${type}'}`,
    );
    return { error: { message: errors.join("\n"), type: "Bad Request", code: 400 } };
  },
  "SGLang's": (found) => {
    const said = found.map(
      ([type, turn, block]) =>
        `messages.${turn}.content.list[tagged-union].${block}: Input tag '${type}' found using 'type' does not match ` +
        `any of the expected tags: ${expected}`,
    );
    return ofAnthropic(`${said.join("; ").slice(0, 500)}…`);
  },
  "Xinference's": ([first]) => ({ detail: `Unsupported Anthropic content block type: ${first?.[0]}` }),
  "a proxy's": ([first]) => ofAnthropic(`content block type '${first?.[0]}' is not supported`),
};

function refuse(refusal: Refusal): void {
  upstream.script = (exchange: ScriptedExchange) => {
    const turns = exchange.asked.messages as JsonObject[];
    const found = turns.flatMap(({ content }, turn) =>
      !Array.isArray(content)
        ? []
        : content.flatMap((block, place) => {
            const type = `${(block as JsonObject).type}`;
            return known.includes(type) ? [] : [[type, turn, place] as const];
          }),
    );
    if (found.length > 0) return exchange.json(400, refusal(found));
    exchange.json(200, {
      ...{ id: "msg_1", type: "message", role: "assistant", model: "open", stop_reason: "end_turn" },
      ...{ content: [{ type: "text", text: "Yes." }], usage: { input_tokens: 3, output_tokens: 2 } },
    });
  };
}

async function send(messages: JsonObject[]) {
  const before = upstream.received.length;
  const { status, dropped, text } = await ask(gateway, "/v1/messages", { model: "open", max_tokens: 99, messages });
  return { status, dropped, text, times: upstream.received.length - before, sent: upstream.lastAsked.messages };
}

const text = (text: string) => ({ type: "text", text });
const go = { role: "user", content: "Go on." };
const searched = [
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
  {
    ...{ type: "web_search_tool_result", tool_use_id: "srvtoolu_1" },
    content: [{ type: "web_search_result", url: "https://a.example", title: "A", encrypted_content: "c2VhbA==" }],
  },
  { type: "mcp_tool_use", id: "mcptoolu_1", name: "look", server_name: "s", input: {} },
  { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [text("seen")] },
  { type: "compaction", content: "What was said." },
];
const pages = [
  { type: "search_result", source: "https://b.example", title: "B", content: [text("b")] },
  { type: "document", title: "D", source: { type: "text", media_type: "text/plain", data: "d" } },
];
const file = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } };

test.each(Object.entries(refusals))("in %s words", async (_, refusal) => {
  refuse(refusal);
  const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: "done" };
  const messages = [
    { role: "user", content: [...pages, text("Look.")] },
    { role: "assistant", content: [...searched, text("Found."), call] },
    { role: "user", content: [result, ...pages.map((page) => ({ ...page, cache_control: { type: "ephemeral" } }))] },
  ];
  const first = await send(messages);
  expect([first.status, first.dropped], first.text).toEqual([200, null]);
  const told = ["B\n\nhttps://b.example\n\nb", "D\n\nd"];
  expect(first.sent).toEqual([
    { role: "user", content: [...told.map(text), text("Look.")] },
    {
      role: "assistant",
      content: [
        text('web_search: {"query":"x"}'),
        text('The result of the tool:\n\n[{"type":"web_search_result","url":"https://a.example","title":"A"}]'),
        text("look: {}"),
        text("The result of the tool:\n\nseen"),
        text("What was said."),
        text("Found."),
        call,
      ],
    },
    { role: "user", content: [result, ...told.map((one) => ({ ...text(one), cache_control: { type: "ephemeral" } }))] },
  ]);
  expect((await send(messages)).times).toBe(1);
});

test.each(Object.entries(refusals))("a file of an answered turn is named, in %s words", async (_, refusal) => {
  refuse(refusal);
  const asked = { role: "user", content: [file, text("Read.")] };
  const { status, dropped, sent } = await send([asked, { role: "assistant", content: "Read." }, go]);
  expect([status, dropped]).toEqual([200, "messages[0].content[0]"]);
  expect(sent[0].content).toEqual([text(expect.stringContaining("cannot be shown") as never), text("Read.")]);
  // Turns that the model is to go on with answer nothing yet.
  const begun = ["Re", "ad"].map((content) => ({ role: "assistant", content }));
  for (const unanswered of [[asked], [asked, ...begun]]) {
    const next = await send(unanswered);
    expect([next.status, next.times]).toEqual([400, 1]);
  }
});

test("a block in the result of a tool is told there", async () => {
  upstream.script = (exchange) => {
    if (!JSON.stringify(exchange.asked).includes("search_result")) return exchange.json(200, answer);
    const place = "messages.1.content.list[tagged-union].0.tool_result.content.list[tagged-union].0";
    exchange.json(400, ofAnthropic(`${place}: Input tag 'search_result' found using 'type' does not match any`));
  };
  const answer = { type: "message", role: "assistant", content: [text("Yes.")], stop_reason: "end_turn" };
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: [pages[0] as JsonObject] };
  const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
  const { sent } = await send([go, { role: "assistant", content: [call] }, { role: "user", content: [result] }]);
  expect(sent[2].content).toEqual([{ ...result, content: [text("B\n\nhttps://b.example\n\nb")] }]);
});

test("a type with a member of its own name is one that is not known", async () => {
  upstream.script = (exchange) =>
    JSON.stringify(exchange.asked).includes('"thinking"')
      ? exchange.json(400, ofAnthropic("messages.1.content.0.thinking.type: Input should be 'text'"))
      : exchange.json(200, { type: "message", role: "assistant", content: [text("Yes.")], stop_reason: "end_turn" });
  const thought = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
  const { status, dropped } = await send([go, { role: "assistant", content: [thought, text("Done.")] }, go]);
  expect([status, dropped]).toEqual([200, "messages[1].content[0]"]);
});

test("a refusal of thinking that was sealed elsewhere, which names no type's list", async () => {
  upstream.script = (exchange) =>
    JSON.stringify(exchange.asked).includes("redacted_thinking")
      ? exchange.json(400, ofAnthropic("Anthropic redacted_thinking history is not supported"))
      : exchange.json(200, { type: "message", role: "assistant", content: [text("Yes.")], stop_reason: "end_turn" });
  const sealed = { type: "redacted_thinking", data: "c2VhbA==" };
  const { status, dropped } = await send([go, { role: "assistant", content: [sealed, text("Done.")] }, go]);
  expect([status, dropped]).toEqual([200, "messages[1].content[0]"]);
});

test.each([
  "messages.0.content.0.document.source.type: Input should be 'base64', 'text' or 'url'",
  "messages.0.content.0.document.cache_control.type: Input should be 'ephemeral'",
  "messages.0.content.1.search_result.content.0.type: Input should be 'text'",
])("a refusal of what stands in a block is told as it came: %s", async (said) => {
  upstream.script = (exchange) => exchange.json(400, ofAnthropic(said));
  const document = { ...(pages[1] as JsonObject), cache_control: { type: "long" } };
  const { status, times } = await send([
    { role: "user", content: [document, pages[0] as JsonObject, text("Read.")] },
    { role: "assistant", content: "Read." },
    go,
  ]);
  expect([status, times]).toEqual([400, 1]);
});

test("a fetched page is told with its text, and a fetched file without its bytes", async () => {
  refuse(refusals["SGLang's"] as Refusal);
  const page = (source: JsonObject) => ({
    ...{ type: "web_fetch_tool_result", tool_use_id: "srvtoolu_1" },
    content: { type: "web_fetch_result", url: "https://a.example", content: { type: "document", source } },
  });
  const written = { type: "text", media_type: "text/plain", data: "What stands there." };
  const results = [page(written), page({ type: "base64", media_type: "application/pdf", data: "JVBERi0=" })];
  const { status, sent } = await send([go, { role: "assistant", content: results }, go]);
  expect(status).toBe(200);
  const [first, second] = sent[1].content.map(({ text: told }: { text: string }) => told);
  expect(first).toContain("What stands there.");
  expect(second).toContain("application/pdf");
  expect(second).not.toContain("JVBERi0=");
});

test("very many types that a refusal names are looked for in a long conversation in time", async () => {
  const messages = Array.from({ length: 30_000 }, () => ({ role: "user", content: [text("a"), text("b")] }));
  const types = new Set(Array.from({ length: 200 }, (_, i) => `t${i}`));
  const cpuMs = await cpuMsOf(() => {
    for (let times = 0; times < 10; times++) expect(blocksOf({ messages }, types, "messages")).toEqual([]);
  });
  expect(cpuMs).toBeLessThan(10_000);
});
