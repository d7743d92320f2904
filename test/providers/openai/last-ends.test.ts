/** Servers that write an end into every chunk, or one before the last words: clients are told of it once, behind all that is said. */
import { describe, expect, test } from "vitest";
import { ask, eventsIn } from "../../support/ask.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatChunk, done, openaiFrames, usageChunk } from "../../support/vendors.ts";

type Json = Record<string, unknown>;

const { upstream, gateway } = scriptedStage((base_url) => ({
  embeddedModels: false,
  upstreams: [{ name: "far", kind: "openai", base_url, api_key: "k" }],
  models: [paidModel("m", "far")],
}));

const messages = [{ role: "user", content: "hi" }];

/** choicesOf returns the choices of the chunks that a caller gets. */
async function choicesOf(chunks: readonly Json[], more: Json = {}, path = "/v1/chat/completions"): Promise<Json[]> {
  upstream.script = (exchange) => exchange.stream(...chunks);
  const { text } = await ask(gateway, path, { model: "m", messages, stream: true, ...more } as never);
  expect(text).toContain("[DONE]");
  return eventsIn(text).flatMap(({ choices }) => choices);
}

const endsOf = (choices: readonly Json[]) => choices.map(({ finish_reason }) => finish_reason ?? null);
// biome-ignore lint/suspicious/noExplicitAny: the pieces of a choice differ.
const textOf = (choices: readonly any[]) => choices.map(({ delta, text }) => delta?.content ?? text ?? "").join("");

const hello = (end: string | null, last: readonly Json[]) => [
  chatChunk({ role: "assistant", content: "Hel" }, end),
  chatChunk({ content: "lo " }, end),
  chatChunk({ content: "there" }, end),
  ...last,
];

describe.each<[string, readonly Json[], string]>([
  ["with an end in every chunk", hello("stop", []), "stop"],
  ["with an end in every chunk and usage", hello("stop", [usageChunk()]), "stop"],
  ["with an end in every chunk and another behind", hello("stop", [chatChunk({}, "length")]), "length"],
  ["with an end in every chunk and an empty one behind", hello("stop", [chatChunk({ content: "" })]), "stop"],
  ["with an end in every chunk but the last", hello("STOP", [chatChunk({ content: "!" })]), "stop"],
  ["with the text null in every chunk", hello("null", [chatChunk({}, "stop")]), "stop"],
  ["with no text in every chunk", hello("", [chatChunk({}, "stop")]), "stop"],
  ["with two ends", hello(null, [chatChunk({}, "stop"), chatChunk({}, "stop"), usageChunk()]), "stop"],
])("a stream %s", (name, chunks, end) => {
  test("has one end, behind its words", async () => {
    const choices = await choicesOf(chunks);
    expect(textOf(choices)).toBe(name.includes("but the last") ? "Hello there!" : "Hello there");
    const ends = endsOf(choices);
    expect(ends.filter((one) => one !== null)).toEqual([end]);
    const last = ends.indexOf(end);
    expect(textOf(choices.slice(last + 1))).toBe("");
  });

  test("has its usage behind that", async () => {
    upstream.script = (exchange) => exchange.stream(...chunks);
    const asked = { model: "m", messages, stream: true, stream_options: { include_usage: true } };
    const events = eventsIn((await ask(gateway, "/v1/chat/completions", asked)).text);
    expect(events.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } });
  });
});

test("an end beside the last words stays there", async () => {
  const choices = await choicesOf([
    chatChunk({ role: "assistant", content: "Hel" }),
    chatChunk({ content: "lo" }, "stop"),
  ]);
  expect(choices).toHaveLength(2);
  expect(endsOf(choices)).toEqual([null, "stop"]);
});

test("each of two choices has one end", async () => {
  const piece = (index: number, content: string, finish_reason: string) => ({
    ...chatChunk({}),
    choices: [{ index, delta: { role: "assistant", content }, finish_reason }],
  });
  const chunks = ["a", "b", "c"].flatMap((text) => [piece(0, text, "stop"), piece(1, text, "length")]);
  const choices = await choicesOf(chunks, { n: 2 });
  const of = (index: number) => choices.filter((choice) => choice.index === index);
  expect([textOf(of(0)), textOf(of(1))]).toEqual(["abc", "abc"]);
  expect([endsOf(of(0)), endsOf(of(1))]).toEqual([
    [null, null, "stop"],
    [null, null, "length"],
  ]);
});

test("calls with an end in every chunk end once", async () => {
  const called = (more: Json) => chatChunk({ tool_calls: [{ index: 0, ...more }] }, "tool_calls");
  const choices = await choicesOf([
    called({ id: "c", type: "function", function: { name: "get", arguments: "" } }),
    called({ function: { arguments: '{"a"' } }),
    called({ function: { arguments: ":1}" } }),
  ]);
  expect(endsOf(choices)).toEqual([null, null, "tool_calls"]);
});

test("a text completion with an end in every chunk ends once", async () => {
  const piece = (text: string) => ({
    id: "c",
    object: "text_completion",
    choices: [{ index: 0, text, finish_reason: "stop" }],
  });
  const choices = await choicesOf(["a", "b", "c"].map(piece), { messages: undefined, prompt: "hi" }, "/v1/completions");
  expect([textOf(choices), endsOf(choices)]).toEqual(["abc", [null, null, "stop"]]);
});

test.each(["destroy", "reset"] as const)("a stream with an end in every chunk is broken off by a %s", async (leave) => {
  upstream.script = async (exchange) => {
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(...(hello("stop", []) as never[])));
    await new Promise((resolve) => setTimeout(resolve, 50));
    exchange[leave]();
  };
  const { text } = await ask(gateway, "/v1/chat/completions", { model: "m", messages, stream: true });
  const events = eventsIn(text);
  expect(textOf(events.flatMap(({ choices = [] }) => choices))).toBe("Hello there");
  expect(endsOf(events.flatMap(({ choices = [] }) => choices))).not.toContain("stop");
  expect(events.at(-1).error).toBeDefined();
  expect(text).not.toContain("[DONE]");
});

test("the words beside an end come before an error", async () => {
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(`${openaiFrames(...(hello("stop", []) as never[]))}data: {"error":{"message":"gone"}}\n\n${done}`);
  };
  const { text } = await ask(gateway, "/v1/chat/completions", { model: "m", messages, stream: true });
  expect(textOf(eventsIn(text).flatMap(({ choices = [] }) => choices))).toBe("Hello there");
  expect(eventsIn(text).at(-1).error.message).toContain("gone");
});

test("what follows an end and says nothing stays behind it, as a usage beside an empty choice", async () => {
  const empty = { ...chatChunk({ role: "assistant", content: "" }), usage: usageChunk().usage };
  upstream.script = (exchange) => exchange.stream(chatChunk({ content: "a" }), chatChunk({}, "stop"), empty);
  const asked = { model: "m", messages, stream: true, stream_options: { include_usage: true } };
  const events = eventsIn((await ask(gateway, "/v1/chat/completions", asked)).text);
  expect(events.map(({ usage, choices: [choice] }) => [choice?.finish_reason ?? null, usage ? "usage" : null])).toEqual(
    [
      [null, null],
      ["stop", null],
      [null, "usage"],
    ],
  );
});

describe("of two choices in one chunk", () => {
  const both = (...told: readonly (readonly [index: number, content: string, finish_reason?: string])[]) => ({
    ...chatChunk({}),
    choices: told.map(([index, content, finish_reason = null]) => ({
      index,
      delta: { role: "assistant", content },
      finish_reason,
    })),
  });

  test.each([
    ["both end and one goes on", [both([0, "a", "stop"], [1, "b", "stop"]), both([0, "c"])]],
    ["one ends and the other goes on", [both([0, "a", "stop"], [1, "b"]), both([1, "c"]), both([1, "", "stop"])]],
  ])("%s: each has its words in order, and one end behind them", async (_, chunks) => {
    const choices = await choicesOf(chunks, { n: 2 });
    for (const index of [0, 1]) {
      const own = choices.filter((choice) => choice.index === index);
      const words = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index);
      expect(textOf(own)).toBe(textOf(words));
      expect(endsOf(own).filter((end) => end !== null)).toEqual(["stop"]);
      expect(endsOf(own).at(-1)).toBe("stop");
    }
  });
});

test("of more choices than can be asked for, the first do not wait for the last", async () => {
  const piece = (index: number) => ({
    ...chatChunk({}),
    choices: [{ index, delta: { role: "assistant", content: "a" }, finish_reason: index < 200 ? "stop" : null }],
  });
  const choices = await choicesOf(
    Array.from({ length: 202 }, (_, index) => piece(index)),
    { n: 2 },
  );
  const at = (index: number) => choices.findIndex((choice) => choice.index === index);
  expect([at(0) < at(200), at(199) > at(200)]).toEqual([true, true]);
  expect(new Set(choices.map(({ index }) => index)).size).toBe(202);
});
