/**
 * Text completions on a chat model of an OpenAI-compatible upstream are sent as the operator chose: as a
 * conversation, which every chat model takes, or to the upstream's own endpoint, which not every upstream has.
 */
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt, upstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi, chatAnswer, chatChunk } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({
    ...upstreamAt(baseUrl),
    models: [
      modelAt("far", "silent"),
      modelAt("far", "as-chat", "as-chat", { completions: "chat" }),
      modelAt("far", "native", "native", { completions: "native" }),
    ],
  }),
  { script: answerAsOpenAi },
);

async function complete(model: string, stream: boolean): Promise<string> {
  const body = { model, prompt: "Say hello", max_tokens: 5, stream };
  const { status, text } = await ask(gateway, "/v1/completions", body);
  expect(status).toBe(200);
  expect(text.replace(/"text":"lo"/, "")).toMatch(/"text":"Hel(lo)?"/);
  return upstream.received.at(-1)?.path ?? "";
}

test.each([false, true])("by default and with `chat` they are a conversation (streamed: %s)", async (stream) => {
  expect(await complete("silent", stream)).toBe("/v1/chat/completions");
  expect(await complete("as-chat", stream)).toBe("/v1/chat/completions");
});

test.each([false, true])("with `native` they go to the upstream's own endpoint (streamed: %s)", async (stream) => {
  expect(await complete("native", stream)).toBe("/v1/completions");
});

test.each([false, true])("with `native` a server that answers as to a chat is read (streamed: %s)", async (stream) => {
  const text = "one two three";
  upstream.script = (exchange) => {
    if (stream)
      exchange.stream(
        chatChunk({ role: "assistant" }),
        chatChunk({ content: text }),
        chatChunk({ content: " more" }),
        chatChunk({}, "stop"),
      );
    else exchange.json(200, chatAnswer({ content: text }));
  };
  const told = await ask(gateway, "/v1/completions", { model: "native", prompt: "Count", stream });
  expect(told.status).toBe(200);
  expect(told.text).toContain(`"text":"${text}"`);
  expect(told.text).toContain('"object":"text_completion"');
  expect(told.text.includes('"text":" more"')).toBe(stream);
  expect(told.text).not.toMatch(/"(?:message|delta)"/);
});
