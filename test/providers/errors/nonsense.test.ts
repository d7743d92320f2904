/**
 * Unexpected input from either side: an upstream's answer with members of other types, a caller's request with names
 * that every object has. Neither becomes an internal error, and an internal error is logged once.
 */
import { connect } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { type Handler, here, operatorCaller } from "../../../src/call/call.ts";
import { createInflate } from "../../../src/doors/body/inflate.ts";
import { createDispatch } from "../../../src/doors/dispatch.ts";
import { type Listener, listen } from "../../../src/doors/listener/listen.ts";
import { createCors } from "../../../src/doors/rest/cors.ts";
import { createRestDoor } from "../../../src/doors/rest/rest.ts";
import { compileRoutes } from "../../../src/doors/rest/routes.ts";
import { createReadiness } from "../../../src/doors/rpc/health.ts";
import { createRpcDoor } from "../../../src/doors/rpc/rpc.ts";
import { createAddresses } from "../../../src/doors/site/addresses.ts";
import { observe } from "../../../src/pipeline/observe.ts";
import { createCallLog } from "../../../src/telemetry/log.ts";
import { dataFrame } from "../../../src/wire/sse.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { enveloped, overGrpc, overHttp } from "../../fuzz/doors.ts";
import { fuzzAnswers } from "../../fuzz/targets/answers.ts";
import { eventually } from "../../support/eventually.ts";
import { anthropicUpstreamAt, withEmbeddings } from "../../support/gateway.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { unboundedBodies } from "../../support/unbounded-body.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { messageStart } from "../../support/vendors.ts";

const inherited = ["constructor", "toString", "valueOf", "__proto__", "hasOwnProperty", "__defineGetter__"];

describe("an Anthropic upstream", () => {
  const { upstream, gateway } = scriptedStage((baseUrl) => withEmbeddings(anthropicUpstreamAt(baseUrl)));

  /** Returns the raw answer: an HTTP client would not distinguish a broken status line from a broken connection. */
  function raw(path: string, stream = false): Promise<string> {
    const body = JSON.stringify({
      model: "embedded-chat",
      max_tokens: 5,
      stream,
      messages: [{ role: "user", content: "x" }],
    });
    return new Promise((resolve) => {
      const socket = connect(gateway.port, "127.0.0.1");
      let text = "";
      socket.setEncoding("latin1").on("data", (piece: string) => {
        text += piece;
        if (/\r\n\r\n.*(?:\}|\n0\r\n.*\r\n\r\n)$/s.test(text)) socket.destroy();
      });
      socket.once("close", () => resolve(text));
      const head = `POST ${path} HTTP/1.1\r\nhost: h\r\nx-api-key: ${gateway.apiKey}\r\ncontent-length: ${body.length}`;
      socket.write(`${head}\r\n\r\n${body}`);
    });
  }

  const kinds = inherited.flatMap((type) => [400, 500, 200].map((status) => [type, status] as const));
  test.each(kinds)("whose error has the type %s, with status %d, becomes a valid status", async (type, status) => {
    upstream.script = (exchange) => exchange.json(status, { type: "error", error: { type, message: "m" } });
    for (const path of ["/v1/messages", "/v1/chat/completions"]) {
      const [line] = (await raw(path)).split("\r\n");
      expect(line).toBe(status === 400 ? "HTTP/1.1 400 Bad Request" : "HTTP/1.1 502 Bad Gateway");
    }
  });

  test.each(["error.type", "error.message", "error", "type"])(
    "whose error has no string as its %s becomes 502 or its own status",
    async (at) => {
      for (const odd of [{ toString: 1 }, { toString: 1, valueOf: null }, null, [], 7]) {
        for (const type of ["not_found_error", "invalid_request_error"]) {
          const body: Record<string, unknown> = { type: "error", error: { type, message: "m" } };
          if (at === "error" || at === "type") body[at] = odd;
          else (body.error as Record<string, unknown>)[at.slice(6)] = odd;
          upstream.script = (exchange) => exchange.json(400, body);
          for (const path of ["/v1/messages", "/v1/chat/completions"]) {
            expect((await raw(path)).split("\r\n")[0]).toMatch(
              /^HTTP\/1\.1 (?:400 Bad Request|404 Not Found|502 Bad Gateway)$/,
            );
          }
        }
      }
    },
  );

  test("that sends an event whose type is no string is passed on as it came, with what follows", async () => {
    const odd = { type: { toString: 1 }, index: 0 };
    const events = [messageStart(), odd, { type: "message_stop" }];
    upstream.script = (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(Buffer.concat(events.map((event) => dataFrame(Buffer.from(JSON.stringify(event))))));
    };
    const told = await raw("/v1/messages", true);
    expect(told).toContain(`\ndata: ${JSON.stringify(odd)}\n`);
    expect(told).toContain("event: message_stop");
    expect(told).not.toContain("event: error");
  });

  test("has its time-outs from the caller, under no name that every object has", async () => {
    upstream.script = (exchange) => exchange.json(200, {});
    for (const name of inherited) {
      const answer = await ask("/chat/completions", {}, { "x-gateway-timeout": `${name}=5` });
      expect(answer.status, name).toBe(400);
    }
  });

  function ask(path: string, more: object, headers: Record<string, string> = {}): Promise<Response> {
    const body = { model: "embedded-chat", messages: [{ role: "user", content: "x" }], ...more };
    const all = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json", ...headers };
    return fetch(`${gateway.baseUrl}${path}`, { method: "POST", headers: all, body: JSON.stringify(body) });
  }

  const noLists: readonly unknown[] = ["embedded-chat", { toString: 1 }, 5, true, [5], [null], {}];
  test.each(noLists.map((models) => [models]))("is not called where `models` is %j", async (models) => {
    const asked = [
      ["/chat/completions", {}],
      ["/messages", { max_tokens: 5 }],
      ["/messages/count_tokens", {}],
      ["/completions", { prompt: "x" }],
      ["/responses", { input: "x" }],
      ["/embeddings", { model: "embedded-embedding", input: "x" }],
    ] as const;
    for (const [path, more] of asked) {
      const answer = await ask(path, { ...more, models });
      expect(answer.status, path).toBe(400);
      expect(await answer.text(), path).toContain("models");
    }
  });
});

describe("an internal error", () => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const services = [InferenceService];
  const path = `/${InferenceService.typeName}`;
  let listener: Listener;

  /** The gateway behind the doors: it answers in the wrong form, or breaks in the middle of a stream. */
  const handle: Handler = ({ method, request }) => {
    const { model } = request.json();
    const piece = Wire.ofJson(method.output, {});
    if (model === "thrown") throw new TypeError("a bug");
    if (model === "broken") return { kind: "stream", frames: breaking(piece) };
    const isStream = method.methodKind === "server_streaming";
    return isStream ? { kind: "whole", body: piece } : { kind: "stream", frames: breaking(piece) };
  };

  async function* breaking(piece: Wire) {
    yield [piece];
    throw new TypeError("a bug");
  }

  beforeAll(async () => {
    const admit = () => ({ caller: operatorCaller, headers: {} });
    const way = observe({ admit, handle }, { observers: [createCallLog(log)], clock: Date.now });
    const readiness = createReadiness();
    const limits = { maxBytes: 10_000, timeoutMs: 5_000 };
    const [bodies, inflate] = [unboundedBodies, createInflate()];
    const doors = createDispatch({
      routes: compileRoutes(services),
      rest: createRestDoor({
        ...{ gateway: way, bodies, inflate, body: limits },
        keepAliveMs: 5_000,
        peerOf: () => here,
      }),
      rpc: createRpcDoor({
        ...{ bodies, inflate },
        ...{ gateway: way, services, open: [], maxBytes: limits.maxBytes, bodyTimeoutMs: limits.timeoutMs },
        ...{ draining: readiness.draining, peerOf: () => here },
      }),
      readiness,
      addresses: createAddresses({ settings: () => ({ publicUrls: {} }), trustedProxies: [] }),
      sites: [],
      cors: createCors([]),
      bodyTimeoutMs: limits.timeoutMs,
      newRequestId: () => "req_1",
      log,
    });
    listener = await listen({ host: "127.0.0.1", port: 0, ...doors, rejectionBody: () => Buffer.alloc(0) });
  });

  afterAll(() => listener.close(0));

  /** Each door, unary and streamed; the answer contains the words. */
  const doors: Readonly<Record<string, (request: object, stream: boolean) => Promise<{ readonly text: string }>>> = {
    REST: (request, stream) =>
      post("/v1/chat/completions", "application/json", Buffer.from(JSON.stringify({ ...request, stream }))),
    Connect: (request, stream) => {
      const bytes = Buffer.from(JSON.stringify(request));
      const type = stream ? "application/connect+json" : "application/json";
      return post(rpcOf(stream), type, stream ? enveloped(bytes) : bytes);
    },
    "gRPC-Web": (request, stream) => post(rpcOf(stream), "application/grpc-web+proto", enveloped(binary(request))),
    gRPC: (request, stream) => {
      const headers = { "content-type": "application/grpc" };
      return overGrpc(`http://127.0.0.1:${listener.port}`, rpcOf(stream), headers, enveloped(binary(request)));
    },
  };
  const rpcOf = (stream: boolean) => `${path}/${stream ? "StreamChatCompletion" : "CreateChatCompletion"}`;
  const binary = (request: object) =>
    toBinary(CreateChatCompletionRequestSchema, create(CreateChatCompletionRequestSchema, request));
  const post = (path: string, type: string, body: Uint8Array) => {
    const init = { method: "POST", headers: { "content-type": type }, body: Buffer.from(body) };
    return overHttp(`http://127.0.0.1:${listener.port}${path}`, init);
  };

  const cases = Object.entries(doors).flatMap(([name, ask]) =>
    [
      ["thrown", false],
      ["thrown", true],
      ["broken", true],
      ["of the other form", false],
      ["of the other form", true],
    ].map(([model, stream]) => [name, String(model), stream === true, ask] as const),
  );
  test.each(cases)(
    "that reaches a caller through %s, %s, of a stream (%s), is logged once, with the request's id",
    async (_, model, stream, ask) => {
      lines.length = 0;
      const { text } = await ask({ model }, stream);
      expect(text).toMatch(/The gateway had an error|The%20gateway%20had%20an%20error/);
      await eventually(() => expect(lines.length).toBeGreaterThan(0));
      await new Promise((resolve) => setImmediate(resolve));
      const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50);
      expect(errors).toMatchObject([{ request_id: "req_1", reason: "INTERNAL", status: 500 }]);
    },
  );
});

test("none of six hundred nearly valid answers and requests becomes an internal error", async () => {
  await expect(fuzzAnswers({ seed: 1, cases: 600, seconds: 60 })).resolves.toBeUndefined();
});
