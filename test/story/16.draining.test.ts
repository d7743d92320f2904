/** The gateway is asked to stop: it finishes what runs, and takes nothing new. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { hear } from "../support/clients/hear.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { done, helloChunks, openaiFrames, usageChunk } from "../support/vendors.ts";

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startScriptedUpstream();
  gateway = await startTestGateway({ ...upstreamAt(upstream.baseUrl), drainMs: 10_000 });
});
afterAll(() => upstream.close());

test("a stream that runs comes to its end, new connections are refused, and then all is over", async () => {
  const body = { model: "embedded-chat", messages: [{ role: "user", content: "Hello" }], stream: true };
  const heard = hear(gateway, { path: "/v1/chat/completions", apiKey: gateway.apiKey, body });
  const exchange = await upstream.next();
  exchange.head(200, eventStream);
  await exchange.write(openaiFrames(...helloChunks.slice(0, 2)));
  await heard.begun;
  const closed = gateway.close("running");
  await expect(fetch(`${gateway.rootUrl}/healthz`)).rejects.toThrow();
  await exchange.write(openaiFrames(...helloChunks.slice(2), usageChunk()));
  exchange.end(done);
  expect((await heard.answer).text).toMatch(/"finish_reason":"stop".*data: \[DONE\]\n\n$/s);
  await closed;
});
