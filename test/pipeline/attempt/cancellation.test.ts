/**
 * A caller that disconnects aborts the upstream request at once, at every door and at every moment.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { binaryOptions } from "../../../src/wire/json.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../../support/gateway.ts";
import { timed } from "../../support/run/running-time.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const hello = { model: "embedded-chat", messages: [{ role: "user", content: "Hello" }] };
const frame = (delta: JsonObject, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const wholeAnswer = { choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] };

/** A call under way, as its caller sees it. */
interface Underway {
  /** Resolves when the caller has read the first of a streamed answer. */
  readonly begun: Promise<unknown>;
  /** Resolves when the call is over for the caller, however it ended. */
  readonly over: Promise<unknown>;
  leave(): void;
}

/** Starts a call whose answer is read as it comes, or, unless it `reads`, hardly at all. */
type Start = (gateway: TestGateway, stream: boolean, reads?: boolean) => Underway;

const doors: Record<string, Start> = {
  "REST over HTTP/1.1": restHttp1,
  "REST over HTTP/2": restHttp2,
  Connect: rpc(({ rootUrl }) => createConnectTransport({ baseUrl: rootUrl, httpVersion: "1.1", binaryOptions })),
  "Connect over HTTP/2": rpc(({ rootUrl }) =>
    createConnectTransport({ baseUrl: rootUrl, httpVersion: "2", binaryOptions }),
  ),
  gRPC: rpc(({ rootUrl }) => createGrpcTransport({ baseUrl: rootUrl, binaryOptions })),
  "gRPC-Web": rpc(({ rootUrl }) => createGrpcWebTransport({ baseUrl: rootUrl, httpVersion: "1.1", binaryOptions })),
};

function restHttp1({ port, apiKey }: TestGateway, stream: boolean, reads = true): Underway {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const req = request({ port, method: "POST", path: "/v1/chat/completions", headers, agent: false });
  const over = new Promise((resolve) => req.on("error", () => {}).once("close", resolve));
  const begun = new Promise((resolve) => {
    req.once("response", (res) => {
      res.on("error", () => {});
      if (reads) res.once("data", resolve);
    });
  });
  req.end(JSON.stringify({ ...hello, stream }));
  return { begun, over, leave: () => void req.destroy() };
}

function restHttp2({ rootUrl, apiKey }: TestGateway, stream: boolean, reads = true): Underway {
  const session = connectHttp2(rootUrl);
  const req = session.request({
    ":method": "POST",
    ":path": "/v1/chat/completions",
    authorization: `Bearer ${apiKey}`,
    "content-type": "application/json",
  });
  const begun = new Promise((resolve) => reads && req.once("data", resolve));
  const over = new Promise((resolve) => req.on("error", () => {}).once("close", resolve)).then(() => session.close());
  req.end(JSON.stringify({ ...hello, stream }));
  return { begun, over, leave: () => req.close(8 /* CANCEL */) };
}

function rpc(transportTo: (gateway: TestGateway) => Transport): Start {
  return (gateway, stream, reads = true) => {
    const client = createClient(InferenceService, transportTo(gateway));
    const leaving = new AbortController();
    const options = { signal: leaving.signal, headers: { authorization: `Bearer ${gateway.apiKey}` } };
    const message = readMessage(CreateChatCompletionRequestSchema, hello as JsonObject, { lenient: false });
    const begun = Promise.withResolvers<void>();
    const over = (async () => {
      if (!stream) return void (await client.createChatCompletion(message, options));
      for await (const _ of client.streamChatCompletion(message, options)) {
        begun.resolve();
        if (!reads) await once(leaving.signal, "abort");
      }
    })().catch(() => {});
    return { begun: begun.promise, over, leave: () => leaving.abort() };
  };
}

const { upstream, gateway } = scriptedStage((baseUrl) => ({ ...upstreamAt(baseUrl), disconnectDrainMs: 300 }));
/** Reads nothing of a stream whose caller has left after its first content. */
const undrained = scriptedStage((baseUrl) => ({ ...upstreamAt(baseUrl), disconnectDrainMs: 0 }));

/** The promise is 50 ms. It is tested by the median of some tries, because the machine may be busy. */
async function expectPrompt(leaveOnce: () => Promise<number>) {
  const took: number[] = [];
  for (let i = 0; i < 5; i++) took.push(await leaveOnce());
  took.sort((a, b) => a - b);
  expect(took[2], `of ${took.map((ms) => ms.toFixed(1))} ms`).toBeLessThan(50);
}

/** untilLeft returns how long the upstream waits to be let go after the caller has left, in milliseconds. */
async function untilLeft(call: Underway, exchange: ScriptedExchange): Promise<number> {
  const [, { runningMs }] = await timed(async () => {
    call.leave();
    await exchange.left;
  });
  return runningMs;
}

for (const [name, start] of Object.entries(doors)) {
  describe(`through ${name}`, () => {
    for (const [moment, stream] of [
      ["waits for a whole answer", false],
      ["waits for the first of a stream", true],
    ] as const) {
      test(`the upstream is let go at once when the caller leaves who ${moment}`, async () => {
        await expectPrompt(async () => {
          const call = start(gateway, stream);
          const exchange = await upstream.next();
          return untilLeft(call, exchange);
        });
      });
    }

    test("the upstream is let go at once when the caller leaves who waits for the rest of a whole answer", async () => {
      await expectPrompt(async () => {
        const call = start(gateway, false);
        const exchange = await upstream.next();
        exchange.head(200, { "content-type": "application/json" });
        await exchange.write('{"choices":[');
        return untilLeft(call, exchange);
      });
    });

    test("the upstream is let go at once when the caller leaves in the middle of a stream", async () => {
      await expectPrompt(async () => {
        const call = start(undrained.gateway, true);
        const exchange = await undrained.upstream.next();
        exchange.head(200, eventStream);
        await exchange.write(frame({ role: "assistant", content: "Hel" }));
        await call.begun;
        return untilLeft(call, exchange);
      });
    });

    test("the upstream is let go when the caller reads nothing and then leaves, and the call is logged", async () => {
      const call = start(gateway, true, false);
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      const left = exchange.left.then(() => "left" as const);
      const piece = frame({ content: "x".repeat(64 * 1024) });
      // Until nothing more is read for a while: then all stages wait for the caller. Connect's own client reads ahead without
      // bound over HTTP/1.1.
      for (let pieces = 0; pieces < 1000; pieces++) {
        if ((await Promise.race([exchange.write(piece), setTimeout(200, "stuck" as const)])) !== true) break;
      }
      call.leave();
      expect(await left).toBe("left");
      // Usage that the upstream did not report is counted first, which takes a while for so much text.
      await eventually(() => expect(callsLogged()).toBe(upstream.received.length));
    });

    test("the caller gets what the upstream says, and the upstream keeps its connection", async () => {
      for (const stream of [false, true, false, true]) {
        const call = start(gateway, stream);
        const exchange = await upstream.next();
        if (stream) {
          exchange.head(200, eventStream);
          await exchange.write(`${frame({ role: "assistant" })}${frame({}, "stop")}data: [DONE]\n\n`);
          await call.over; // The caller has its answer before HTTP has its end.
          exchange.end();
        } else {
          exchange.json(200, wholeAnswer);
          await call.over;
        }
        expect(await Promise.race([exchange.left, setTimeout(20, "kept")])).toBe("kept");
      }
    });
  });
}

function callsLogged(): number {
  return gateway.logged().split('"rpc":').length - 1;
}

describe("a caller who leaves", () => {
  test("while sending the body never reaches the upstream", async () => {
    const received = upstream.received.length;
    const socket = connect(gateway.port, "127.0.0.1");
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.apiKey}\r\ncontent-length: 1000\r\n\r\n{"mo`,
    );
    const grpc = connectHttp2(gateway.rootUrl);
    const stream = grpc.request({
      ":method": "POST",
      ":path": `/${InferenceService.typeName}/CreateChatCompletion`,
      "content-type": "application/grpc",
      authorization: `Bearer ${gateway.apiKey}`,
    });
    stream.on("error", () => {}).write(Buffer.from([0, 0, 0, 1, 0, 1]));
    await (await fetch(`${gateway.rootUrl}/healthz`)).text(); // By now the gateway has read both beginnings.
    socket.destroy();
    stream.close(8);
    await once(stream, "close");
    grpc.close();
    await expectWorks();
    expect(upstream.received.length).toBe(received + 1);
  });

  test("many times leaves nothing behind", async () => {
    const starts = Object.values(doors);
    let calls = 0;
    for (let round = 0; round < 10; round++) {
      const underway: Underway[] = [];
      for (let i = 0; i < 30; i++) underway.push((starts[calls++ % starts.length] as Start)(gateway, i % 2 === 0));
      const exchanges = await Promise.all(underway.map(() => upstream.next()));
      for (const [i, exchange] of exchanges.entries()) if (i % 3 === 0) exchange.head(200, eventStream);
      for (const call of underway) call.leave();
      await Promise.all([...exchanges.map(({ left }) => left), ...underway.map(({ over }) => over)]);
    }
    expect(calls).toBe(300);
    await eventually(() => expect(upstream.openRequests).toBe(0));
    await expectWorks();
    expect(gateway.logged()).not.toMatch(/"level":50/);
  });

  async function expectWorks() {
    const call = restHttp1(gateway, true);
    (await upstream.next()).stream(JSON.parse(frame({ role: "assistant" }, "stop").slice(6)));
    await call.begun;
    await call.over;
  }
});

/**
 * askInTime asks with longer and longer deadlines, in milliseconds, until a call has reached the upstream within its own: a busy machine
 * takes a while for that. Returns what came of that call, after the upstream was let go.
 */
async function askInTime<T>(shortestMs: number, ask: (deadlineMs: number) => Promise<T>): Promise<T> {
  const next = upstream.next();
  for (let deadlineMs = shortestMs; ; deadlineMs *= 2) {
    const outcome = ask(deadlineMs);
    const exchange = await Promise.race([next, outcome.then(() => undefined)]);
    if (exchange === undefined) continue;
    await exchange.left;
    return outcome;
  }
}

describe("a deadline", () => {
  for (const [name, transport] of [
    ["Connect", () => createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1", binaryOptions })],
    ["gRPC", () => createGrpcTransport({ baseUrl: gateway.rootUrl, binaryOptions })],
    ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1", binaryOptions })],
  ] as const) {
    for (const stream of [false, true]) {
      test(`that passes lets go of the upstream, and is told as such, through ${name}, ${stream ? "streamed" : "whole"}`, async () => {
        const client = createClient(InferenceService, transport());
        const headers = { authorization: `Bearer ${gateway.apiKey}` };
        const message = readMessage(CreateChatCompletionRequestSchema, hello as JsonObject, { lenient: false });
        const ask = async (timeoutMs: number) => {
          const options = { timeoutMs, headers };
          if (!stream) await client.createChatCompletion(message, options);
          else for await (const _ of client.streamChatCompletion(message, options));
        };
        const code = await askInTime(100, (ms) => ask(ms).catch((error) => ConnectError.from(error).code));
        expect(code).toBe(Code.DeadlineExceeded);
      });
    }
  }

  test("is told by the gateway itself where the client's own clock does not run", async () => {
    const response = await askInTime(50, (ms) =>
      fetch(`${gateway.rootUrl}/${InferenceService.typeName}/CreateChatCompletion`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${gateway.apiKey}`,
          "content-type": "application/json",
          "connect-timeout-ms": String(ms),
        },
        body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "ROLE_USER", text: "Hello" }] }),
      }),
    );
    expect(response.status).toBe(504);
    expect(await response.json()).toMatchObject({ code: "deadline_exceeded" });
  });
});

describe("an upstream that does not take the connection", () => {
  let child: ChildProcess;
  let port: number;
  const fillers: Socket[] = [];

  // A process that listens and then stands still: the system takes as many connections as its queue holds.
  const script = `
    const server = require("node:http").createServer((req, res) => { process.stdout.write("request\\n"); res.end('${JSON.stringify(wholeAnswer)}'); });
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      process.stdout.write("port " + server.address().port + "\\n");
    });`;

  beforeEach(async () => {
    child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(child.stdout as NodeJS.ReadableStream, "data");
    port = Number(String(line).slice("port ".length));
    child.kill("SIGSTOP");
    for (let connected = true; connected; ) {
      const filler = connect(port, "127.0.0.1").on("error", () => {});
      fillers.push(filler);
      connected = await Promise.race([once(filler, "connect").then(() => true), setTimeout(200, false)]);
    }
  });

  afterEach(() => {
    for (const filler of fillers.splice(0)) filler.destroy();
    child.kill("SIGKILL");
  });

  test("is never sent the request of a caller who has left meanwhile", async () => {
    const slow = await startTestGateway({ ...upstreamAt(`http://127.0.0.1:${port}/v1`), keepAliveMs: 20 });
    let requests = 0;
    child.stdout?.on("data", (text) => (requests += String(text).split("request").length - 1));

    const call = restHttp1(slow, true);
    await call.begun; // The first keep-alive comment: the call waits for its upstream.
    call.leave();
    await eventually(() => expect(slow.logged()).toContain('"reason":"CANCELLED"'));

    for (const filler of fillers) filler.destroy();
    child.kill("SIGCONT");
    const response = await fetch(`${slow.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${slow.apiKey}` },
      body: JSON.stringify(hello),
    });
    expect(response.status).toBe(200);
    await eventually(() => expect(requests).toBe(1));
    await slow.close();
    expect(requests).toBe(1);
  });
});
