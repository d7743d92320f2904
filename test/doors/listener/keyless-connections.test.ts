/**
 * What nobody's key pays for keeps nobody out: connections that only follow health checks, reflect, or read pages make room for new
 * ones, and bodies that nobody reads are waited for no longer than others.
 */
import { Agent, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { doors } from "../../support/clients/doors.ts";
import { openSocket } from "../../support/clients/response-sockets.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { helloChunks } from "../../support/vendors.ts";

const maxConnections = 20;
const undo: (() => unknown)[] = [];
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ maxConnections, bodyTimeoutMs: 1_500 });
});
afterEach(async () => {
  for (const step of undo.splice(0)) step();
  await eventually(() => {
    const { http1, http2, websocket } = gateway.counts();
    expect(http1 + http2 + websocket).toBe(0);
  });
});
afterAll(() => gateway.close());

function open(): Socket {
  const socket = connect(gateway.port, "127.0.0.1");
  socket.on("error", () => {});
  undo.push(() => socket.destroy());
  return socket;
}

/** A call on a connection of its own. Resolves with its status; 0 where it got none. */
function call(model = "embedded-chat", agent: Agent | false = false): Promise<number> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
    const options = { port: gateway.port, method: "POST", path: "/v1/chat/completions", headers, agent };
    const req = request(options, (res) => {
      res.resume().on("end", () => resolve(res.statusCode ?? 0));
    });
    req.on("error", () => resolve(0));
    req.end(JSON.stringify({ model, max_tokens: 1, messages: [{ role: "user", content: "Hi" }] }));
  });
}

const pages = "GET /openapi.json HTTP/1.1\r\nhost: h\r\n\r\n";
const watchOverHttp1 = [
  "POST /grpc.health.v1.Health/Watch HTTP/1.1\r\nhost: h\r\ncontent-type: application/connect+json\r\n",
  "content-length: 7\r\n\r\n\0\0\0\0\u0002{}",
].join("");

/** Begins a stream of HTTP/2 with the head alone, or with a body. */
function stream(path: string, headers: object, body?: Buffer): void {
  const session = connectHttp2(gateway.rootUrl);
  session.on("error", () => {});
  undo.push(() => session.destroy());
  const begun = session.request({ ":path": path, ...headers });
  begun.on("error", () => {}).pause();
  if (body) begun.end(body);
}

const grpc = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };

describe("a new caller is served while all connections are taken by", () => {
  test.each<[string, () => unknown]>([
    ["health checks that are followed over gRPC", () => stream("/grpc.health.v1.Health/Watch", grpc, Buffer.alloc(5))],
    ["health checks that are followed by Connect", () => open().write(watchOverHttp1, "latin1")],
    ["reflection without an end", () => stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", grpc)],
    ["readers of pages that do not read", () => open().pause().write(pages.repeat(40))],
    ["sign-ins whose bodies do not come", () => open().write(slowly("POST /modelgateway.v1.SessionService/SignIn"))],
    ["refused calls whose bodies do not come", () => open().write(slowly("POST /v1/chat/completions"))],
  ])("%s", async (_, take) => {
    for (let i = 0; i < maxConnections + 5; i++) take();
    await eventually(() => expect(gateway.counts().shed).toBeGreaterThan(0));
    for (let i = 0; i < 5; i++) expect(await call()).toBe(200);
  });
});

const slowly = (line: string, more = "") =>
  `${line} HTTP/1.1\r\nhost: h\r\n${more}content-type: application/json\r\ncontent-length: 100000\r\n\r\n`;

test("callers who come together do not push each other out, nor one that was just served", async () => {
  let opened = 0;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = (options, done) => {
    opened++;
    return Agent.prototype.createConnection.call(agent, options, done);
  };
  undo.push(() => agent.destroy());
  expect(await call("embedded-chat", agent)).toBe(200);
  for (let i = 0; i < maxConnections; i++) stream("/grpc.health.v1.Health/Watch", grpc, Buffer.alloc(5));
  await eventually(() => expect(gateway.counts().http2).toBeGreaterThanOrEqual(maxConnections - 1));
  expect(await Promise.all(Array.from({ length: 10 }, () => call()))).toEqual(Array(10).fill(200));
  expect(await call("embedded-chat", agent)).toBe(200);
  expect(opened).toBe(1);
});

/** A message of a WebSocket of which only the head has come. */
async function halfMessage(): Promise<void> {
  const { ws } = await openSocket(gateway);
  undo.push(() => ws.terminate());
  (ws as unknown as { readonly _socket: Socket })._socket.write(Buffer.from([0x81, 0xfe, 0x10, 0, 1, 2, 3, 4, 5]));
}

describe("bodies that do not come take all connections, and a new caller that of the first", () => {
  const authorization = () => `Bearer ${gateway.apiKey}`;
  const upload = (more = "") => {
    open().write(slowly("POST /v1/chat/completions", `${more}authorization: ${authorization()}\r\n`));
  };
  test.each<[string, () => unknown]>([
    ["over HTTP/1.1", upload],
    ["over HTTP/1.1, as Node's own server reads it", () => upload("expect: 100-continue\r\n")],
    ["over HTTP/2", () => stream("/v1/chat/completions", { ":method": "POST", authorization: authorization() })],
    [
      "over gRPC",
      () => stream(`/${InferenceService.typeName}/CreateChatCompletion`, { ...grpc, authorization: authorization() }),
    ],
    ["over WebSockets", halfMessage],
  ])("%s", async (_, take) => {
    for (let i = 0; i < maxConnections; i++) await take();
    await eventually(() => {
      const { http1, http2, websocket } = gateway.counts();
      expect(http1 + http2 + websocket).toBe(maxConnections);
    });
    for (let i = 0; i < 5; i++) expect(await call()).toBe(200);
    expect(gateway.counts().shed).toBeGreaterThan(0);
  });
});

describe("a call whose request has come", () => {
  const stage = scriptedStage((url) => ({ ...upstreamAt(url), maxConnections }), { perTest: true });

  test.each(doors)("makes room for nobody over $name", async ({ chat }) => {
    const request = { model: "embedded-chat", messages: [{ role: "user", content: "Hi" }] };
    const answering = chat(stage.gateway, { request, stream: true });
    const exchange = await stage.upstream.next();
    const sockets = Array.from({ length: 2 * maxConnections }, () => connect(stage.gateway.port, "127.0.0.1"));
    undo.push(() => sockets.forEach((socket) => void socket.destroy()));
    const head = slowly("POST /v1/chat/completions", `authorization: Bearer ${stage.gateway.apiKey}\r\n`);
    for (const socket of sockets) socket.on("error", () => {}).write(head);
    await eventually(() => expect(stage.gateway.counts().shed).toBeGreaterThanOrEqual(maxConnections));
    exchange.stream(...helloChunks);
    expect((await answering).refused).toBeUndefined();
  });
});

describe("a body that comes by drops is waited for no longer than others", () => {
  test.each([
    ["a probe", slowly("GET /healthz")],
    ["the dashboard", slowly("GET /dashboard/")],
    ["a contract, in chunks", "GET /openapi.json HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n"],
    ["the addresses", slowly("GET /")],
    ["a path that is not there", slowly("POST /nothing")],
    ["a refused call", slowly("POST /v1/chat/completions")],
    ["a health check", slowly("POST /grpc.health.v1.Health/Check")],
  ])("by %s", async (_, head) => {
    const socket = open();
    const drops = setInterval(() => socket.write(head.includes("chunked") ? "1\r\nx\r\n" : "x"), 100);
    undo.push(() => clearInterval(drops));
    socket.resume().write(head);
    await new Promise((resolve) => socket.once("end", resolve).once("close", resolve));
  });
});

test("an HTTP/2 session goes on after a stream whose body nobody read", async () => {
  const session = connectHttp2(gateway.rootUrl);
  undo.push(() => session.destroy());
  const upload = session.request({ ":method": "POST", ":path": "/nothing" });
  upload.on("error", () => {}).resume();
  await delay(2_000);
  const [headers] = await new Promise<unknown[]>((resolve, reject) => {
    session.once("error", reject);
    session
      .request({ ":path": "/healthz" })
      .once("response", (...args) => resolve(args))
      .once("error", reject)
      .resume();
  });
  expect(headers).toMatchObject({ ":status": 200 });
});
