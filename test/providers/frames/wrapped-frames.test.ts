/** Chunks of a stream that stand in a list or in an envelope each are taken out of it, for callers of every family. */
import { expect, test } from "vitest";
import { type CallFamily, call } from "../../support/clients/families.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatChunk, helloEvents, usageChunk } from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

const { upstream, gateway } = scriptedStage();

const streams: Readonly<Record<string, readonly Json[]>> = {
  gpt: [
    chatChunk({ role: "assistant", content: "Hel" }),
    chatChunk({ content: "lo" }),
    chatChunk({}, "stop"),
    usageChunk(),
  ],
  claude: helloEvents,
};

const wraps: Readonly<Record<string, (chunk: Json) => unknown>> = {
  "a list": (chunk) => [chunk],
  "`data`": (chunk) => ({ code: 0, msg: "ok", data: chunk }),
  "`data`, of a success": (chunk) => ({ success: true, data: chunk }),
  "`result`": (chunk) => ({ result: chunk }),
  "`response`": (chunk) => ({ response: chunk }),
};

function send(exchange: ScriptedExchange, frames: readonly unknown[]): void {
  exchange.head(200, eventStream);
  exchange.end(`${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")}data: [DONE]\n\n`);
}

const families: readonly CallFamily[] = ["chat", "messages", "responses"];

const texts = (text: string) =>
  text.replaceAll(/(chatcmpl|msg|resp|rs)[_-][\w-]+/g, "").replaceAll(/"(?:created|created_at|completed_at)":\d+/g, "");

test.each(Object.entries(wraps))("in %s", async (_, wrap) => {
  for (const [model, chunks] of Object.entries(streams)) {
    for (const family of families) {
      const asked = { family, model, stream: true, apiKey: gateway.apiKey };
      upstream.script = (exchange) => send(exchange, chunks);
      const plain = await call(gateway, asked);
      upstream.script = (exchange) => send(exchange, chunks.map(wrap));
      const answer = await call(gateway, asked);
      expect([answer.status, texts(answer.text)], `${model} ${family}`).toEqual([200, texts(plain.text)]);
    }
  }
});

test("several chunks in one list", async () => {
  upstream.script = (exchange) => send(exchange, [streams.gpt]);
  const answer = await call(gateway, { family: "chat", model: "gpt", stream: true, apiKey: gateway.apiKey });
  expect(answer.text).toMatch(/"Hel".*"lo".*"stop".*\[DONE\]/s);
});

test.each<[string, readonly unknown[]]>([
  ["an error in a list", [[{ error: { message: "overloaded" } }]]],
  ["an envelope of a failure", [{ success: false, data: chatChunk({ content: "x" }) }]],
  ["an error beside a chunk", [{ error: { message: "no" }, data: chatChunk({ content: "x" }) }]],
  ["a list of anything", [[1, 2]]],
  ["an empty list", [[]]],
  ["an envelope of nothing", [{ data: {} }]],
])("%s is no answer", async (_, frames) => {
  upstream.script = (exchange) => send(exchange, frames);
  const answer = await call(gateway, { family: "chat", model: "gpt", stream: true, apiKey: gateway.apiKey });
  expect(answer.status).toBeGreaterThanOrEqual(500);
});
