/**
 * What needs no key is kept small: bodies and streams are bounded before any credential.
 */
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Fields, headers, openH2 } from "../../hostile/h2.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ bodyTimeoutMs: 300 });
});

afterAll(() => gateway.close());

const check = "/grpc.health.v1.Health/Check";

/** answerTo writes what a client sends on a connection of its own, and returns all that comes back. */
async function answerTo(...written: (string | Buffer)[]): Promise<string> {
  const socket = connectTcp(gateway.port, "127.0.0.1");
  for (const piece of written) socket.write(piece);
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

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

describe("a head that can be read in two ways is refused", () => {
  const key = () => `authorization: Bearer ${gateway.apiKey}\r\n`;
  test.each<[string, (key: string) => string]>([
    ["two hosts", (key) => `host: a\r\n${key}Host: b\r\n`],
    ["the same host twice", (key) => `host: a\r\n${key}host: a\r\n`],
    ["two credentials, the first of which is right", (key) => `host: a\r\n${key}Authorization: Bearer x\r\n`],
    ["two types", (key) => `host: a\r\n${key}content-type: text/plain\r\n`],
  ])("%s", async (_, fields) => {
    const body = JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "Hi" }] });
    const type = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    const text = await answerTo(`POST /v1/chat/completions HTTP/1.1\r\n${fields(key())}${type}\r\n${body}`);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain("connection: close");
  });

  const hosts = [...["a b", "a\tb", "a/b", "user@a", 'a"b', "a:b", "\xe4", "[::1", "a%2", "a?b", "a:1:2"]];

  test.each(hosts)("a host that is none: %j", async (host) => {
    const upgrade = `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${"A".repeat(22)}==\r\n`;
    const heads = [
      "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n",
      "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\nte: trailers\r\n",
      "GET /v1/models HTTP/1.0\r\n",
      `GET /v1/responses HTTP/1.1\r\n${upgrade}`,
    ];
    for (const head of heads) {
      const text = await answerTo(Buffer.from(`${head}host: ${host}\r\n${key()}\r\n{}`, "latin1"));
      expect(text, head).toMatch(/^HTTP\/1\.1 400 /);
      expect(text, head).toContain("HTTP request could not be read");
    }
  });

  test.each(["", "a_b", "a,b", "[::1]:80", "[fe80::1%25eth0]", "a:", "xn--4ca.example:8080", "1.2.3.4"])(
    "a host that may be is not: %j",
    async (host) => {
      const text = await answerTo(`GET /v1/models HTTP/1.1\r\nhost: ${host}\r\n${key()}connection: close\r\n\r\n`);
      expect(text).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  test.each([
    ["another", 400],
    ["H", 200],
  ])("over HTTP/2, with the host %j beside the authority `h`: %d", async (host, status) => {
    const raw = await openH2(gateway.port);
    const fields: Fields = [
      ...[[":method", "GET"] as const, [":scheme", "http"] as const, [":path", "/v1/models"] as const],
      ...[[":authority", "h"] as const, ["authorization", `Bearer ${gateway.apiKey}`] as const],
      ["host", host],
    ];
    raw.socket.write(headers(1, fields, true));
    await eventually(() => expect(raw.statuses.get(1)).toBe(status));
    raw.socket.destroy();
  });

  const probe: Fields = [
    [":method", "GET"],
    [":scheme", "http"],
    [":path", "/healthz"],
    [":authority", "h"],
  ];

  test.each<[string, Fields, number]>([
    ["an expectation that nobody knows", [...probe, ["expect", "x"]], 200],
    [
      "what asks for a proxy",
      [
        [":method", "CONNECT"],
        [":authority", "h"],
      ],
      405,
    ],
  ])("over HTTP/2 %s is answered with a body", async (_, fields, status) => {
    const raw = await openH2(gateway.port);
    raw.socket.write(headers(1, fields, true));
    await eventually(() => expect(raw.statuses.get(1)).toBe(status));
    await eventually(() => expect(raw.received.get(1)).toBeGreaterThan(0));
    raw.socket.destroy();
  });

  test.each<[string, (key: string) => string]>([
    ["credential", (key) => `${key}${key}`],
    ["type", (key) => `${key}Content-Type: application/json\r\n`],
    ["type, and once with its charset", (key) => `${key}content-type: application/json; charset=utf-8\r\n`],
  ])("one with the same %s twice is not", async (_, fields) => {
    const body = JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "Hi" }] });
    const type = `connection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    const text = await answerTo(`POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n${fields(key())}${type}\r\n${body}`);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    ["gzip, chunked", 400],
    ["chunked, gzip", 400],
    ["chunked, chunked", 400],
    ["identity", 400],
    ["Chunked ", 200],
  ])("a body in the transfer coding %j is answered with %d", async (coding, status) => {
    const body = JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "Hi" }] });
    const type = `connection: close\r\ncontent-type: application/json\r\ntransfer-encoding: ${coding}\r\n`;
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n${key()}${type}\r\n`;
    const text = await answerTo(head, `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test("and its sender is told by which fields", async () => {
    const text = await answerTo("GET /v1/models HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n");
    expect(text).toContain("`authorization`");
  });

  test("also over HTTP/2", async () => {
    const raw = await openH2(gateway.port);
    const fields: Fields = [
      ...[[":method", "GET"] as const, [":scheme", "http"] as const, [":path", "/v1/models"] as const],
      ...[[":authority", "h"] as const, ["authorization", `Bearer ${gateway.apiKey}`] as const],
      ["authorization", "Bearer x"],
    ];
    raw.socket.write(headers(1, fields, true));
    await eventually(() => expect(raw.statuses.get(1)).toBe(400));
    raw.socket.destroy();
  });
});

test.each([
  ["GET", "/v1/models/embedded-chat?id=another", undefined],
  ["GET", "/v1/responses/resp_1/input_items?id=resp_2", undefined],
  ["POST", "/v1/responses/resp_1/cancel", '{"id":"resp_2"}'],
])("what a path names is not named again: %s %s", async (method, path, body) => {
  const answer = await fetch(`${gateway.rootUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body }),
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { param: "id", code: "invalid_value" } });
});

test("what a path names may be named again alike", async () => {
  const answer = await fetch(`${gateway.rootUrl}/v1/models/embedded-chat?id=embedded-chat`, {
    headers: { authorization: `Bearer ${gateway.apiKey}` },
  });
  expect([answer.status, await answer.json()]).toMatchObject([200, { id: "embedded-chat" }]);
});

test("metrics are served to a hundred connections at most, and again when they have gone", async () => {
  const sockets = Array.from({ length: 110 }, () => connectTcp(gateway.metricsPort ?? 0, "127.0.0.1"));
  for (const socket of sockets) socket.on("error", () => {}).resume();
  await eventually(() => expect(sockets.filter(({ destroyed }) => destroyed)).toHaveLength(10));
  for (const socket of sockets) socket.destroy();
  await eventually(async () => {
    const text = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
    expect(text).toContain("model_gateway_");
  });
});
