/** How an answer ended, in every word that servers have for it, is told to callers of each family in its own words. */
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { isFinished } from "../../src/providers/usage/finish-word.ts";
import { ask } from "../support/ask.ts";
import { modelAt } from "../support/gateway.ts";
import { eventStream, type ScriptedExchange } from "../support/scripted-upstream.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  messageAnswer,
  messageEnd,
  messageStart,
  usageChunk,
} from "../support/vendors.ts";

/** word is what the upstream says; vendors say numbers and objects, too. */
let word: string;

/** Serves a model at each vendor's, by the vendor's name. */
const { gateway, upstream } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "far", kind: "openai", base_url },
      { name: "claude", kind: "anthropic", base_url },
    ],
    models: [modelAt("far", "openai", "m"), modelAt("claude", "anthropic", "claude-sonnet-4-6")],
    embeddedModels: false,
  }),
  { script: answer },
);

/** Answers in the vendor's form, and ends by the word. */
function answer(exchange: ScriptedExchange): void {
  const { stream } = exchange.asked;
  if (exchange.path.endsWith("/messages")) answerAsAnthropic(exchange, stream);
  else if (!stream) exchange.json(200, chatAnswer({ content: "so far" }, word));
  else {
    const begun = chatChunk({ role: "assistant", content: "so far" });
    exchange.stream(begun, chatChunk({}, word), usageChunk());
  }
}

function answerAsAnthropic(exchange: ScriptedExchange, stream: boolean): void {
  if (!stream) {
    exchange.json(200, messageAnswer([{ type: "text", text: "so far" }], word));
    return;
  }
  const text = blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: "so far" });
  exchange.head(200, eventStream);
  exchange.end(anthropicFrames(messageStart(), ...text, ...messageEnd(word)));
}

const chat = { messages: [{ role: "user", content: "hi" }] };
const bodies = {
  "/messages": { max_tokens: 9, ...chat },
  "/responses": { input: "hi", store: false },
  "/completions": { prompt: "hi" },
  "/chat/completions": chat,
};

async function textOf(of: "openai" | "anthropic", path: keyof typeof bodies, stream: boolean): Promise<string> {
  const { status, text } = await ask(gateway, `/v1${path}`, { model: of, stream, ...bodies[path] });
  expect(status).toBe(200);
  return text;
}

/** What callers of each family look for: a bound, a filter, or a plain end. */
const told = {
  length: {
    "/messages": '"stop_reason":"max_tokens"',
    "/responses": '"reason":"max_output_tokens"',
    "/completions": '"finish_reason":"length"',
  },
  filter: {
    "/messages": '"stop_reason":"refusal"',
    "/responses": '"reason":"content_filter"',
    "/completions": '"finish_reason":"content_filter"',
  },
  stop: {
    "/messages": '"stop_reason":"end_turn"',
    "/responses": '"status":"completed"',
    "/completions": '"finish_reason":"stop"',
  },
} as const;

const words = {
  length: [
    ...["length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens", "LENGTH", "max_new_tokens"],
    ...[
      "FinishReason.MAX_TOKENS",
      "FINISH_REASON_MAX_TOKENS",
      "maxTokens",
      "TOKEN_LIMIT",
      "time_limit",
      "length_limit",
      "repetition",
    ],
    { type: "length", length: 10 },
  ],
  filter: [
    ...["content_filter", "SAFETY", "content_filter: PROHIBITED_CONTENT", "content_filtered", "RECITATION"],
    ...["content-filter", "contentFilter", "guardrail_intervened", "FinishReason.SAFETY"],
    ...["IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"],
  ],
  stop: ["stop", "STOP", "end_turn", "eos", "COMPLETE", "end", "never_heard_of", { type: "stop", matched: 2 }, 1],
} as const;

const chatWords = { length: "length", filter: "content_filter", stop: "stop" } as const;

const cases = Object.entries(words).flatMap(([meaning, all]) =>
  all.map((said) => [said, meaning as keyof typeof told] as const),
);

describe.each([false, true])("stream: %s", (stream) => {
  test.each(cases)("%j means %s", async (said, meaning) => {
    word = said as string;
    for (const [path, expected] of Object.entries(told[meaning])) {
      expect(await textOf("openai", path as keyof typeof bodies, stream)).toContain(expected);
    }
    const text = await textOf("openai", "/chat/completions", stream);
    expect(text).toContain(`"finish_reason":"${chatWords[meaning]}"`);
    // The upstream's own word stands beside it.
    const isOther = typeof said === "string" && said !== chatWords[meaning];
    expect(text.includes(`"native_finish_reason":${JSON.stringify(said)}`)).toBe(isOther);
  });

  test.each([
    ["max_tokens", "length"],
    ["MAX_TOKENS", "length"],
    ["length", "length"],
    ["compaction", "stop"],
    ["stop", "stop"],
    ["refusal", "content_filter"],
    ["sensitive", "content_filter"],
    ["SAFETY", "content_filter"],
    ["model_length", "length"],
    ["model_context_window_exceeded", "length"],
    ["pause_turn", "stop"],
    ["eos", "stop"],
    ["never_heard_of", "stop"],
  ])("a message that ends by %j ends a chat by %j", async (said, expected) => {
    word = said as string;
    expect(await textOf("anthropic", "/chat/completions", stream)).toContain(`"finish_reason":"${expected}"`);
  });

  test.each([
    ...["function_call_filter: MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "ERROR", "cancelled", "timeout"],
    ...["TOO_MANY_TOOL_CALLS", "malformed_model_output", "malformed_tool_use", "parse_error"],
    ...["FinishReason.ERROR", { type: "abort", message: "the scheduler gave up" }],
  ])("an answer that ends by %j is none", async (said) => {
    word = said as string;
    const { status, text } = await ask(gateway, "/v1/chat/completions", { model: "openai", stream, ...chat });
    expect([status, text]).toEqual([stream ? 200 : 502, expect.stringContaining('"error"')]);
  });
});

test.each([false, true])(
  "a call of a tool that ends by function_call ends by tool_calls, streamed: %s",
  async (stream) => {
    const calls = [{ index: 0, id: "c", type: "function", function: { name: "look", arguments: "{}" } }];
    upstream.script = (exchange) => {
      if (stream) exchange.stream(chatChunk({ role: "assistant", tool_calls: calls }), chatChunk({}, "function_call"));
      else exchange.json(200, chatAnswer({ content: null, tool_calls: calls }, "function_call"));
    };
    const tools = [{ type: "function", function: { name: "look" } }];
    const { text } = await ask(gateway, "/v1/chat/completions", { model: "openai", stream, tools, ...chat });
    expect(text).toContain('"finish_reason":"tool_calls"');
  },
);

describe.each([false, true])("a message, streamed: %s,", (stream) => {
  const use = { type: "tool_use", id: "t1", name: "look", input: {} };
  const said = { type: "text", text: "so far" };
  test.each([
    ["a plain end after a call", [use], "end_turn", "tool_use"],
    ["a call's end", [use], "tool_use", "tool_use"],
    ["none after a call", [use], null, "tool_use"],
    ["none", [said], null, "end_turn"],
    ["an empty one", [said], "", "end_turn"],
    ["a bound after a call", [use], "max_tokens", "max_tokens"],
  ])("with %s ends as clients read it", async (_, content, reason, expected) => {
    upstream.script = (exchange) => {
      if (!stream) return exchange.json(200, messageAnswer(content, reason));
      const blocks = content.flatMap((block, i) => blockEvents(i, block));
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(messageStart(), ...blocks, ...messageEnd(reason as string)));
    };
    expect(await textOf("anthropic", "/messages", stream)).toContain(`"stop_reason":"${expected}"`);
  });
});

test.each([false, true])("a call of a function in place of a tool's is a tool's, streamed: %s", async (stream) => {
  const [begun, rest] = [{ name: "look", arguments: '{"a"' }, { arguments: ":1}" }];
  upstream.script = (exchange) => {
    const whole = { ...begun, arguments: begun.arguments + rest.arguments };
    if (!stream) return exchange.json(200, chatAnswer({ content: null, function_call: whole }, "function_call"));
    const first = chatChunk({ role: "assistant", content: null, function_call: begun });
    exchange.stream(first, chatChunk({ function_call: rest }), chatChunk({}, "function_call"));
  };
  const tools = [{ type: "function" as const, function: { name: "look" } }];
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey });
  const asked = { model: "openai", tools, messages: [{ role: "user" as const, content: "hi" }] };
  const { choices } = stream
    ? await client.chat.completions.stream(asked).finalChatCompletion()
    : await client.chat.completions.create(asked);
  const call = {
    id: expect.stringMatching(/^call_/),
    type: "function",
    function: { name: "look", arguments: '{"a":1}' },
  };
  expect(choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { tool_calls: [call] } });
  expect(choices[0]?.message.function_call ?? null).toBeNull();
});

test.each([null, "", "null", "FINISH_REASON_UNSPECIFIED", 0])("an answer with %j goes on", (reason) => {
  expect(isFinished(reason)).toBe(false);
});
