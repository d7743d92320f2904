/**
 * Servers that name their events without a type in the data, or tell stop reason and usage in another place than the vendor. Callers of
 * each family get the whole answer, its end and what they are charged for.
 */
import { describe, expect, test } from "vitest";
import type { ProfileConfig } from "../../../src/config/schema-profile.ts";
import { call, isTold } from "../../support/clients/families.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  chatChunk,
  done,
  messageStart,
  openaiFrames,
  outputMessage,
  responseAnswer,
  responseEvents,
} from "../../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the gateway says is looked into as it came.
type Any = any;
type Json = Record<string, unknown>;
type Family = "chat" | "messages" | "responses";
const families: readonly Family[] = ["chat", "messages", "responses"];

const profile: ProfileConfig = { operations: { responses: "/responses" }, responses_items: "any", responses: "always" };
const { upstream, gateway } = scriptedStage((base_url) => ({
  embeddedModels: false,
  upstreams: [
    { name: "messages", kind: "anthropic", base_url, api_key: "k" },
    { name: "responses", kind: "openai", base_url, profile },
    { name: "chat", kind: "openai", base_url },
  ],
  models: [paidModel("claude", "messages"), paidModel("gpt", "responses"), paidModel("chat", "chat")],
}));

/** send answers with these events, `untyped` only by their names. */
function send(events: readonly Json[], untyped = false): void {
  const frames = events.map(({ type, ...data }) => {
    return `event: ${type}\ndata: ${JSON.stringify(untyped ? data : { type, ...data })}\n\n`;
  });
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(frames.join(""));
  };
}

interface Heard {
  readonly text: string;
  readonly end: unknown;
  readonly output: unknown;
  readonly isBroken: boolean;
}

async function hear(family: Family, model: string, stream: boolean): Promise<Heard> {
  const more = family === "chat" && stream ? { stream_options: { include_usage: true } } : {};
  const { text: body } = await call(gateway, { family, model, stream, apiKey: gateway.apiKey, more });
  const told: Any[] = stream
    ? [...body.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string))
    : [JSON.parse(body)];
  const last: Any = told.at(-1);
  const isBroken = told.some(({ error, type }) => error || type === "error");
  if (family === "chat") {
    const choices = told.flatMap((one) => one.choices ?? []);
    return {
      text: choices.map(({ delta, message }) => (delta ?? message).content ?? "").join(""),
      end: choices.at(-1)?.finish_reason,
      output: told.findLast(({ usage }) => usage)?.usage.completion_tokens,
      isBroken,
    };
  }
  if (family === "messages") {
    const end = stream ? told.findLast(({ type }) => type === "message_delta") : last;
    const text = stream ? told.map(({ delta }) => delta?.text ?? "").join("") : last.content[0].text;
    return { text, end: (end?.delta ?? end)?.stop_reason, output: end?.usage.output_tokens, isBroken };
  }
  const { output, status, usage } = stream ? last.response : last;
  return { text: output[0].content[0].text, end: status, output: usage.output_tokens, isBroken };
}

const both = families.flatMap((family) => [true, false].map((stream) => [family, stream] as const));
const text = blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: "Hello" });
const cut = { chat: "length", messages: "max_tokens", responses: "incomplete" };
const usage = { output_tokens: 7 };

describe.each<[string, Json[]]>([
  [
    "beside the delta",
    [{ type: "message_delta", delta: {}, stop_reason: "max_tokens", usage }, { type: "message_stop" }],
  ],
  ["in the last event", [{ type: "message_stop", stop_reason: "max_tokens", usage }]],
  [
    "inside the delta",
    [{ type: "message_delta", delta: { stop_reason: "max_tokens", usage } }, { type: "message_stop" }],
  ],
])("an end of a message that is told %s", (_, end) => {
  test.each(both)("reaches callers of %s; stream: %s", async (family, stream) => {
    send([messageStart(), ...text, ...end]);
    expect(await hear(family, "claude", stream)).toEqual({
      text: "Hello",
      end: cut[family],
      output: 7,
      isBroken: false,
    });
  });
});

const stop: Json[] = [{ type: "message_delta", delta: { stop_reason: "max_tokens" }, usage }, { type: "message_stop" }];

test.each(both)(
  "events of a message without a type are read by their names: %s; stream: %s",
  async (family, stream) => {
    send([messageStart(), ...text, ...stop], true);
    expect(await hear(family, "claude", stream)).toEqual({
      text: "Hello",
      end: cut[family],
      output: 7,
      isBroken: false,
    });
  },
);

const counts = { input_tokens: 3, output_tokens: 7, total_tokens: 10 };
const events = (more: Json) => responseEvents(responseAnswer([outputMessage("Hello")], more)) as Json[];
const whole = { chat: "stop", messages: "end_turn", responses: "completed" };

test.each(both)(
  "events of a response without a type are read by their names: %s; stream: %s",
  async (family, stream) => {
    send(events({ usage: counts }), true);
    expect(await hear(family, "gpt", stream)).toEqual({
      text: "Hello",
      end: whole[family],
      output: 7,
      isBroken: false,
    });
  },
);

test.each(both)("a usage beside the response is the response's: %s; stream: %s", async (family, stream) => {
  const [last, ...before] = events({ usage: null }).reverse() as [Json, ...Json[]];
  send([...before.reverse(), { ...last, usage: counts }]);
  expect(await hear(family, "gpt", stream)).toEqual({ text: "Hello", end: whole[family], output: 7, isBroken: false });
});

test.each(both)(
  "a response that names why it is incomplete is not complete: %s; stream: %s",
  async (family, stream) => {
    send(events({ usage: counts, incomplete_details: { reason: "max_output_tokens" } }));
    expect(await hear(family, "gpt", stream)).toEqual({ text: "Hello", end: cut[family], output: 7, isBroken: false });
  },
);

const answered = { id: "msg_1", type: "message", role: "assistant", model: "claude", stop_reason: "max_tokens", usage };

test.each([
  ["a text", "Hello"],
  ["a block", { type: "text", text: "Hello" }],
])("a message whose content is %s alone is one of that text", async (_, content) => {
  upstream.script = (exchange) => exchange.json(200, { ...answered, content });
  for (const family of families)
    expect(await hear(family, "claude", false)).toEqual({
      text: "Hello",
      end: cut[family],
      output: 7,
      isBroken: false,
    });
});

const called = { id: "call_1", type: "function", function: { name: "look", arguments: '{"a":' } };
const item = { id: "fc_1", type: "function_call", call_id: "call_1", name: "look", arguments: "" };
const input = { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 0, delta: '{"a":' };
const [begun, piece] = blockEvents(
  0,
  { type: "tool_use", id: "t", name: "look", input: {} },
  { type: "input_json_delta", partial_json: '{"a":' },
) as [Json, Json];

test.each([
  ["chat", openaiFrames(chatChunk({ role: "assistant", tool_calls: [{ index: 0, ...called }] }))],
  ["chat", openaiFrames(chatChunk({ role: "assistant", function_call: called.function }))],
  ["claude", anthropicFrames(messageStart(), begun, piece)],
  ["gpt", anthropicFrames({ type: "response.output_item.added", output_index: 0, item }, input)],
])("a call of %s that a proxy ends by [DONE] in the middle of its input is no answer", async (model, frames) => {
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(frames + done);
  };
  for (const [family, stream] of both) {
    const answer = await call(gateway, { family, model, stream, apiKey: gateway.apiKey });
    expect(isTold(answer, family, stream), answer.text).toBe(false);
  }
});

test("a response that has its text alone is one of that text", async () => {
  upstream.script = (exchange) => exchange.json(200, responseAnswer([], { output_text: "Hello", usage: counts }));
  for (const family of families)
    expect(await hear(family, "gpt", false)).toEqual({ text: "Hello", end: whole[family], output: 7, isBroken: false });
});
