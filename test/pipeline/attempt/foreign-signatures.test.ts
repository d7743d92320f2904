/** A conversation whose thoughts another of Gemini's models or servers has signed, or nobody, goes on in the same call. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [{ name: "chats", kind: "openai", base_url }],
    models: [modelAt("chats", "chat", "m")],
    embeddedModels: false,
  }),
  { perTest: true },
);

const skipped = { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } };
const google = (message: string) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } });
const missing =
  "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. " +
  "Additional data, function call `default_api:bash`, position 102.";

/** Refusals as servers of Gemini's models and aggregators write them. */
const refusals: Readonly<Record<string, JsonValue>> = {
  "of Google": google("Corrupted thought signature."),
  "of Google in a list": [google("Invalid thought signature.")],
  "of Google where there is none": google(missing),
  "of Google by the place of a block": google(
    "Function call `look` in the `1.` content block is missing a `thought_signature`.",
  ),
  "of OpenRouter": {
    error: {
      message: "Provider returned error",
      code: 400,
      metadata: { raw: JSON.stringify(google("Corrupted thought signature.")), provider_name: "Google AI Studio" },
    },
  },
  "of an aggregator": { error: { message: "thoughtSignature is invalid", type: "api_error" } },
};

const call = (id: string, more: JsonObject = {}) => ({
  ...{ id, type: "function", function: { name: "look", arguments: "{}" } },
  ...more,
});
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "1" });
const signature = { google: { thought_signature: "AbC=" } };

const turns = [
  { role: "user", content: "hi" },
  {
    role: "assistant",
    content: "Well.",
    extra_content: signature,
    reasoning_details: [{ type: "reasoning.encrypted", data: "x" }],
  },
  { role: "user", content: "go on" },
  {
    role: "assistant",
    content: null,
    tool_calls: [
      call("call_1", { extra_content: signature }),
      call("call_2", { provider_specific_fields: { thought_signature: "AbC=" } }),
    ],
  },
  result("call_1"),
  result("call_2"),
];
const bare = [
  turns[0],
  { role: "assistant", content: "Well." },
  turns[2],
  { role: "assistant", content: null, tool_calls: [call("call_1", skipped), call("call_2")] },
  turns[4],
  turns[5],
];

const isBare = ({ messages }: JsonObject) => JSON.stringify(messages).includes("skip_thought_signature_validator");

test.each(Object.entries(refusals))("%s", async (_, refusal) => {
  upstream.script = (exchange) => (isBare(exchange.asked) ? answerAsOpenAi(exchange) : exchange.json(400, refusal));
  for (let times = 1; times <= 2; times++) {
    const { status, dropped, text } = await ask(gateway, "/v1/chat/completions", { model: "chat", messages: turns });
    expect([status, upstream.received.length], text).toEqual([200, 2 * times]);
    expect(upstream.lastAsked.messages).toEqual(bare);
    expect(dropped?.split(", ")).toEqual([
      "messages[1].extra_content",
      "messages[1].reasoning_details",
      "messages[3].tool_calls[0].extra_content",
      "messages[3].tool_calls[1].provider_specific_fields",
    ]);
  }
});

test("calls that nobody has signed", async () => {
  upstream.script = (exchange) =>
    isBare(exchange.asked) ? answerAsOpenAi(exchange) : exchange.json(400, google(missing));
  const use = { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] };
  const used = { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "1" }] };
  const body = { model: "chat", max_tokens: 99, messages: [{ role: "user", content: "hi" }, use, used] };
  const { status, dropped, text } = await ask(gateway, "/v1/messages", body);
  expect([status, dropped, upstream.received.length], text).toEqual([200, null, 2]);
});

test("a server that refuses Google's word, too, is asked once more", async () => {
  upstream.script = (exchange) => exchange.json(400, google("Invalid thought signature."));
  const { status, text } = await ask(gateway, "/v1/chat/completions", { model: "chat", messages: turns });
  expect([status, upstream.received.length]).toEqual([400, 2]);
  expect(text).toContain("Invalid thought signature.");
});

test("a conversation without the model's turns is not asked for again", async () => {
  upstream.script = (exchange) => exchange.json(400, google("Invalid thought signature."));
  const { status } = await ask(gateway, "/v1/chat/completions", {
    model: "chat",
    messages: [turns[0]] as JsonObject[],
  });
  expect([status, upstream.received.length]).toEqual([400, 1]);
});
