/**
 * A gateway that is asked to stop finishes what runs, takes nothing new, and ends.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import type { Config } from "../../src/config/config.ts";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { openStorage } from "../../src/storage/storage.ts";
import { starter } from "../support/command.ts";
import { environment } from "../support/environment.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { chatAnswer } from "../support/vendors.ts";

const hello = { model: "embedded-chat", messages: [{ role: "user", content: "Hello" }] };
const head = '"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"embedded-chat"';
const beginning = `data: {${head},"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}\n\n`;
const end = `data: {${head},"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;

describe("in process", () => {
  let upstream: ScriptedUpstream;
  let gateway: TestGateway;
  let closing: Promise<void> | undefined;

  beforeEach(async () => {
    upstream = await startScriptedUpstream();
    closing = undefined;
  });

  afterEach(async () => {
    await upstream.close();
    await (closing ?? gateway.close("running"));
  });

  async function start(config: Partial<Config> = {}) {
    // What is cut after a minute has held up the end for longer than a test takes. No sign of life comes between the frames.
    const patient = { drainMs: 60_000, keepAliveMs: 600_000 };
    gateway = await startTestGateway({ ...upstreamAt(upstream.baseUrl), ...patient, ...config });
  }

  function close(): Promise<void> {
    closing = gateway.close("running");
    return closing;
  }

  function headers() {
    return { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
  }

  /** Starts a stream over REST whose first frame has been read. */
  async function restStream(agent?: Agent) {
    const req = request({
      port: gateway.port,
      method: "POST",
      path: "/v1/chat/completions",
      headers: headers(),
      agent,
    });
    req.end(JSON.stringify({ ...hello, stream: true }));
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(beginning);
    const [res] = await once(req, "response");
    let text = String((await once(res, "data"))[0]);
    const broken = new Promise((resolve) => res.once("error", resolve));
    const whole = new Promise<string>((resolve) => {
      res.on("data", (piece: Buffer) => (text += piece));
      res.once("end", () => resolve(text));
    });
    return { exchange, whole, broken };
  }

  /** Starts a stream over gRPC whose first message has been read. */
  async function grpcStream() {
    const client = createClient(InferenceService, createGrpcTransport({ baseUrl: gateway.rootUrl }));
    const message = create(CreateChatCompletionRequestSchema, { model: "embedded-chat", messages: [{ role: 3 }] });
    const answers = client.streamChatCompletion(message, { headers: headers() })[Symbol.asyncIterator]();
    const read = answers.next();
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(beginning);
    await read;
    const rest = (async () => {
      let count = 0;
      while (!(await answers.next()).done) count++;
      return count;
    })();
    return { exchange, rest };
  }

  test("streams that run come to their end, through REST and gRPC", async () => {
    await start();
    const rest = await restStream();
    const grpc = await grpcStream();
    const closed = close();
    rest.exchange.end(end);
    grpc.exchange.end(end);
    expect(await rest.whole).toBe(beginning + end);
    expect(await grpc.rest).toBe(1);
    await closed;
  });

  test("new connections are refused while a stream runs", async () => {
    await start();
    const { exchange, whole } = await restStream();
    const closed = close();
    const socket = connect(gateway.port, "127.0.0.1");
    const [error] = await once(socket, "error");
    expect(error).toMatchObject({ code: "ECONNREFUSED" });
    exchange.end(end);
    await whole;
    await closed;
  });

  test("a client that keeps its connection does not hold up the end, be it idle or done with its stream", async () => {
    await start();
    const agent = new Agent({ keepAlive: true });
    const idle = request({ port: gateway.port, path: "/healthz", agent }).end();
    (await once(idle, "response"))[0].resume();
    await once(idle, "close");
    const idleHttp2 = connectHttp2(gateway.rootUrl);
    await once(idleHttp2, "remoteSettings");
    const { exchange, whole } = await restStream(new Agent({ keepAlive: true }));
    const closed = close();
    exchange.end(end);
    expect(await whole).toBe(beginning + end);
    await closed;
    agent.destroy();
  });

  /** A connection on which a request has begun, and is not yet complete. */
  async function halfRequest(text: string): Promise<Socket> {
    const socket = connect(gateway.port, "127.0.0.1");
    socket.write(text);
    // Connections are accepted in their order: after two more the gateway has read the beginning of this one.
    for (let i = 0; i < 2; i++) {
      const after = request({ port: gateway.port, path: "/healthz", agent: false }).end();
      (await once(after, "response"))[0].resume();
      await once(after, "close");
    }
    return socket;
  }

  test("a probe on a connection that is open is told 503", async () => {
    await start();
    const ready = await fetch(`${gateway.rootUrl}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([200, { status: "ok" }]);
    const [readyz, healthz] = [
      await halfRequest("GET /readyz HTTP/1.1\r\n"),
      await halfRequest("GET /healthz HTTP/1.1\r\n"),
    ];
    const closed = close();
    readyz.write("host: x\r\n\r\n");
    healthz.write("host: x\r\n\r\n");
    const told = Buffer.concat(await readyz.toArray()).toString();
    expect(told).toMatch(/^HTTP\/1\.1 503 /);
    expect(told).toMatch(/^connection: close$/im);
    expect(told).toContain('{"status":"draining"}');
    expect(Buffer.concat(await healthz.toArray()).toString()).toMatch(/^HTTP\/1\.1 200 /);
    await closed;
  });

  test("a health check that is under way is told NOT_SERVING", async () => {
    await start();
    const check = async () => {
      const session = connectHttp2(gateway.rootUrl);
      const stream = session.request({
        ":method": "POST",
        ":path": `/${Health.typeName}/Check`,
        "content-type": "application/grpc",
        te: "trailers",
      });
      const message = Buffer.from(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema)));
      const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
      stream.write(envelope.subarray(0, 3));
      await once(session, "connect");
      await new Promise((resolve) => session.ping(resolve)); // By now the gateway has read the beginning.
      return async () => {
        stream.end(envelope.subarray(3));
        const bytes = Buffer.concat(await stream.toArray());
        session.close();
        return fromBinary(HealthCheckResponseSchema, bytes.subarray(5)).status;
      };
    };
    expect(await (await check())()).toBe(Status.SERVING);
    const late = await check();
    const closed = close();
    expect(await late()).toBe(Status.NOT_SERVING);
    await closed;
  });

  for (const [name, transport] of [
    ["gRPC", () => createGrpcTransport({ baseUrl: gateway.rootUrl })],
    ["Connect", () => createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" })],
  ] as const) {
    test(`a health watch through ${name} is told NOT_SERVING, and ends`, async () => {
      await start();
      const seen: Status[] = [];
      const watching = Promise.withResolvers<void>();
      const ended = (async () => {
        for await (const { status } of createClient(Health, transport()).watch({
          service: InferenceService.typeName,
        })) {
          seen.push(status);
          watching.resolve();
        }
      })().catch((error) => ConnectError.from(error).code);
      await watching.promise;
      await close();
      expect([undefined, Code.Unavailable, Code.Canceled]).toContain(await ended);
      expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING]);
    });
  }

  test("a call on a connection that is open is still answered, and the connection closed", async () => {
    await start();
    const body = JSON.stringify(hello);
    const head = Object.entries(headers()).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = await halfRequest(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${head.join("")}content-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    const closed = close();
    socket.write(body.slice(5));
    (await upstream.next()).json(200, chatAnswer({ content: "Hi" }));
    expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 200 .*"content":"Hi".*\}$/s);
    await closed;
  });

  test("what does not end is cut when the time is over, and the upstream let go", async () => {
    await start({ drainMs: 100 });
    const rest = await restStream();
    const grpc = await grpcStream();
    const begun = performance.now();
    const ended = Promise.all([
      rest.broken,
      expect(grpc.rest).rejects.toThrow(),
      rest.exchange.left,
      grpc.exchange.left,
    ]);
    await close();
    expect(performance.now() - begun).toBeGreaterThan(90);
    await ended;
  });
});

describe("as a process", () => {
  let dataDir: string;
  let apiKey: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "gateway-test-"));
    const storage = await openStorage(join(dataDir, "gateway.db"));
    const account = { id: newId("acc"), name: "test", created_at: 0 };
    await storage.accounts.insert(account);
    ({ secret: apiKey } = await issueKey(storage.keys, { accountId: account.id, name: "test", admin: false, now: 0 }));
    await storage.close();
  });

  afterEach(() => rm(dataDir, { recursive: true }));

  /** Runs the command line until it serves. */
  async function serve() {
    const env = { PATH: process.env.PATH, ...environment, PORT: "0", METRICS_PORT: "0", DATA_DIR: dataDir };
    const child = spawn(process.execPath, [starter, "serve"], { cwd: dataDir, env, stdio: ["ignore", "pipe", "pipe"] });
    child.stderr.resume();
    const exited = once(child, "exit") as Promise<[code: number | null, signal: string | null]>;
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const [, rootUrl] = /^model-gateway serves at (http:\/\/127\.0\.0\.1:[1-9]\d*)$/.exec(line) ?? [];
    expect(rootUrl, line).toBeDefined();
    return { child, exited, rootUrl: rootUrl as string };
  }

  function stream(rootUrl: string, metadata: JsonObject): Promise<Response> {
    return fetch(`${rootUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ ...hello, stream: true, metadata }),
    });
  }

  /** Reads to the end: what came before it broke off, such as a sign of life, may be there still. */
  async function readOn(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    for (let isOver = false; !isOver; ) isOver = (await reader.read()).done;
  }

  test("SIGTERM lets a stream come to its end, and then the process ends well", async () => {
    const { child, exited, rootUrl } = await serve();
    const response = await stream(rootUrl, { simulate_token_delay_ms: "10" });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = Buffer.from((await reader.read()).value ?? []).toString();
    expect(text).not.toContain("[DONE]");
    child.kill("SIGTERM");
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += Buffer.from(read.value);
    expect(text).toMatch(/"finish_reason":"stop".*data: \[DONE\]\n\n$/s);
    expect(await exited).toEqual([0, null]);
  });

  test("SIGINT ends an idle process well", async () => {
    const { child, exited, rootUrl } = await serve();
    expect((await fetch(`${rootUrl}/readyz`)).status).toBe(200);
    child.kill("SIGINT");
    expect(await exited).toEqual([0, null]);
  });

  test("who waits for a stream is told, and that a second signal does not", async () => {
    const { child, exited, rootUrl } = await serve();
    const response = await stream(rootUrl, { simulate_token_delay_ms: "600000" });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    const told = new Promise<void>((resolve) => {
      createInterface(child.stderr).on("line", (line) => line.includes("calls that run are waited for") && resolve());
    });
    child.kill("SIGTERM");
    await told;
    child.kill("SIGTERM");
    expect(await exited).toEqual([1, null]);
    await expect(readOn(reader)).rejects.toThrow();
  });

  test("a signal given again does not wait for a stream", async () => {
    const { child, exited, rootUrl } = await serve();
    const response = await stream(rootUrl, { simulate_token_delay_ms: "600000" });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    child.kill("SIGTERM");
    // Signals that follow at once are taken for echoes of the first.
    const insisting = setInterval(() => child.kill("SIGTERM"), 100);
    expect(await exited).toEqual([1, null]);
    clearInterval(insisting);
    await expect(readOn(reader)).rejects.toThrow();
  });
});
