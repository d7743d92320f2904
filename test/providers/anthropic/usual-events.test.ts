/**
 * Servers that resemble Anthropic's leave events out of their streams, or say in the beginning of a block what belongs in its deltas.
 * Anthropic's SDK and agents read each of them as they read Anthropic's.
 */
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import { call } from "../../support/clients/families.ts";
import { eventsStage, type Json } from "../../support/upstreams/events-stage.ts";
import { blockEvents, messageAnswer, messageEnd, messageStart } from "../../support/vendors.ts";

const { upstream, gateway, ask } = eventsStage();
const toldOf = (...events: readonly Json[]) => ask(true, ...events);

const begin = (index: number, content_block: unknown) => ({ type: "content_block_start", index, content_block });
const delta = (index: number, said: Json) => ({ type: "content_block_delta", index, delta: said });
const text = (said: string) => ({ type: "text_delta", text: said });
const input = (partial_json: string) => ({ type: "input_json_delta", partial_json });
const end = (index: number) => ({ type: "content_block_stop", index });
const tool = { type: "tool_use", id: "t", name: "weather" };

const hello = [{ type: "text", text: "Hello you" }];
const called = [{ ...tool, input: { city: "Rome" } }];
const thought = [{ type: "thinking", thinking: "Hm.", signature: "" }, ...hello];

const unnamed = { type: "tool_use", id: expect.stringMatching(/^toolu_\w{20,}$/), name: "unknown" };
const cited = { type: "citations_delta", citation: { type: "char_location", cited_text: "Hello" } };
const at = (index: number) => (event: Json) => ({ ...event, index });

const whole: Json[] = [begin(0, { type: "text", text: "" }), delta(0, text("Hello")), delta(0, text(" you")), end(0)];

describe.each<[string, Json[], Json[]]>([
  ["without its beginning", [...whole, ...messageEnd()], hello],
  ["whose text has no block", [messageStart(), ...whole.slice(1), ...messageEnd()], hello],
  ["whose block is null", [messageStart(), begin(0, null), ...whole.slice(1), ...messageEnd()], hello],
  ["whose block does not end", [messageStart(), ...whole.slice(0, -1), ...messageEnd()], hello],
  ["whose deltas have no type", [messageStart(), ...whole.map(withoutType), ...messageEnd()], hello],
  [
    "whose text begins in its block",
    [messageStart(), begin(0, { type: "text", text: "Hello" }), delta(0, text(" you")), end(0), ...messageEnd()],
    hello,
  ],
  [
    "whose block has the text that its delta repeats",
    [messageStart(), begin(0, hello[0]), delta(0, text("Hello you")), end(0), ...messageEnd()],
    hello,
  ],
  ["whose text is in its block alone", [messageStart(), begin(0, hello[0]), ...messageEnd()], hello],
  [
    "whose call has its input in its block",
    [messageStart(), begin(0, called[0]), end(0), ...messageEnd("tool_use")],
    called,
  ],
  [
    "whose call has its input as text in its block",
    [messageStart(), begin(0, { ...tool, input: '{"city":"Rome"}' }), end(0), ...messageEnd("tool_use")],
    called,
  ],
  [
    "whose call has its input in its block and in deltas",
    [
      ...[messageStart(), begin(0, called[0]), delta(0, input("")), delta(0, input('{"city"'))],
      ...[delta(0, input(':"Rome"}')), end(0), ...messageEnd("tool_use")],
    ],
    called,
  ],
  ...(
    [
      ["an empty object before its input", input("{}"), input('{"city":'), input('"Rome"}')],
      ["its input twice", input('{"city":"Rome"}'), input('{"city":"Rome"}')],
      ["its input as a JSON string", input('"{\\"city\\":'), input('\\"Rome\\"}"')],
      ["all of its input so far in each piece", input('{"city":'), input('{"city":"Rome"}')],
      ["its input as an object", { type: "input_json_delta", partial_json: { city: "Rome" } }],
    ] as const
  ).map(([name, ...deltas]): [string, Json[], Json[]] => [
    `whose call has ${name}`,
    [
      ...[messageStart(), begin(0, { ...tool, input: {} }), ...deltas.map((one) => delta(0, one))],
      ...[end(0), ...messageEnd("tool_use")],
    ],
    called,
  ]),
  [
    "whose call has an empty object for an input",
    [messageStart(), begin(0, { ...tool, input: {} }), delta(0, input("{}")), end(0), ...messageEnd("tool_use")],
    [{ ...tool, input: {} }],
  ],
  [
    "whose input has no block",
    [
      messageStart(),
      delta(0, input("")),
      delta(0, input('{"city":')),
      delta(0, input('"Rome"}')),
      ...messageEnd("tool_use"),
    ],
    [{ ...unnamed, input: { city: "Rome" } }],
  ],
  [
    "whose input has no block behind a text",
    [messageStart(), ...whole, delta(1, input('{"city":"Rome"}')), end(1), ...messageEnd("tool_use")],
    [...hello, { ...unnamed, input: { city: "Rome" } }],
  ],
  [
    "whose call has no id, no name and no input",
    [messageStart(), begin(0, { type: "tool_use" }), end(0), ...messageEnd("tool_use")],
    [{ ...unnamed, input: {} }],
  ],
  [
    "whose blocks lack their texts",
    [
      ...[
        messageStart(),
        begin(0, { type: "thinking" }),
        delta(0, { type: "thinking_delta", thinking: "Hm." }),
        end(0),
      ],
      ...[begin(1, { type: "text", text: null }), delta(1, text("Hello you")), end(1), ...messageEnd()],
    ],
    thought,
  ],
  [
    "whose signature has no block",
    [
      messageStart(),
      delta(0, { type: "signature_delta", signature: "s" }),
      end(0),
      ...whole.map(at(1)),
      ...messageEnd(),
    ],
    [{ type: "thinking", thinking: "", signature: "s" }, ...hello],
  ],
  [
    "whose citation has no block",
    [messageStart(), delta(0, cited), delta(0, text("Hello you")), ...messageEnd()],
    [{ ...hello[0], citations: [cited.citation] }],
  ],
  [
    "whose text begins with null for its citations",
    [
      ...[messageStart(), begin(0, { type: "text", text: "", citations: null }), delta(0, text("Hello you"))],
      ...[delta(0, cited), end(0), ...messageEnd()],
    ],
    [{ ...hello[0], citations: [cited.citation] }],
  ],
  [
    "that says what is of no block, and nothing",
    [messageStart(), { ...delta(0, {}), delta: null }, delta(3, { type: "odd_delta" }), ...whole, ...messageEnd()],
    hello,
  ],
  [
    "whose deltas say null",
    [
      ...[messageStart(), ...whole.toSpliced(1, 0, delta(0, { type: "text_delta", text: null }))],
      ...[begin(1, { ...tool, input: {} }), delta(1, { type: "input_json_delta", partial_json: null })],
      ...[delta(1, input('{"city":"Rome"}')), end(1), ...messageEnd("tool_use")],
    ],
    [...hello, ...called],
  ],
  [
    "whose deltas have no index",
    [
      messageStart(),
      ...whole.map(({ index, ...event }, i) => (i === 0 ? { index, ...event } : event)),
      ...messageEnd(),
    ],
    hello,
  ],
  [
    "whose thought and text have one index and no blocks",
    [
      ...[messageStart(), delta(0, { type: "thinking_delta", thinking: "Hm." })],
      ...[delta(0, text("Hello")), delta(0, text(" you")), ...messageEnd()],
    ],
    thought,
  ],
])("a stream %s", (_, events, content) => {
  test("is whole to the SDK", async () => {
    await toldOf(...events);
    const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: gateway.apiKey, maxRetries: 0 });
    const stream = client.messages.stream({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] });
    const message = await stream.finalMessage();
    expect(message.role).toBe("assistant");
    expect(message.content).toEqual(content);
  });

  test("says each block in deltas, between its beginning and its end", async () => {
    const told = await toldOf(...events);
    expect(told.map(({ type }) => type).filter((type) => !type.startsWith("content_block"))).toEqual([
      ...["message_start", "message_delta", "message_stop"],
    ]);
    content.forEach((_block, index) => {
      const types = told.filter((event) => event.index === index).map(({ type }) => type);
      expect([types.at(0), types.at(-1)]).toEqual(["content_block_start", "content_block_stop"]);
      expect(types.slice(1, -1)).toEqual(types.slice(1, -1).map(() => "content_block_delta"));
    });
    const begun = told.filter(({ type }) => type === "content_block_start").map(({ content_block }) => content_block);
    expect(begun.map((block) => block.text ?? block.thinking ?? block.input)).toEqual(
      content.map((block) => (block.type === "tool_use" ? {} : "")),
    );
  });
});

test("a stream as Anthropic sends it passes as it came", async () => {
  const [last, stop] = messageEnd("tool_use") as [Json, Json];
  const events = [
    ...[messageStart(), ...blockEvents(0, { type: "text", text: "" }, text("Hello"))],
    ...blockEvents(1, { ...tool, input: {} }, input(""), input('{"city":"Rome"}')),
    ...[{ ...last, usage: { input_tokens: 9, output_tokens: 2 } }, stop],
  ];
  expect(await toldOf(...events)).toEqual(events);
});

describe("a message of a server that only resembles Anthropic's", () => {
  const told = async (answer: Json) => {
    upstream.script = (exchange) => exchange.json(200, answer);
    const { text } = await call(gateway, { family: "messages", model: "m", stream: false, apiKey: gateway.apiKey });
    return JSON.parse(text);
  };

  test("has a type and a role", async () => {
    const { type: _, role: __, ...bare } = messageAnswer([{ type: "text", text: "Hello" }]);
    expect(await told(bare)).toMatchObject({ type: "message", role: "assistant" });
  });

  test("has texts as blocks, and inputs as objects", async () => {
    const { content } = await told(
      messageAnswer(["Hello" as unknown as Json, { ...tool, input: '{"city":"Rome"}' }], "tool_use"),
    );
    expect(content).toEqual([{ type: "text", text: "Hello" }, ...called]);
  });

  test("has all that clients require of a block", async () => {
    const { content } = await told(
      messageAnswer([{ type: "thinking", thinking: "Hm." }, { type: "tool_use" }], "tool_use"),
    );
    expect(content).toEqual([
      { type: "thinking", thinking: "Hm.", signature: "" },
      { ...unnamed, input: {} },
    ]);
  });

  test("passes as it came where it is as Anthropic's", async () => {
    const answer = messageAnswer([...hello, ...called], "tool_use");
    expect(await told(answer)).toEqual(answer);
  });
});

describe.each([false, true])("a stop reason in chat's words, stream: %s", (stream) => {
  test.each([
    ["stop", "end_turn"],
    ["STOP", "end_turn"],
    ["length", "max_tokens"],
    ["tool_calls", "tool_use"],
    ["content_filter", "refusal"],
    ["MAX_TOKENS", "max_tokens"],
    ["end_turn", "end_turn"],
    ["pause_turn", "pause_turn"],
    ["model_context_window_exceeded", "model_context_window_exceeded"],
    ["never_heard_of", "never_heard_of"],
  ])("%s is %s", async (said, expected) => {
    if (stream) {
      const told = await toldOf(messageStart(), ...whole, ...messageEnd(said));
      expect(told.find(({ type }) => type === "message_delta").delta.stop_reason).toBe(expected);
      return;
    }
    upstream.script = (exchange) => exchange.json(200, messageAnswer(hello, said));
    const { text } = await call(gateway, { family: "messages", model: "m", stream, apiKey: gateway.apiKey });
    expect(JSON.parse(text).stop_reason).toBe(expected);
  });

  test("stop after a call is the call", async () => {
    upstream.script = (exchange) => exchange.json(200, messageAnswer(called, "stop"));
    const { text } = await call(gateway, { family: "messages", model: "m", stream, apiKey: gateway.apiKey });
    expect(text).toContain('"stop_reason":"tool_use"');
  });
});

function withoutType(event: Json): Json {
  const { type: _, ...said } = (event.delta ?? {}) as Json;
  return event.delta ? { ...event, delta: said } : event;
}
