/** How an answer ended, in every word that servers have for it, is told to callers of each family in its own words. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFinished } from "../../src/providers/usage/finish-word.ts";
import { anthropicUpstreamAt, startTestGateway, type TestGateway } from "../support/gateway.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";

let upstream: ScriptedUpstream;
const gateways: Partial<Record<"openai" | "anthropic", TestGateway>> = {};
let word: unknown = "";

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

beforeAll(async () => {
  upstream = await startScriptedUpstream((exchange) => {
    const { stream } = JSON.parse(exchange.body.toString());
    if (exchange.path.endsWith("/messages")) return answerAsAnthropic(exchange, stream);
    const head = { id: "c1", created: 1, model: "m" };
    const choice = { index: 0, finish_reason: word };
    if (!stream) {
      const message = { role: "assistant", content: "so far" };
      return exchange.json(200, { ...head, object: "chat.completion", choices: [{ ...choice, message }], usage });
    }
    const chunk = (choices: object[], more = {}) => ({ ...head, object: "chat.completion.chunk", choices, ...more });
    exchange.stream(
      chunk([{ index: 0, delta: { role: "assistant", content: "so far" }, finish_reason: null }]),
      chunk([{ ...choice, delta: {} }]),
      chunk([], { usage }),
    );
  });
  gateways.openai = await startTestGateway({
    upstreams: [{ name: "far", kind: "openai", base_url: upstream.baseUrl }],
    models: [
      {
        ...{ id: "embedded-chat", aliases: [], family: "f", kind: "chat" },
        targets: [{ upstream: "far", model: "m", priority: 0, weight: 1 }],
      },
    ],
    embeddedModels: false,
  });
  gateways.anthropic = await startTestGateway(anthropicUpstreamAt(upstream.baseUrl, "k", "claude-sonnet-4-6"));
});

afterAll(async () => {
  for (const gateway of Object.values(gateways)) await gateway.close();
  await upstream.close();
});

function answerAsAnthropic(exchange: ScriptedUpstream["received"][number], stream: boolean): void {
  const content = [{ type: "text", text: "so far" }];
  const counts = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "c", content, usage: counts };
  if (!stream) {
    exchange.json(200, { ...message, stop_reason: word, stop_sequence: null });
    return;
  }
  const events = [
    { type: "message_start", message: { ...message, content: [], stop_reason: null } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "so far" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: word, stop_sequence: null }, usage: counts },
    { type: "message_stop" },
  ];
  exchange.head(200, eventStream);
  exchange.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}

const bodies = {
  "/messages": { max_tokens: 9, messages: [{ role: "user", content: "hi" }] },
  "/responses": { input: "hi", store: false },
  "/completions": { prompt: "hi" },
  "/chat/completions": { messages: [{ role: "user", content: "hi" }] },
};

async function textOf(of: "openai" | "anthropic", path: keyof typeof bodies, stream: boolean): Promise<string> {
  const { baseUrl, apiKey } = gateways[of] as TestGateway;
  const answer = await fetch(baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "embedded-chat", stream, ...bodies[path] }),
  });
  expect(answer.status).toBe(200);
  return answer.text();
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
    ...["FinishReason.MAX_TOKENS", "FINISH_REASON_MAX_TOKENS", "maxTokens", "TOKEN_LIMIT", "time_limit"],
    { type: "length", length: 10 },
  ],
  filter: [
    ...["content_filter", "SAFETY", "content_filter: PROHIBITED_CONTENT", "content_filtered", "RECITATION"],
    ...["content-filter", "contentFilter", "guardrail_intervened", "FinishReason.SAFETY"],
  ],
  stop: ["stop", "STOP", "end_turn", "eos", "COMPLETE", "never_heard_of", { type: "stop", matched: 2 }, 1],
} as const;

const cases = Object.entries(words).flatMap(([meaning, all]) =>
  all.map((said) => [said, meaning as keyof typeof told] as const),
);

describe.each([false, true])("stream: %s", (stream) => {
  test.each(cases)("%j means %s", async (said, meaning) => {
    word = said;
    for (const [path, expected] of Object.entries(told[meaning])) {
      expect(await textOf("openai", path as keyof typeof bodies, stream)).toContain(expected);
    }
    // Callers of the same family get the upstream's own word.
    expect(await textOf("openai", "/chat/completions", stream)).toContain(JSON.stringify(said));
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
    word = said;
    expect(await textOf("anthropic", "/chat/completions", stream)).toContain(`"finish_reason":"${expected}"`);
  });

  test.each([
    ...["function_call_filter: MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "ERROR", "cancelled", "timeout"],
    ...["FinishReason.ERROR", { type: "abort", message: "the scheduler gave up" }],
  ])("an answer that ends by %j is none", async (said) => {
    word = said;
    const { baseUrl, apiKey } = gateways.openai as TestGateway;
    const answer = await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "embedded-chat", stream, ...bodies["/chat/completions"] }),
    });
    expect([answer.status, await answer.text()]).toEqual([stream ? 200 : 502, expect.stringContaining('"error"')]);
  });
});

test.each([null, "", "null", "FINISH_REASON_UNSPECIFIED", 0])("an answer with %j goes on", (reason) => {
  expect(isFinished(reason)).toBe(false);
});
