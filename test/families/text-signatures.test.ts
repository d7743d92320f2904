/** Gemini gets its signatures of texts back, whichever family its caller speaks, and no other model gets them. */
import Anthropic from "@anthropic-ai/sdk";
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import OpenAI from "openai";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { describe, expect, test } from "vitest";
import { sealedSignature, signatureForText } from "../../src/families/call-signature.ts";
import { isSealedSignature } from "../../src/providers/profile/sealed-signature.ts";
import { modelAt, upstreamAt } from "../support/gateway.ts";
import type { ScriptedExchange } from "../support/scripted-upstream.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, messageAnswer } from "../support/vendors.ts";

const extra_content = { google: { thought_signature: "c2ln+bmF0/dXJl==" } };

/** Where the signature stands: beside the message, in its last piece, or on a part of its content. */
let place: "message" | "part" = "message";

const { upstream, gateway } = scriptedStage(
  (base_url) => {
    const { upstreams, models, ...config } = upstreamAt(base_url, "upstream-key", "gemini-3-pro");
    return {
      ...config,
      upstreams: [...upstreams, { name: "claude", kind: "anthropic", base_url, api_key: "k" }],
      models: [...models, modelAt("far", "qwen"), modelAt("claude", "claude-opus-5")],
    };
  },
  { script: answer },
);

/** Says its text with a signature, where the test places it. */
function answer(exchange: ScriptedExchange): void {
  const { stream } = exchange.asked;
  if (exchange.path.endsWith("/messages")) {
    exchange.json(200, messageAnswer([{ type: "text", text: "Hi." }]));
  } else if (stream) {
    const last = chatChunk({ content: "", extra_content }, "stop");
    exchange.stream(chatChunk({ content: "Ra" }), chatChunk({ content: "in." }), last);
  } else if (place === "part") {
    exchange.json(200, chatAnswer({ content: [{ type: "text", text: "Rain.", extra_content }] }));
  } else exchange.json(200, chatAnswer({ content: "Rain.", extra_content }));
}

const lastSent = () => upstream.lastAsked as { messages: object[]; model: string };
const spoken = () => lastSent().messages.find((message) => (message as { role: string }).role === "assistant");

describe.each([
  [false, "message"],
  [false, "part"],
  [true, "message"],
] as const)("a Messages caller, streamed: %s, beside the %s", (isStream, where) => {
  test("sends it back as redacted thinking; another model, and Claude, do not get it", async () => {
    place = where;
    const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: gateway.apiKey, maxRetries: 0 });
    const asked = { model: "embedded-chat", max_tokens: 99 };
    const first: MessageParam = { role: "user", content: "?" };
    const one = isStream
      ? await client.messages.stream({ ...asked, messages: [first] }).finalMessage()
      : await client.messages.create({ ...asked, messages: [first] });
    expect(one.content.map(({ type }) => type)).toEqual(["text", "redacted_thinking"]);
    expect(one.content[0]).toMatchObject({ text: "Rain." });
    const messages: MessageParam[] = [
      first,
      { role: "assistant", content: one.content },
      { role: "user", content: "And?" },
    ];
    const strict = { headers: { "x-gateway-strict": "true" } };
    await client.messages.create({ ...asked, messages }, strict);
    expect(spoken()).toEqual({ role: "assistant", content: "Rain.", extra_content });
    await client.messages.create({ ...asked, model: "qwen", messages }, strict);
    expect(spoken()).toEqual({ role: "assistant", content: "Rain." });
    const told = await client.messages.create({ ...asked, model: "claude-opus-5", messages }, strict).withResponse();
    expect(told.response.headers.get("x-gateway-dropped")).toBeNull();
    expect(spoken()).toMatchObject({ content: [{ type: "text", text: "Rain." }] });
    expect(JSON.stringify(lastSent())).not.toContain("redacted");
  });
});

describe.each([false, true])("a caller of responses, streamed: %s", (isStream) => {
  test("sends it back with its items, and by continuing a response", async () => {
    place = "message";
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
    const asked = { model: "embedded-chat" };
    const one = isStream
      ? await client.responses.stream({ ...asked, input: "?" }).finalResponse()
      : await client.responses.create({ ...asked, input: "?" });
    expect(one.output_text).toBe("Rain.");
    const made = one.output as ResponseInputItem[];
    const next: ResponseInputItem = { role: "user", content: "And?" };
    await client.responses.create({ ...asked, input: [{ role: "user", content: "?" }, ...made, next] });
    expect(spoken()).toEqual({ role: "assistant", content: "Rain.", extra_content });
    await client.responses.create({ ...asked, previous_response_id: one.id, input: [next] });
    expect(spoken()).toEqual({ role: "assistant", content: "Rain.", extra_content });
    await client.responses.create({ ...asked, model: "qwen", previous_response_id: one.id, input: [next] });
    expect(spoken()).toEqual({ role: "assistant", content: "Rain." });
  });
});

const at = (model: string) => ({ model, upstream: "far" });

test.for(["c2lnbmF0dXJl", "a+/=", "YQ==", "with spaces.", "é", "a".repeat(5000)])(
  "a signature comes back unchanged: %s",
  (text) => {
    const sealed = sealedSignature(text, at("m"));
    expect(isSealedSignature(sealed)).toBe(true);
    expect(signatureForText(sealed, at("m"))).toEqual({ extra_content: { google: { thought_signature: text } } });
    expect(signatureForText(sealed, at("n"))).toEqual({});
  },
);

test.for(["", "sig-", "sig-bzz-x", "EqQBCkYIChgCKkB"])(
  "data sealed by Claude's vendor or anybody else is not a signature: %s",
  (text) => {
    expect(isSealedSignature(text)).toBe(false);
    expect(signatureForText(text, at("m"))).toEqual({});
  },
);
