/**
 * One HTTP/2 connection carries the calls of many callers where a proxy stands before the gateway, or a service has one client: what some of
 * them do not read refuses nobody else's call.
 */
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { upstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage((baseUrl) => upstreamAt(baseUrl));

/** An answer with so many kibibytes of annotations. */
const answerOf = (kibibytes: number) => {
  const message = { role: "assistant", content: "hi", annotations: Array(kibibytes).fill("a".repeat(1024)) };
  return {
    ...{ id: "c", object: "chat.completion", created: 1, model: "embedded-chat" },
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
};

/** Node's own client would refuse itself what is beyond its default. */
const memoryOfClient = { maxSessionMemory: 1024 };
let session: ClientHttp2Session;
beforeEach(() => {
  session = connect(gateway.rootUrl, memoryOfClient).on("error", () => {});
});
afterEach(() => session.destroy());

function ask(content: string): ClientHttp2Stream {
  const authorization = `Bearer ${gateway.apiKey}`;
  const headers = {
    ":method": "POST",
    ":path": "/v1/chat/completions",
    "content-type": "application/json",
    authorization,
  };
  const call = session.request(headers);
  call.end(JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content }] }));
  return call;
}

test("answers that are not read leave room for further calls", async () => {
  upstream.script = (exchange) => exchange.json(200, answerOf(4096));
  const unread = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const call = ask("hi").pause();
      const [head] = await once(call, "response");
      expect(head[":status"]).toBe(200);
      return call;
    }),
  );
  upstream.script = (exchange) => exchange.json(200, answerOf(0));
  const further = ask("hi");
  expect((await once(further, "response"))[0][":status"]).toBe(200);
  expect(JSON.parse(await text(further)).choices[0].message.content).toBe("hi");
  for (const call of unread) expect(JSON.parse(await text(call)).choices[0].message.annotations).toHaveLength(4096);
});
