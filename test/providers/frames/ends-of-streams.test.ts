/**
 * A stream ends by what its upstream says, whichever end mark is missing, not by what it goes on to send. An upstream
 * that sends only comments is waited for no longer than a silent one.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { type CallFamily, call, families, isTold } from "../../support/clients/families.ts";
import { openAccount } from "../../support/payer.ts";
import { timed } from "../../support/run/running-time.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { cost, paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import {
  type OpenedStage,
  openScriptedStage,
  type ScriptedStage,
  scriptedStage,
} from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  chatChunk,
  completionPiece,
  done,
  helloChunks,
  helloEvents,
  messageEnd,
  messageStart,
  openaiFrames,
  usageChunk,
} from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

/** Serves the paid models, and two whose upstreams are soon given up. */
function servedAt(base_url: string): Partial<Config> {
  const config = paidModels(base_url);
  const timeouts = { idle_seconds: 0.5 };
  return {
    ...config,
    upstreams: [
      ...config.upstreams,
      { name: "openai-hasty", kind: "openai", base_url, api_key: "k", timeouts },
      { name: "anthropic-hasty", kind: "anthropic", base_url, api_key: "k", timeouts },
    ],
    models: [...config.models, paidModel("gpt-hasty", "openai-hasty"), paidModel("claude-hasty", "anthropic-hasty")],
  };
}

/** Those at which no test waits at the moment. */
const free: OpenedStage[] = [];

/** Runs a test that waits at a place that no other test is at, so that several wait at once. */
function apart<T>(work: (at: ScriptedStage, row: T) => Promise<void>): (row: T) => Promise<void> {
  return async (row) => {
    const at = free.pop() ?? (await openScriptedStage(servedAt));
    try {
      await work(at, row);
    } finally {
      free.push(at);
    }
  };
}

const { upstream, gateway, books } = scriptedStage(servedAt);

beforeAll(async () => {
  // As many as wait at once.
  for (let i = 0; i < 5; i++) free.push(await openScriptedStage(servedAt));
});

afterAll(async () => {
  for (const place of free) await place.close();
});

const callers: readonly CallFamily[] = ["chat", "messages", "responses"];

/** Repeats this until its client disconnects. */
async function repeat(exchange: ScriptedExchange, text: string): Promise<void> {
  const timer = setInterval(() => void exchange.write(text), 40);
  await exchange.left;
  clearInterval(timer);
}

const whole = {
  gpt: openaiFrames(...helloChunks, usageChunk()),
  claude: anthropicFrames(...helloEvents.slice(0, -1)),
} as const;
/** The usage comes with the finish reason, not after it. */
const withReason = openaiFrames(...helloChunks.slice(0, 3), { ...chatChunk({}, "stop"), usage: usageChunk().usage });

const goingOn: Readonly<Record<string, string>> = {
  "nothing more": "",
  comments: ": ping\n\n",
  "events without data": "event: ping\n\n",
  "empty chunks": openaiFrames({ ...chatChunk({}), choices: [] }),
  "its usage": openaiFrames(usageChunk()),
  pings: anthropicFrames({ type: "ping" }),
  "what is no JSON": "data: oh\n\n",
};

const lingering = Object.entries(goingOn).flatMap(([name, text]) => [
  { name, text, model: "gpt", begun: whole.gpt },
  { name: `${name}, its usage with the reason`, text, model: "gpt", begun: withReason },
  { name, text, model: "claude", begun: whole.claude },
]);

describe("a stream with its end and its usage", () => {
  test.concurrent.each(lingering)(
    "is over, whatever its upstream goes on to send: $name, $model",
    apart(async ({ upstream, gateway, books }, { text, model, begun }) => {
      upstream.script = async (exchange) => {
        exchange.head(200, eventStream);
        await exchange.write(begun);
        if (text !== "") await repeat(exchange, text);
      };
      await Promise.all(
        callers.map(async (family) => {
          const payer = await openAccount(gateway);
          const asked = { family, model, stream: true, apiKey: payer.apiKey };
          const [answer, { runningMs }] = await timed(() => call(gateway, asked));
          expect([family, isTold(answer, family, true)], answer.text).toEqual([family, true]);
          expect(runningMs).toBeLessThan(4_000);
          expect(await books.of(payer)).toMatchObject({ spent: 9 * cost.input + 2 * cost.output, holds: 0 });
        }),
      );
      // The connections are released.
      await Promise.all(upstream.received.slice(-callers.length).map(({ left }) => left));
    }),
  );

  test("but without usage is over a little later", async () => {
    upstream.script = async (exchange) => {
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(...helloChunks));
      await repeat(exchange, ": ping\n\n");
    };
    const asked = { family: "messages", model: "gpt", stream: true, apiKey: gateway.apiKey } as const;
    const [answer, { runningMs }] = await timed(() => call(gateway, asked));
    expect(isTold(answer, "messages", true), answer.text).toBe(true);
    expect(runningMs).toBeLessThan(9_000);
  });

  test("is not over before the moderation that was asked for", async () => {
    const moderation = { output: { type: "moderation_results", results: [] } };
    upstream.script = async (exchange) => {
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(...helloChunks, usageChunk()));
      // Apart, so that it is not read together with what should be the end.
      await new Promise((resolve) => setTimeout(resolve, 50));
      await exchange.write(openaiFrames({ ...chatChunk({}), choices: [], usage: null, moderation }));
      await repeat(exchange, ": ping\n\n");
    };
    const asked = { family: "chat", model: "gpt", stream: true, apiKey: gateway.apiKey } as const;
    const { text } = await call(gateway, { ...asked, more: { moderation: { model: "m" } } });
    expect([text.includes("moderation_results"), text.endsWith(done)]).toEqual([true, true]);
  });

  test("of one choice is not over while another is open", async () => {
    const choice = (index: number, delta: Json, finish_reason: string | null = null) => ({
      ...chatChunk({}),
      choices: [{ index, delta, finish_reason }],
    });
    const chunks = [choice(0, { content: "one" }), choice(0, {}, "stop"), usageChunk(), choice(1, { content: "two" })];
    upstream.script = (exchange) => exchange.stream(...chunks, choice(1, {}, "stop"), usageChunk());
    const asked = { family: "chat", model: "gpt", stream: true, apiKey: gateway.apiKey } as const;
    expect((await call(gateway, { ...asked, more: { n: 2 } })).text).toContain("two");
  });
});

const called = (args: string) => ({
  tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "ls", arguments: args } }],
});
const toolStart = { type: "tool_use", id: "c1", name: "ls", input: {} };

/** Streams that lack an end mark, and their finish reasons. */
const complete: Readonly<Record<string, readonly [model: "gpt" | "claude", bytes: string, called?: true]>> = {
  "[DONE] without a reason": ["gpt", openaiFrames(...helloChunks.slice(0, 3)) + done],
  "[DONE] with empty reasons": ["gpt", openaiFrames(chatChunk({ content: "Hello" }, "")) + done],
  "[DONE] with reasons that say null": ["gpt", openaiFrames(chatChunk({ content: "Hello" }, "null")) + done],
  "[DONE] and a usage without a reason": ["gpt", openaiFrames(...helloChunks.slice(0, 3), usageChunk()) + done],
  "[DONE] behind a call without a reason": ["gpt", openaiFrames(chatChunk(called("{}"))) + done, true],
  "[DONE] without its blank line": ["gpt", openaiFrames(...helloChunks) + done.trimEnd()],
  "a reason without [DONE]": ["gpt", openaiFrames(...helloChunks)],
  "a reason behind empty ones without [DONE]": [
    "gpt",
    openaiFrames(chatChunk({ content: "Hello" }, ""), chatChunk({}, "stop")),
  ],
  "a reason, and a usage that is cut": ["gpt", `${openaiFrames(...helloChunks)}data: {"choices":[],"us`],
  "a reason, and a page": ["gpt", `${openaiFrames(...helloChunks)}data: <html>\n\n`],
  "message_stop without a reason": [
    "claude",
    anthropicFrames(...helloEvents.filter(({ type }) => type !== "message_delta")),
  ],
  "a reason without message_stop": ["claude", anthropicFrames(...helloEvents.slice(0, -1))],
  "a reason, and a message_stop that is cut": ["claude", anthropicFrames(...helloEvents).slice(0, -6)],
  "[DONE] in the place of message_stop": ["claude", anthropicFrames(...helloEvents.slice(0, -1)) + done],
  "[DONE] without a reason, of events": ["claude", anthropicFrames(...helloEvents.slice(0, -2)) + done],
  "[DONE] in an open block": ["claude", anthropicFrames(...helloEvents.slice(0, -3)) + done],
  "[DONE] behind a call, of events": [
    "claude",
    anthropicFrames(messageStart(), ...blockEvents(0, toolStart, { type: "input_json_delta", partial_json: "{}" })) +
      done,
    true,
  ],
};

const reasons: Readonly<Record<string, readonly [text: string, call: string]>> = {
  chat: ['"finish_reason":"stop"', '"finish_reason":"tool_calls"'],
  messages: ['"stop_reason":"end_turn"', '"stop_reason":"tool_use"'],
  responses: ['"type":"output_text"', '"type":"function_call"'],
};

describe("a stream is complete with", () => {
  test.each(Object.entries(complete))("%s", async (_, [model, bytes, calls]) => {
    for (const breaks of [false, true]) {
      upstream.script = async (exchange) => {
        exchange.head(200, eventStream);
        await exchange.write(bytes);
        if (!breaks) exchange.end();
        // A broken stream has no unfinished last line.
        else if (bytes.endsWith("\n\n")) exchange.destroy();
        else exchange.end();
      };
      for (const family of callers) {
        const answer = await call(gateway, { family, model, stream: true, apiKey: gateway.apiKey });
        expect([family, breaks, isTold(answer, family, true)], answer.text).toEqual([family, breaks, true]);
        expect(answer.text).toContain(reasons[family]?.[calls ? 1 : 0]);
        expect(answer.text.split(families[family].end).length).toBe(2);
        if (family === "messages") expectBlocksClosed(answer.text);
      }
    }
  });

  test("[DONE] without a finish reason, of a completion", async () => {
    upstream.script = (exchange) => exchange.stream(completionPiece("Hello"));
    const answer = await call(gateway, {
      family: "completions",
      model: "davinci",
      stream: true,
      apiKey: gateway.apiKey,
    });
    expect(answer.text).toContain('"finish_reason":"stop"');
  });
});

describe("a stream is not complete with", () => {
  test.each(["", "null", "None", "FINISH_REASON_UNSPECIFIED"])("reasons that say %j", async (reason) => {
    upstream.script = (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(openaiFrames(chatChunk({ content: "Hel" }, reason), chatChunk({ content: "lo" }, reason)));
    };
    for (const family of callers) {
      const answer = await call(gateway, { family, model: "gpt", stream: true, apiKey: gateway.apiKey });
      expect([family, isTold(answer, family, true)], answer.text).toEqual([family, false]);
    }
  });
});

describe("a second beginning", () => {
  const begin = messageStart();
  const other = { ...begin, message: { ...(begin.message as Json), id: "msg_other" } };
  const said = helloEvents.slice(1);
  const [text = {}] = said;
  const part = [text, { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "HALF" } }];

  async function told(family: CallFamily, events: readonly Json[]) {
    upstream.script = (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(...events));
    };
    return call(gateway, { family, model: "claude", stream: true, apiKey: gateway.apiKey });
  }

  test.each<[string, readonly Json[]]>([
    ["of the same message is left out", [begin, begin, ...said]],
    ["of the same message within it is left out", [begin, ...said.slice(0, 1), begin, ...said.slice(1)]],
    ["of another message before any content is left out", [begin, { type: "ping" }, other, ...said]],
    ["of another message behind the reason ends the stream", [begin, ...said.slice(0, -1), other, ...part]],
  ])("%s", async (_, events) => {
    for (const family of callers) {
      const answer = await told(family, events);
      expect([family, isTold(answer, family, true)], answer.text).toEqual([family, true]);
      expect(answer.text).not.toMatch(/msg_other|HALF/);
      if (family === "messages") expect(answer.text.split('"type":"message_start"').length).toBe(2);
    }
  });

  test("of another message within one breaks the answer off", async () => {
    for (const family of callers) {
      const answer = await told(family, [begin, ...part, other, ...said]);
      expect([family, isTold(answer, family, true)], answer.text).toEqual([family, false]);
      expect(answer.text).toContain("HALF");
      expect(answer.text).not.toMatch(/msg_other|Hello/);
    }
  });

  test("without an id, within an answer, may be another's", async () => {
    const { id: _, ...nameless } = begin.message as Json;
    const beginning = { ...begin, message: nameless };
    for (const family of callers) {
      const answer = await told(family, [beginning, ...part, beginning, ...said]);
      expect([family, isTold(answer, family, true)], answer.text).toEqual([family, false]);
    }
  });

  test("with counts that the first lacks is what is charged", async () => {
    const usage = { input_tokens: 12, cache_read_input_tokens: 9000, output_tokens: 0 };
    const empty = { ...begin, message: { ...(begin.message as Json), usage: { input_tokens: 0, output_tokens: 0 } } };
    const whole = { ...begin, message: { ...(begin.message as Json), usage } };
    const payer = await openAccount(gateway);
    upstream.script = (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(empty, whole, ...said));
    };
    await call(gateway, { family: "messages", model: "claude", stream: true, apiKey: payer.apiKey });
    const [row] = (await books.of(payer)).requests;
    expect(row).toMatchObject({ input: 12, cache_read: 9000, estimated: 0 });
  });
});

function expectBlocksClosed(text: string): void {
  const count = (event: string) => text.split(`event: ${event}\n`).length;
  expect(count("content_block_stop")).toBe(count("content_block_start"));
}

describe("an upstream that sends only comments", () => {
  const begun = {
    gpt: ["", openaiFrames(chatChunk({ content: "Hel" }))],
    claude: ["", anthropicFrames(...helloEvents.slice(0, 3))],
  } as const;
  const silent = (["gpt", "claude"] as const).flatMap((model) =>
    [": ping\n\n", ":\n", "\n", "event: ping\n\n", "retry: 5\n\n"].flatMap((text) =>
      begun[model].map((before) => ({ model, text, before, name: JSON.stringify(text) })),
    ),
  );

  test.concurrent.each(silent)(
    "counts as silent: $name, $model, after $before",
    apart(async ({ upstream, gateway, books }, { model, text, before }) => {
      upstream.script = async (exchange) => {
        exchange.head(200, eventStream);
        await exchange.write(before);
        await repeat(exchange, text);
      };
      await Promise.all(
        callers.map(async (family) => {
          const payer = await openAccount(gateway);
          const answer = await call(gateway, { family, model: `${model}-hasty`, stream: true, apiKey: payer.apiKey });
          expect([family, answer.status]).toEqual([family, before === "" ? 504 : 200]);
          expect(isTold(answer, family, true)).toBe(false);
          if (before === "") expect(await books.of(payer)).toMatchObject({ spent: 0, holds: 0 });
          else expect(await books.of(payer)).toMatchObject({ holds: 0, requests: [{ output: 1 }] });
        }),
      );
    }),
  );

  test("for a while is waited for, and so is one that drips a frame", async () => {
    const frame = openaiFrames(chatChunk({ content: "x".repeat(100) }));
    upstream.script = async (exchange) => {
      exchange.head(200, eventStream);
      for (let at = 0; at < frame.length; at += 4) {
        await exchange.write(frame.slice(at, at + 4));
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
      for (let i = 0; i < 5; i++) await exchange.write(": ping\n\n");
      exchange.end(openaiFrames(chatChunk({}, "stop")) + done);
    };
    const answer = await call(gateway, { family: "chat", model: "gpt-hasty", stream: true, apiKey: gateway.apiKey });
    expect(isTold(answer, "chat", true), answer.text).toBe(true);
  });
});

test("an end by a filter or a bound is a normal end", async () => {
  for (const [reason, told] of [
    ["length", '"stop_reason":"max_tokens"'],
    ["content_filter", '"stop_reason":"refusal"'],
    ["load", '"stop_reason":"end_turn"'],
  ] as const) {
    upstream.script = (exchange) => exchange.stream(chatChunk({ content: "x" }), chatChunk({}, reason));
    const answer = await call(gateway, { family: "messages", model: "gpt", stream: true, apiKey: gateway.apiKey });
    expect(answer.text).toContain(told);
  }
  upstream.script = async (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(anthropicFrames(messageStart(), ...messageEnd("max_tokens")));
  };
  const answer = await call(gateway, { family: "chat", model: "claude", stream: true, apiKey: gateway.apiKey });
  expect(answer.text).toContain('"finish_reason":"length"');
});
