/**
 * An upstream that answers in another form than requested has billed its answer all the same: a unary answer for a
 * stream, events for a unary answer, either under any media type. The caller gets the form it asked for, once, and
 * pays what it costs.
 */
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { eventsOf } from "../../support/clients/endpoints.ts";
import { type CallFamily, call, isTold } from "../../support/clients/families.ts";
import type { HeardAnswer } from "../../support/clients/hear.ts";
import { openAccount } from "../../support/payer.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { cost, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  chatUsage,
  completionPiece,
  done,
  messageAnswer,
  messageEnd,
  messageStart,
  openaiFrames,
  usageChunk,
} from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

const { upstream, gateway, books } = scriptedStage((baseUrl) => ({
  ...paidModels(baseUrl),
  retries: { attempts: 3, share: 1 },
}));

/** With every key that is always present. */
const saying = (message: Json, finish?: string) => chatAnswer({ refusal: null, ...message }, finish);

/** The same answer in both forms. */
interface Both {
  readonly whole: Json;
  readonly events: string;
  readonly more?: Json;
}

const call1 = { id: "c1", type: "function", function: { name: "ls", arguments: '{"a":1}' } };
const call2 = { id: "c2", type: "function", function: { name: "cat", arguments: '{"b":[2]}' } };
const token = (text: string) => ({ token: text, logprob: -0.5, bytes: null, top_logprobs: [] });
const piece = (index: number, more: Json) => ({ index, ...more });
const chatFrames = (...chunks: readonly Json[]) => openaiFrames(...chunks, usageChunk()) + done;

const ofOpenAi: Readonly<Record<string, Both>> = {
  "a text": {
    whole: saying({ content: "Hello there" }),
    events: chatFrames(
      chatChunk({ role: "assistant", content: "" }),
      ...["Hel", "lo ", "the", "re"].map((content) => chatChunk({ content })),
      chatChunk({}, "stop"),
    ),
  },
  reasoning: {
    whole: saying({ content: "Hello", reasoning_content: "I think" }),
    events: chatFrames(
      ...["I ", "think"].map((text) => chatChunk({ reasoning_content: text })),
      chatChunk({ content: "Hello" }),
      chatChunk({}, "stop"),
    ),
  },
  "thoughts and texts in parts, and then texts alone": {
    whole: saying({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "Six sevens" }], closed: true },
        { type: "text", text: "Forty-two" },
      ],
    }),
    events: chatFrames(
      chatChunk({ role: "assistant", content: "" }),
      chatChunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Six " }] }] }),
      chatChunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "sevens" }], closed: true }] }),
      chatChunk({ content: [{ type: "text", text: "For" }] }),
      chatChunk({ content: "ty-" }),
      chatChunk({ content: "two" }),
      chatChunk({}, "stop"),
    ),
  },
  "calls whose pieces interleave": {
    whole: saying({ content: null, tool_calls: [call1, call2] }, "tool_calls"),
    events: chatFrames(
      chatChunk({
        role: "assistant",
        content: null,
        tool_calls: [piece(0, { ...call1, function: { name: "ls", arguments: "" } })],
      }),
      chatChunk({ tool_calls: [piece(1, { ...call2, function: { name: "cat", arguments: '{"b"' } })] }),
      chatChunk({ tool_calls: [piece(0, { function: { arguments: '{"a":1}' } })] }),
      chatChunk({ tool_calls: [piece(1, { function: { arguments: ":[2]}" } })] }),
      chatChunk({}, "tool_calls"),
    ),
  },
  "calls that are all counted as the first": {
    whole: saying({ content: null, tool_calls: [call1, call2] }, "tool_calls"),
    events: chatFrames(
      chatChunk({ tool_calls: [piece(0, call1)] }),
      chatChunk({ tool_calls: [piece(0, call2)] }),
      chatChunk({}, "tool_calls"),
    ),
  },
  "calls that are not counted": {
    whole: saying({ content: null, tool_calls: [call1, call2] }, "tool_calls"),
    events: chatFrames(
      chatChunk({ tool_calls: [call1] }),
      chatChunk({ tool_calls: [call2] }),
      chatChunk({}, "tool_calls"),
    ),
  },
  "log probabilities": {
    whole: {
      ...chatAnswer({ content: "Hello" }),
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hello", refusal: null },
          logprobs: { content: [token("Hel"), token("lo")], refusal: null },
          finish_reason: "stop",
        },
      ],
    },
    events: chatFrames(
      ...["Hel", "lo"].map((text) => ({
        ...chatChunk({}),
        choices: [
          {
            index: 0,
            delta: { content: text },
            logprobs: { content: [token(text)], refusal: null },
            finish_reason: null,
          },
        ],
      })),
      chatChunk({}, "stop"),
    ),
    more: { logprobs: true },
  },
  "a refusal": {
    whole: saying({ content: null, refusal: "I would rather not" }),
    events: chatFrames(...["I would ", "rather not"].map((refusal) => chatChunk({ refusal })), chatChunk({}, "stop")),
  },
};

const text = { type: "text", text: "Hello there" };
const thinking = { type: "thinking", thinking: "I think", signature: "c2ln" };
const use = { type: "tool_use", id: "t1", name: "ls", input: { a: 1 } };
const container = { id: "container_1", expires_at: "2026-11-27T12:00:00Z" };
const edited = {
  context_management: { applied_edits: [{ type: "clear_thinking_20251015", cleared_input_tokens: 7 }] },
};
const [ended = {}, stopped = {}] = messageEnd();

const ofAnthropic: Readonly<Record<string, Both>> = {
  "a text": {
    whole: messageAnswer([text]),
    events: anthropicFrames(
      messageStart(),
      ...blockEvents(
        0,
        { type: "text", text: "" },
        ...["Hello ", "there"].map((part) => ({ type: "text_delta", text: part })),
      ),
      ...messageEnd(),
    ),
  },
  "thoughts, a text and a call": {
    whole: messageAnswer([thinking, text, use], "tool_use"),
    events: anthropicFrames(
      messageStart(),
      ...blockEvents(
        0,
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "I think" },
        { type: "signature_delta", signature: "c2ln" },
      ),
      ...blockEvents(1, { type: "text", text: "" }, { type: "text_delta", text: "Hello there" }),
      ...blockEvents(
        2,
        { ...use, input: {} },
        ...['{"a"', ":1}"].map((partial_json) => ({ type: "input_json_delta", partial_json })),
      ),
      ...messageEnd("tool_use"),
    ),
  },
  "thoughts that are encrypted": {
    whole: messageAnswer([{ type: "redacted_thinking", data: "c2VjcmV0" }, text]),
    events: anthropicFrames(
      messageStart(),
      ...blockEvents(0, { type: "redacted_thinking", data: "c2VjcmV0" }),
      ...blockEvents(1, { type: "text", text: "" }, { type: "text_delta", text: "Hello there" }),
      ...messageEnd(),
    ),
  },
  "a summary, and what became of the conversation": {
    whole: {
      ...messageAnswer([{ type: "compaction", content: "So far", encrypted_content: "c2VjcmV0" }, text]),
      ...{ container, ...edited },
    },
    events: anthropicFrames(
      messageStart(),
      ...blockEvents(
        0,
        { type: "compaction", content: null, encrypted_content: null },
        { type: "compaction_delta", content: "So far", encrypted_content: "c2VjcmV0" },
      ),
      ...blockEvents(1, { type: "text", text: "" }, { type: "text_delta", text: "Hello there" }),
      ...[{ ...ended, ...edited, delta: { ...(ended.delta as Json), container } }, stopped],
    ),
  },
};

const callers: readonly CallFamily[] = ["chat", "messages", "responses"];
const vendors = [
  ["gpt", ofOpenAi],
  ["claude", ofAnthropic],
] as const;
const cases = vendors.flatMap(([model, answers]) =>
  Object.entries(answers).map(([name, both]) => ({ model, name, both })),
);

const anIdOf =
  /"(?:id|item_id|call_id|created|created_at|completed_at|sequence_number|obfuscation)":(?:"[^"]*"|\d+),?/g;

/** Removes what differs in every answer. */
const settled = ({ text: said }: HeardAnswer) => JSON.parse(said.replace(anIdOf, "").replace(/,\}/g, "}")) as Json;

const textKeys: ReadonlySet<string> = new Set([
  ...[
    "content",
    "reasoning_content",
    "refusal",
    "arguments",
    "name",
    "text",
    "thinking",
    "signature",
    "partial_json",
    "delta",
  ],
]);

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns what a stream says, in whatever pieces: its texts joined, and the last value of everything else. */
function gistOf({ bytes }: HeardAnswer) {
  const texts = new Map<string, string>();
  const last = new Map<string, unknown>();
  const look = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(look);
    else if (typeof value === "object" && value !== null)
      for (const [key, member] of Object.entries(value)) see(key, member);
  };
  const see = (key: string, member: unknown) => {
    if (typeof member === "string" && textKeys.has(key)) texts.set(key, (texts.get(key) ?? "") + member);
    else if (/reason$|usage|stop|status|container|management/.test(key))
      last.set(key, isObject(member) ? { ...(last.get(key) as Json | null), ...member } : member);
    look(member);
  };
  const events = eventsOf(bytes).flatMap(({ data }) => (`${data}` === "[DONE]" ? [] : [JSON.parse(`${data}`) as Json]));
  const final = events.find(({ type }) => type === "response.completed");
  // It repeats everything.
  if (final) return { final: JSON.parse(JSON.stringify(final).replace(anIdOf, "").replace(/,\}/g, "}")) };
  events.forEach(look);
  return { texts: Object.fromEntries(texts), last: Object.fromEntries(last) };
}

async function ask(
  model: string,
  family: CallFamily,
  stream: boolean,
  script: (exchange: ScriptedExchange) => void,
  more?: Json,
) {
  upstream.script = script;
  const payer = await openAccount(gateway);
  const before = upstream.received.length;
  const answer = await call(gateway, {
    family,
    model,
    stream,
    apiKey: payer.apiKey,
    ...(more && family === "chat" ? { more } : {}),
  });
  expect([family, isTold(answer, family, stream)], answer.text).toEqual([family, true]);
  expect(upstream.received.length - before).toBe(1);
  expect(await books.of(payer)).toMatchObject({ spent: 9 * cost.input + 2 * cost.output, holds: 0 });
  return answer;
}

const asJson =
  (json: Json, type = "application/json") =>
  (exchange: ScriptedExchange) =>
    exchange.json(200, json, { "content-type": type });
const asEvents = (events: string, type?: string) => (exchange: ScriptedExchange) => {
  exchange.head(200, type === undefined ? {} : { "content-type": type });
  exchange.end(events);
};
const eventType = "text/event-stream";

describe("an answer", () => {
  test.each(cases)("in events is the same for a caller of a unary answer: $name, $model", async ({ model, both }) => {
    for (const family of callers) {
      const expected = await ask(model, family, false, asJson(both.whole), both.more);
      const answer = await ask(model, family, false, asEvents(both.events, eventType), both.more);
      expect(settled(answer)).toEqual(settled(expected));
    }
  });

  // Interleaved content may come in another order, and content in parts under another key.
  const inOrder = cases.filter(({ name }) => !/interleave|in parts/.test(name));
  test.each(inOrder)("in unary form is the same for a caller of a stream: $name, $model", async ({ model, both }) => {
    for (const family of callers) {
      const more = { ...both.more, stream_options: { include_usage: true } };
      const expected = await ask(model, family, true, asEvents(both.events, eventType), more);
      const answer = await ask(model, family, true, asJson(both.whole), more);
      expect(gistOf(answer)).toEqual(gistOf(expected));
    }
  });

  const types = [
    "text/event-stream; charset=utf-8",
    "Text/Event-Stream",
    "text/plain",
    "application/octet-stream",
    "application/x-ndjson",
    "application/json",
    "Application/JSON; charset=utf-8",
    "nonsense",
    undefined,
  ];

  test.each(types)("is read under any media type: %s", async (type) => {
    for (const [model, answers] of vendors) {
      const { whole, events } = answers["a text"] as Both;
      for (const family of callers) {
        for (const stream of [false, true]) {
          for (const script of [
            asEvents(events, type),
            asEvents(`\ufeff\n${events}`, type),
            asEvents(`: hello\n\n${events}`, type),
            asEvents(`\n ${JSON.stringify(whole)}\n`, type),
            asEvents(`\ufeff${JSON.stringify(whole)}`, type),
          ]) {
            const answer = await ask(model, family, stream, script);
            expect(answer.text).toContain("there".slice(0, 2));
          }
        }
      }
    }
  });

  const envelopes: Readonly<Record<string, (answer: Json) => unknown>> = {
    "a list of one": (answer) => [answer],
    "`data`": (answer) => ({ success: true, data: answer }),
    "`data`, with a code": (answer) => ({ code: 0, msg: "ok", data: answer }),
    "`response`": (answer) => ({ response: answer }),
    "`result`": (answer) => ({ result: answer, success: true, errors: [], messages: [] }),
    "`data`, with the usage beside": ({ usage, ...answer }) => ({ data: answer, usage }),
    "`data`, with the usage beside an empty one": ({ usage, ...answer }) => ({
      data: { ...answer, usage: null },
      usage,
    }),
  };

  test.each(Object.entries(envelopes))("in %s is taken out of it", async (_, wrap) => {
    for (const [model, answers] of vendors) {
      const { whole } = answers["a text"] as Both;
      for (const family of callers) {
        const expected = await ask(model, family, false, asJson(whole));
        const answer = await ask(model, family, false, asJson(wrap(whole) as Json));
        expect(settled(answer)).toEqual(settled(expected));
        expect((await ask(model, family, true, asJson(wrap(whole) as Json))).text).toContain("Hello");
      }
    }
  });

  test("in an envelope that names an error, or beside another answer, is none", async () => {
    const { whole } = ofOpenAi["a text"] as Both;
    const bodies = [
      { error: { message: "no" }, data: whole },
      { success: false, data: whole },
      [whole, whole],
      [],
      [[whole]],
      { data: [whole] },
      { data: { data: whole } },
      { data: {} },
      { data: whole, padding: "x".repeat(1024 * 1024) },
    ];
    for (const body of bodies) {
      upstream.script = (exchange) => exchange.json(200, body);
      const answer = await call(gateway, { family: "chat", model: "gpt", stream: false, apiKey: gateway.apiKey });
      expect([JSON.stringify(body).slice(0, 99), answer.status]).toEqual([JSON.stringify(body).slice(0, 99), 502]);
    }
  });

  test("with calls that do not say what they are is a stream for the vendor's SDK", async () => {
    const { type: _, ...untyped } = call1;
    upstream.script = asJson(saying({ content: null, tool_calls: [untyped] }, "tool_calls"));
    const sdk = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
    const stream = sdk.chat.completions.stream({ model: "gpt", messages: [{ role: "user", content: "ls" }] });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.message.tool_calls).toMatchObject([call1]);
  });

  test.each(["", undefined])(
    "that does not say why it ended (%j) has ended, in the order of the vendor's",
    async (reason) => {
      const { choices, ...whole } = saying({ content: "Hello", function_call: { name: "", arguments: "" } });
      const [choice] = choices as readonly Json[];
      upstream.script = asJson({ ...whole, choices: [{ ...choice, finish_reason: reason }] });
      const sdk = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
      const messages = [{ role: "user" as const, content: "hi" }];
      const stream = sdk.chat.completions.stream({ model: "gpt", messages, stream_options: { include_usage: true } });
      const chunks = await Array.fromAsync(stream);
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 11 } });
      const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0] ?? {};
      expect([message?.content, finish_reason]).toEqual(["Hello", "stop"]);
    },
  );

  test("that is a function call of old, or a text completion, and does not say why it ended has ended so, too", async () => {
    const legacy = saying({ content: null, function_call: { name: "now", arguments: "{}" } });
    for (const [family, answer, reason] of [
      ["chat", legacy, "function_call"],
      ["completions", completionPiece("Hello", null, { usage: chatUsage }), "stop"],
    ] as const) {
      const [choice] = answer.choices as readonly Json[];
      upstream.script = asJson({ ...answer, choices: [{ ...choice, finish_reason: "" }] });
      const model = family === "chat" ? "gpt" : "davinci";
      const { text } = await call(gateway, { family, model, stream: true, apiKey: gateway.apiKey });
      expect(text, family).toContain(`"finish_reason":"${reason}"`);
    }
  });

  test("in chunks is joined with all its choices", async () => {
    const choice = (index: number, content: string, finish_reason: string | null = null) => ({
      ...chatChunk({}),
      choices: [{ index, delta: { content }, finish_reason }],
    });
    const events = chatFrames(choice(1, "b"), choice(0, "a"), choice(1, "B", "length"), choice(0, "A", "stop"));
    const answer = await ask("gpt", "chat", false, asEvents(events, eventType), { n: 2 });
    expect(JSON.parse(answer.text)).toMatchObject({
      object: "chat.completion",
      choices: [
        { index: 0, message: { role: "assistant", content: "aA" }, finish_reason: "stop" },
        { index: 1, message: { role: "assistant", content: "bB" }, finish_reason: "length" },
      ],
    });
  });

  test("of JSON objects, one a line, is read in either form", async () => {
    const lines = (...values: object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
    const chat = lines(
      chatChunk({ role: "assistant", content: "Hel" }),
      chatChunk({ content: "lo" }),
      chatChunk({}, "stop"),
      usageChunk(),
    );
    for (const type of ["application/x-ndjson", "text/event-stream", "application/json"]) {
      for (const family of callers) {
        for (const stream of [false, true]) {
          const answer = await ask("gpt", family, stream, asEvents(chat, type));
          expect(answer.text, `${family} ${type}`).toContain("Hel");
          expect(answer.text, `${family} ${type}`).toContain("lo");
        }
      }
    }
  });

  test("that is complete and never ends is not waited for", async () => {
    const body = JSON.stringify(chatAnswer({ content: "Hello" }));
    upstream.script = async (exchange) => {
      exchange.head(200, { "content-type": "application/json" });
      await exchange.write(body.slice(0, 20));
      await exchange.write(body.slice(20));
    };
    const answer = await call(gateway, { family: "chat", model: "gpt", stream: false, apiKey: gateway.apiKey });
    expect([answer.status, answer.text]).toEqual([200, body]);
  });

  test("of a completion is read in either form", async () => {
    const usage = usageChunk().usage;
    const events =
      openaiFrames(completionPiece("Hel"), completionPiece("lo", "stop"), {
        ...completionPiece(""),
        choices: [],
        usage,
      }) + done;
    const whole = completionPiece("Hello", "stop", { usage });
    expect(JSON.parse((await ask("davinci", "completions", false, asEvents(events, eventType))).text)).toEqual(whole);
    const streamed = await ask("davinci", "completions", true, asJson(whole));
    expect(streamed.text).toContain('"text":"Hello"');
    expect(streamed.text).toContain('"finish_reason":"stop"');
    expect(streamed.text).not.toContain('"usage"');
  });

  test("of great length is read in either form", async () => {
    const long = "long ".repeat(60_000);
    const whole = chatAnswer({ content: long });
    const events = chatFrames(
      ...Array.from({ length: 600 }, (_, i) => chatChunk({ content: long.slice(i * 500, (i + 1) * 500) })),
      chatChunk({}, "stop"),
    );
    for (const family of callers) {
      const folded = await ask("gpt", family, false, asEvents(events, eventType));
      expect(folded.text).toContain(long);
      const streamed = await ask("gpt", family, true, asJson(whole));
      expect(streamed.text).toContain(long);
    }
  });
});

describe("events in place of a unary answer", () => {
  const bad: Readonly<Record<string, readonly [model: string, events: string]>> = {
    "that break off": ["gpt", openaiFrames(chatChunk({ content: "half" }))],
    "that say an error": ["gpt", openaiFrames(chatChunk({ content: "half" }), { error: { message: "oh" } }) + done],
    "of a message that breaks off": [
      "claude",
      anthropicFrames(messageStart(), ...blockEvents(0, { type: "text", text: "half" })),
    ],
    "of a call that is no JSON": [
      "claude",
      anthropicFrames(
        messageStart(),
        ...blockEvents(0, { ...use, input: {} }, { type: "input_json_delta", partial_json: '{"a' }),
        ...messageEnd("tool_use"),
      ),
    ],
  };
  test.each(Object.entries(bad))("%s fail, and cost nothing", async (_, [model, events]) => {
    upstream.script = asEvents(events, eventType);
    for (const family of callers) {
      const payer = await openAccount(gateway);
      const answer = await call(gateway, { family, model, stream: false, apiKey: payer.apiKey });
      expect([family, answer.status], answer.text).toEqual([family, 502]);
      expect(await books.of(payer)).toMatchObject({ spent: 0, holds: 0 });
    }
  });

  test("with names that every object has do no harm", async () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    const delta = `{"content":"Hello",${names.map((name) => `"${name}":{"a":1}`).join()}}`;
    const frame = `data: {"choices":[{"index":0,"delta":${delta},"finish_reason":"stop"}],"__proto__":{"b":1}}\n\n`;
    upstream.script = asEvents(frame + openaiFrames(usageChunk()) + done, eventType);
    const answer = await call(gateway, { family: "chat", model: "gpt", stream: false, apiKey: gateway.apiKey });
    expect(answer.text).toContain('"content":"Hello"');
    expect(Reflect.get({}, "a") ?? Reflect.get({}, "b")).toBeUndefined();
  });

  test("are over with their end, even where their upstream continues", async () => {
    upstream.script = async (exchange) => {
      exchange.head(200, { "content-type": eventType });
      await exchange.write(chatFrames(chatChunk({ content: "Hello" }), chatChunk({}, "stop")));
      await exchange.left;
    };
    const answer = await call(gateway, { family: "chat", model: "gpt", stream: false, apiKey: gateway.apiKey });
    expect(JSON.parse(answer.text)).toMatchObject({ choices: [{ message: { content: "Hello" } }] });
  });
});
