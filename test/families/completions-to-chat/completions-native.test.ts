/**
 * Text completions on a chat model of an OpenAI-compatible upstream are sent as the operator chose: as a
 * conversation, which every chat model takes, or to the upstream's own endpoint, which not every upstream has.
 */
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt, upstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

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
