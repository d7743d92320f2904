/**
 * Text completions on a chat model of an OpenAI-compatible upstream are sent as the operator chose: as a
 * conversation, which every chat model takes, or to the upstream's own endpoint, which not every upstream has.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModelConfig } from "../../../src/config/config.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../../support/gateway.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../../support/scripted-upstream.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedUpstream(answerAsOpenAi);
  const { models = [], ...config } = upstreamAt(upstream.baseUrl);
  const [{ completions: _, ...plain }] = models as [ModelConfig];
  gateway = await startTestGateway({
    ...config,
    models: [
      { ...plain, id: "silent" },
      { ...plain, id: "as-chat", completions: "chat" },
      { ...plain, id: "native", completions: "native" },
    ],
  });
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

async function complete(model: string, stream: boolean): Promise<string> {
  const response = await fetch(`${gateway.baseUrl}/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, prompt: "Say hello", max_tokens: 5, stream }),
  });
  expect(response.status).toBe(200);
  expect((await response.text()).replace(/"text":"lo"/, "")).toMatch(/"text":"Hel(lo)?"/);
  return upstream.received.at(-1)?.path ?? "";
}

test.each([false, true])("by default and with `chat` they are a conversation (streamed: %s)", async (stream) => {
  expect(await complete("silent", stream)).toBe("/v1/chat/completions");
  expect(await complete("as-chat", stream)).toBe("/v1/chat/completions");
});

test.each([false, true])("with `native` they go to the upstream's own endpoint (streamed: %s)", async (stream) => {
  expect(await complete("native", stream)).toBe("/v1/completions");
});
