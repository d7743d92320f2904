/**
 * The call of a caller that stops reading its stream and stays connected: it ends, is charged, and gives back what it held.
 */
import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { upstreamAt } from "../../support/gateway.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

let socket: Socket | undefined;
let session: ClientHttp2Session | undefined;

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({ ...upstreamAt(baseUrl), stalledReaderMs: 800, disconnectDrainMs: 0 }),
  { perTest: true },
);

afterEach(() => {
  socket?.destroy();
  session?.destroy();
});

const body = JSON.stringify({ model: "embedded-chat", stream: true, messages: [{ role: "user", content: "much" }] });
const piece = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "word ".repeat(10_000) } }] })}\n\n`;

/** Sends pieces until the caller's connection is gone. */
async function stream(): Promise<void> {
  const exchange = await upstream.next();
  exchange.head(200, eventStream);
  while (await exchange.write(piece));
}

/** Resolves when nothing of the call is left though its caller's connection was never ended. */
async function expectCharged(): Promise<void> {
  await eventually(async () => {
    const { streams, bodyBytes, upstreamRunning, stalled } = gateway.counts();
    expect({ streams, bodyBytes, upstreamRunning, holds: await gateway.holds(), stalled }).toEqual({
      ...{ streams: 0, bodyBytes: 0, upstreamRunning: 0, holds: 0 },
      stalled: 1,
    });
  });
  await eventually(() => expect(gateway.logged()).toMatch(/"rpc":"StreamChatCompletion".*"output_tokens":[1-9]/));
}

test("over HTTP/1.1", async () => {
  socket = connect(gateway.port, "127.0.0.1").pause();
  socket.on("error", () => {});
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${gateway.apiKey}\r\n`;
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await stream();
  await expectCharged();
});

test("over HTTP/2", async () => {
  session = connectHttp2(gateway.rootUrl).on("error", () => {});
  const headers = { ":method": "POST", ":path": "/v1/chat/completions", authorization: `Bearer ${gateway.apiKey}` };
  const call = session.request(headers).on("error", () => {});
  call.end(body);
  const streaming = stream();
  await once(call, "response");
  call.pause();
  await streaming;
  await expectCharged();
});
