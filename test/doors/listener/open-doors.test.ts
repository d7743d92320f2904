/**
 * What needs no key is kept small: bodies and streams are bounded before any credential.
 */
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ bodyTimeoutMs: 300 });
});

afterAll(() => gateway.close());

const check = "/grpc.health.v1.Health/Check";

test("a health check does not read a large message", async () => {
  const response = await fetch(`${gateway.rootUrl}${check}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ service: "x".repeat(100_000) }),
  });
  expect(response.ok).toBe(false);
  expect(await response.json()).toMatchObject({ code: "resource_exhausted" });
});

test.each([
  ["without a key", check, {}],
  ["with one", "/modelgateway.v1.InferenceService/CreateChatCompletion", { authorization: true }],
])("an RPC body that stalls is cut off, %s", async (_, path, { authorization }: { authorization?: boolean }) => {
  const req = request({
    port: gateway.port,
    method: "POST",
    path,
    headers: {
      "content-type": "application/json",
      "content-length": "1000",
      ...(authorization ? { authorization: `Bearer ${gateway.apiKey}` } : {}),
    },
  });
  req.on("error", () => {});
  req.write("{");
  await new Promise((resolve) => req.once("close", resolve)); // Without a bound this never comes.
});

test("one HTTP/2 connection has a bounded number of streams", async () => {
  const session = connect(gateway.rootUrl);
  try {
    const [settings] = (await once(session, "remoteSettings")) as [{ maxConcurrentStreams: number }];
    expect(settings.maxConcurrentStreams).toBe(250);
  } finally {
    session.close();
  }
});

test("a request with a whole URL as its target finds its path", async () => {
  const socket = connectTcp(gateway.port, "127.0.0.1");
  socket.end(`GET http://gateway.test/healthz HTTP/1.1\r\nhost: gateway.test\r\nconnection: close\r\n\r\n`);
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
});
