/** A stream: its frames come as they are made, and its end tells whether it is whole. */
import { expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { hear } from "../support/clients/hear.ts";
import { upstreamAt } from "../support/gateway.ts";
import { eventStream } from "../support/scripted-upstream.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatChunk, chatUsage, done, helloChunks, openaiFrames, usageChunk } from "../support/vendors.ts";

const { upstream, gateway } = scriptedStage(upstreamAt);

const path = "/v1/chat/completions";
const body = { model: "embedded-chat", messages: [{ role: "user", content: "Hello" }], stream: true };

test("the caller has the first words before the upstream has said the last", async () => {
  const heard = hear(gateway, { path, apiKey: gateway.apiKey, body });
  const exchange = await upstream.next();
  exchange.head(200, eventStream);
  await exchange.write(openaiFrames(...helloChunks.slice(0, 2)));
  await heard.begun;
  await exchange.write(openaiFrames(...helloChunks.slice(2), usageChunk()));
  exchange.end(done);
  const { status, headers, text } = await heard.answer;
  expect([status, headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
  expect(text).toMatch(/"content":"Hel".*"content":"lo".*"finish_reason":"stop".*data: \[DONE\]\n\n$/s);
  // The gateway asked for the usage; its caller did not.
  expect(text).not.toContain('"usage":{');
});

test("usage comes in an extra chunk where it is asked for", async () => {
  upstream.script = (exchange) => exchange.stream(...helloChunks, usageChunk());
  const { text } = await ask(gateway, path, { ...body, stream_options: { include_usage: true } });
  expect(text).toContain(JSON.stringify(chatUsage));
});

test("an error before the first content is a real status", async () => {
  upstream.script = (exchange) => exchange.json(429, { error: { message: "Slow down." } });
  const { status, json } = await ask(gateway, path, body);
  expect([status, json.error.message]).toEqual([429, expect.stringContaining("Slow down.")]);
});

test("a stream that breaks ends with an error, and never with [DONE]", async () => {
  upstream.script = async (exchange) => {
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chatChunk({ role: "assistant", content: "Hel" })));
    exchange.destroy();
  };
  const { status, text } = await ask(gateway, path, body);
  expect(status).toBe(200);
  // Clients know a failure by the one line or by the other, and some want nothing before the data.
  expect(text).toMatch(/"content":"Hel".*\n\ndata: \{"error":\{.*\}\nevent: error\n\n$/s);
  expect(text).not.toContain("[DONE]");
});
