/**
 * What the gateway refuses and how. Nothing that was sent is logged, and the next call is answered.
 */
import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema, Role } from "../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { eventually } from "../support/eventually.ts";
import { now, startTestGateway, type TestGateway } from "../support/gateway.ts";

/** Stands wherever a client may write something private. No log line may hold it. */
const marker = "PRIVATE-7f3a";
const chatPath = "/v1/chat/completions";
const json = { "content-type": "application/json" };

interface Sent {
  readonly method?: string;
  readonly path?: string;
  /** The test's key, unless `authorization` is among the headers; none where that is empty. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly agent?: Agent;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly reused: boolean;
}

function open({ port, apiKey }: TestGateway, sent: Sent): ClientRequest {
  const headers: Record<string, string> = { authorization: `Bearer ${apiKey}`, ...sent.headers };
  if (headers.authorization === "") delete headers.authorization;
  return request({
    port,
    method: sent.method ?? "POST",
    path: sent.path ?? chatPath,
    headers,
    agent: sent.agent ?? false,
  });
}

async function answerOf(req: ClientRequest): Promise<Answer> {
  const [res] = (await once(req, "response")) as [IncomingMessage];
  const body = Buffer.concat(await res.toArray()).toString();
  return { status: res.statusCode ?? 0, headers: res.headers, body, reused: req.reusedSocket };
}

async function send(gateway: TestGateway, sent: Sent): Promise<Answer> {
  const req = open(gateway, sent);
  const answer = answerOf(req);
  const sentAll = once(req, "close");
  req.end(sent.body);
  await sentAll;
  return answer;
}

function chat(changes: object = {}): string {
  return JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: `Say ${marker}` }], ...changes });
}

interface Expected {
  readonly status: number;
  readonly code: string | null;
  readonly param?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

const malformed: Expected = { status: 400, code: null };
const wrongType = (param: string): Expected => ({ status: 400, code: "invalid_type", param });
const wrongValue = (param: string): Expected => ({ status: 400, code: "invalid_value", param });
const noKey: Expected = { status: 401, code: "invalid_api_key", headers: { "www-authenticate": "Bearer" } };
const wrongMedia: Expected = { status: 415, code: "unsupported_media_type" };
const unknownUrl: Expected = { status: 404, code: "unknown_url" };
const wrongMethod: Expected = { status: 405, code: "method_not_supported", headers: { allow: "POST" } };

function expectRefusal(answer: Answer, { status, code, param = null, headers = {} }: Expected) {
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
  const { error } = JSON.parse(answer.body);
  expect(error).toEqual({ message: expect.any(String), type: "invalid_request_error", param, code });
  expect(error.message.length).toBeGreaterThan(20);
  expect(answer.headers).toMatchObject({
    "content-type": "application/json",
    "x-request-id": expect.stringMatching(/^req_\w{25}$/),
    ...headers,
  });
}

/** Whatever was refused: nothing of it is in the log, and the gateway works on. */
async function expectUnharmed(gateway: TestGateway) {
  expect(gateway.logged()).not.toContain(marker);
  expect((await send(gateway, { headers: json, body: chat() })).status).toBe(200);
}

const wide = 20 * 1024 * 1024;
const wideBody = Buffer.alloc(wide, `{"model":"${marker}"}`);

describe("REST", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });

  afterAll(() => gateway.close());

  const bodies: Record<string, readonly [body: string | Buffer, expected: Expected]> = {
    "a body that is no JSON": [`{"model": ${marker}`, malformed],
    "a body cut short": [chat().slice(0, -1), malformed],
    "two JSON objects": [`${chat()}${chat()}`, malformed],
    "a list instead of an object": [`["${marker}"]`, malformed],
    "a text instead of an object": [`"${marker}"`, malformed],
    "null instead of an object": ["null", malformed],
    "a number instead of an object": ["1", malformed],
    "bytes that are no UTF-8": [Buffer.from(chat().replace("Say", "\xff\xfe"), "latin1"), malformed],
    "millions of opening brackets": ["[".repeat(7_000_000), malformed],
    "more lists than any model could read": [
      chat({ top: 0 }).replace('"top":0', `"top":[${"[],".repeat(600_000)}[]]`),
      malformed,
    ],
    "a body with nothing in it": ["", { status: 400, code: "missing_required_parameter", param: "model" }],
    "an empty object": ["{}", { status: 400, code: "missing_required_parameter", param: "model" }],
    "a number as model": [chat({ model: 1 }), wrongType("model")],
    "a text as messages": [chat({ messages: marker }), wrongType("messages")],
    "a text as message": [chat({ messages: [marker] }), wrongType("messages[0]")],
    "a number as role": [chat({ messages: [{ role: 1, content: marker }] }), wrongType("messages[0].role")],
    "a number as content": [chat({ messages: [{ role: "user", content: 1 }] }), wrongType("messages[0].content")],
    "a number as the text of a part": [
      chat({ messages: [{ role: "user", content: [{ type: "text", text: 1 }] }] }),
      wrongType("messages[0].content[0].text"),
    ],
    "a text as stream": [chat({ stream: "true" }), wrongType("stream")],
    "a text as temperature": [chat({ temperature: "1" }), wrongType("temperature")],
    "a fraction as max_tokens": [chat({ max_tokens: 1.5 }), wrongValue("max_tokens")],
    "a negative number as max_tokens": [chat({ max_tokens: -2 }), wrongValue("max_tokens")],
    "a number beyond every bound": [chat({ temperature: 0 }).replace(":0", ":1e999"), wrongType("temperature")],
    "an unknown role": [
      chat({ messages: [{ role: marker, content: "hi" }] }),
      { status: 400, code: "invalid_value", param: "messages[0].role" },
    ],
    "the key __proto__ at the top": [chat().replace("{", '{"__proto__":{"model":"x"},'), wrongType("__proto__")],
    "the key __proto__ further down": [
      chat({ top: { X: 1 } }).replace('"X"', '"__proto__"'),
      wrongType("top.__proto__"),
    ],
    "lists nested 200,000 deep, where no schema looks": [
      chat({ top: 0 }).replace('"top":0', `"top":${"[".repeat(200_000)}${"]".repeat(200_000)}`),
      malformed,
    ],
    "objects nested 200,000 deep, where a text belongs": [
      chat({ model: 0 }).replace('"model":0', `"model":${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`),
      malformed,
    ],
    "lists nested 200,000 deep and nothing else": ["[".repeat(200_000), malformed],
    "an unknown model": [chat({ model: marker }), { status: 404, code: "model_not_found", param: "model" }],
    "no model": [chat({ model: undefined }), { status: 400, code: "missing_required_parameter", param: "model" }],
    "no messages": [
      chat({ messages: undefined }),
      { status: 400, code: "missing_required_parameter", param: "messages" },
    ],
    "a temperature out of bounds": [
      chat({ temperature: 3 }),
      { status: 400, code: "invalid_value", param: "temperature" },
    ],
  };

  for (const [name, [body, expected]] of Object.entries(bodies)) {
    test(`refuses ${name}`, async () => {
      expectRefusal(await send(gateway, { headers: json, body }), expected);
      await expectUnharmed(gateway);
    });
  }

  const callers: Record<string, readonly [headers: Record<string, string>, expected: Expected]> = {
    "no key": [{ authorization: "" }, noKey],
    "an empty key": [{ authorization: "Bearer " }, noKey],
    "an unknown key": [{ authorization: `Bearer sk-${marker}` }, noKey],
    "an unknown bare key": [{ authorization: `sk-${marker}` }, noKey],
    "an unknown x-api-key": [{ authorization: "", "x-api-key": `sk-${marker}` }, noKey],
    "the Basic scheme": [{ authorization: `Basic ${Buffer.from(`user:${marker}`).toString("base64")}` }, noKey],
  };

  for (const [name, [headers, expected]] of Object.entries(callers)) {
    test(`refuses ${name}`, async () => {
      expectRefusal(await send(gateway, { headers: { ...json, ...headers }, body: chat() }), expected);
      expect(gateway.logged()).not.toContain(Buffer.from(`user:${marker}`).toString("base64"));
      await expectUnharmed(gateway);
    });
  }

  test("refuses the right key under the Basic scheme", async () => {
    const basic = Buffer.from(`${gateway.apiKey}:`).toString("base64");
    expectRefusal(await send(gateway, { headers: { authorization: `Basic ${basic}` }, body: chat() }), noKey);
  });

  test("refuses a key from the first call after its revocation", async () => {
    const { storage, accountId } = gateway;
    const { key, secret } = await issueKey(storage.keys, { accountId, name: "short-lived", admin: false, now });
    const headers = { ...json, authorization: `Bearer ${secret}` };
    expect((await send(gateway, { headers, body: chat() })).status).toBe(200);
    await storage.keys.revoke(key.id, now);
    expectRefusal(await send(gateway, { headers, body: chat() }), noKey);
    expect(gateway.logged()).not.toContain(secret);
    await expectUnharmed(gateway);
  });

  test("authenticates before it reads the body", async () => {
    const req = open(gateway, { headers: { authorization: "Bearer sk-unknown", "content-length": "1000" } });
    req.flushHeaders(); // The body never comes.
    expectRefusal(await answerOf(req), noKey);
    req.destroy();
  });

  const noModel = { status: 400, code: "missing_required_parameter", param: "model" };
  const types: Record<string, readonly [headers: Record<string, string>, body: string, expected: Expected]> = {
    "a multipart form that is none": [
      { "content-type": "multipart/form-data; boundary=x" },
      `--x\r\n\r\n${marker}`,
      { status: 400, code: null },
    ],
    XML: [{ "content-type": "application/xml" }, `<${marker}/>`, wrongMedia],
    "JSON that calls itself XML": [{ "content-type": "text/xml" }, chat(), wrongMedia],
    "text that is a form without what is needed": [{ "content-type": "text/plain" }, marker, noModel],
    "bytes without a type that are such a form": [{}, marker, noModel],
    "a body in a coding that is not read": [{ ...json, "content-encoding": "compress" }, chat(), wrongMedia],
    "a body that is not compressed as it says": [
      { ...json, "content-encoding": "gzip" },
      chat(),
      { status: 400, code: null },
    ],
  };

  for (const [name, [headers, body, expected]] of Object.entries(types)) {
    test(`refuses ${name}`, async () => {
      expectRefusal(await send(gateway, { headers, body }), expected);
      await expectUnharmed(gateway);
    });
  }

  const accepted: Record<string, Record<string, string>> = {
    "JSON with a charset": { "content-type": "Application/JSON; charset=utf-8" },
    "a JSON type of a vendor's": { "content-type": "application/vnd.x+json" },
    "JSON under the form type, as curl -d sends it": { "content-type": "application/x-www-form-urlencoded" },
    "JSON under the text type": { "content-type": "text/plain;charset=UTF-8" },
    "JSON without a type": {},
  };

  for (const [name, headers] of Object.entries(accepted)) {
    test(`takes ${name}`, async () => {
      expect((await send(gateway, { headers, body: `\n ${chat()}` })).status).toBe(200);
    });
  }

  const places: Record<string, readonly [method: string, path: string, expected: Expected]> = {
    "an unknown path at the root": ["POST", `/${marker}`, unknownUrl],
    "an unknown path under /v1": ["POST", `/v1/${marker}`, unknownUrl],
    "an unknown path that is read": ["GET", "/_stainless_unknown_path", unknownUrl],
    "a path with a word too many": ["POST", `${chatPath}/more`, unknownUrl],
    "a path that leads out and in": ["POST", `/x/..${chatPath}`, unknownUrl],
    "a path that is no UTF-8": ["POST", "/v1/%ff%00", unknownUrl],
    "a method that is not served": ["GET", chatPath, wrongMethod],
    "another method that is not served": ["DELETE", `${chatPath}?q=${marker}`, wrongMethod],
    "a method that probes do not know": ["POST", "/healthz", { ...wrongMethod, headers: { allow: "GET, HEAD" } }],
  };

  for (const [name, [method, path, expected]] of Object.entries(places)) {
    test(`refuses ${name}`, async () => {
      expectRefusal(await send(gateway, { method, path }), expected);
      await expectUnharmed(gateway);
    });
  }

  test("ignores unknown queries", async () => {
    expect((await send(gateway, { path: `${chatPath}?beta=true&x=%ff`, body: chat() })).status).toBe(200);
    expect(
      (await send(gateway, { method: "GET", path: "/readyz?verbose", headers: { authorization: "" } })).status,
    ).toBe(200);
  });

  for (const [name, headers] of [
    ["that announces its length", { "content-length": String(wide) }],
    ["sent in chunks", { "transfer-encoding": "chunked" }],
  ] as const) {
    test(`refuses a body of 20 MiB ${name}, and keeps the connection`, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const sent = { agent, headers: { ...json, ...headers }, body: wideBody };
      expectRefusal(await send(gateway, sent), { status: 413, code: "request_too_large" });
      const next = await send(gateway, { agent, body: chat() });
      expect(next).toMatchObject({ status: 200, reused: true });
      agent.destroy();
      await expectUnharmed(gateway);
    });
  }

  test("refuses a body of 20 MiB over HTTP/2, and keeps the connection", async () => {
    const session = connectHttp2(gateway.rootUrl);
    const headers = { ":method": "POST", ":path": chatPath, authorization: `Bearer ${gateway.apiKey}`, ...json };
    const call = async (body: Buffer) => {
      const stream = session.request(headers);
      stream.on("error", () => {}); // The rest of a refused body may be cut.
      stream.end(body);
      const [{ ":status": status, ...headersBack }] = await once(stream, "response");
      return { status, headers: headersBack, body: Buffer.concat(await stream.toArray()).toString(), reused: true };
    };
    expectRefusal(await call(wideBody), { status: 413, code: "request_too_large" });
    expect((await call(Buffer.from(chat()))).status).toBe(200);
    session.destroy();
  });

  test("does not wait for a body that it refuses by its announced length", async () => {
    const req = open(gateway, { headers: { "content-length": String(wide) } });
    req.flushHeaders();
    expectRefusal(await answerOf(req), { status: 413, code: "request_too_large" });
    req.destroy();
  });
});

describe("limits", () => {
  let gateway: TestGateway;

  afterEach(() => gateway.close());

  test("takes a body of 20 MiB where the limit was raised", async () => {
    gateway = await startTestGateway({ maxBodyBytes: 24 * 1024 * 1024 });
    const answer = await send(gateway, { headers: json, body: chat({ padding: "x".repeat(wide) }) });
    expect(answer.status).toBe(200);
  });

  test("takes a body of exactly the limit, and refuses one byte more", async () => {
    gateway = await startTestGateway({ maxBodyBytes: 1000 });
    const padded = (bytes: number) => chat({ padding: "x".repeat(bytes - chat({ padding: "" }).length) });
    expect((await send(gateway, { headers: json, body: padded(1000) })).status).toBe(200);
    for (const headers of [json, { ...json, "transfer-encoding": "chunked" }]) {
      expectRefusal(await send(gateway, { headers, body: padded(1001) }), { status: 413, code: "request_too_large" });
    }
  });

  /** Sends a head and a part of a body on a connection to be kept, and returns all that comes until it closes. */
  async function unfinished(head: readonly string[], part = ""): Promise<Answer> {
    const socket = connect(gateway.port, "127.0.0.1");
    socket.write([`POST ${chatPath} HTTP/1.1`, "host: x", ...head, "", part].join("\r\n"));
    const [, status = "", headers = "", body = ""] =
      /^HTTP\/1\.1 (\d+) [^\r]*\r\n(.*?)\r\n\r\n(.*)$/s.exec(Buffer.concat(await socket.toArray()).toString()) ?? [];
    const pairs = headers.split("\r\n").map((line) => line.split(": ") as [string, string]);
    return { status: Number(status), headers: Object.fromEntries(pairs), body, reused: false };
  }

  test("refuses a body that does not arrive in time, and closes its connection", async () => {
    gateway = await startTestGateway({ bodyTimeoutMs: 50 });
    const head = [`authorization: Bearer ${gateway.apiKey}`, "content-length: 1000"];
    expectRefusal(await unfinished(head, `{"x":"${marker}`), { status: 408, code: "timeout" });
    await expectUnharmed(gateway);
  });

  test("does not wait for ever for the rest of a refused body", async () => {
    gateway = await startTestGateway({ bodyTimeoutMs: 50 });
    const key = `authorization: Bearer ${gateway.apiKey}`;
    expectRefusal(await unfinished(["content-length: 9"]), noKey);
    expectRefusal(await unfinished([key, `content-length: ${wide}`]), { status: 413, code: "request_too_large" });
    await expectUnharmed(gateway);
  });
});

describe("RPC", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway({ maxBodyBytes: 100_000 });
  });

  afterAll(() => gateway.close());

  const transports: Record<string, () => Transport> = {
    Connect: () => createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" }),
    gRPC: () => createGrpcTransport({ baseUrl: gateway.rootUrl }),
    "gRPC-Web": () => createGrpcWebTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" }),
  };

  async function codeOf(call: Promise<unknown>): Promise<Code | undefined> {
    try {
      await call;
      return undefined;
    } catch (error) {
      return ConnectError.from(error).code;
    }
  }

  const schema = CreateChatCompletionRequestSchema;
  const hello = { model: "embedded-chat", messages: [{ role: Role.USER }] };

  for (const [name, transport] of Object.entries(transports)) {
    const options = () => ({ headers: { authorization: `Bearer ${gateway.apiKey}` } });

    test(`refuses a message over the limit through ${name}`, async () => {
      const client = createClient(InferenceService, transport());
      const request = create(schema, { ...hello, user: marker.repeat(20_000) });
      expect(await codeOf(client.createChatCompletion(request, options()))).toBe(Code.ResourceExhausted);
      expect(gateway.logged()).not.toContain(marker);
    });

    test(`says that an unknown RPC is not implemented through ${name}`, async () => {
      const method = { ...InferenceService.method.createChatCompletion, name: `Create${marker}` };
      const call = transport().unary(method, undefined, undefined, options().headers, create(schema, hello));
      expect(await codeOf(call)).toBe(Code.Unimplemented);
      expect(gateway.logged()).not.toContain(marker);
    });

    test(`refuses an unknown key before the message is read through ${name}`, async () => {
      const client = createClient(InferenceService, transport());
      const request = create(schema, { ...hello, user: marker.repeat(20_000) });
      const headers = { authorization: `Bearer sk-${marker}` };
      expect(await codeOf(client.createChatCompletion(request, { headers }))).toBe(Code.Unauthenticated);
      expect(gateway.logged()).not.toContain(marker);
    });
  }

  const rpcPath = `/${InferenceService.typeName}/CreateChatCompletion`;
  const garbage = Buffer.from(`\xff\xff${marker}`, "latin1");
  const enveloped = Buffer.concat([Buffer.from([0, 0, 0, 0, garbage.length]), garbage]);

  // gRPC's own table of codes has INTERNAL for a request that cannot be parsed, but it is the caller's mistake by any door.
  test("refuses garbage instead of a message through Connect", async () => {
    for (const [type, status, code] of [
      ["application/proto", 400, "invalid_argument"],
      ["application/json", 400, "invalid_argument"],
    ] as const) {
      const answer = await send(gateway, { path: rpcPath, headers: { "content-type": type }, body: garbage });
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.body)).toMatchObject({ code });
      expect(answer.headers["x-request-id"]).toMatch(/^req_/);
    }
    await expectUnharmed(gateway);
  });

  test("refuses garbage instead of a message through gRPC-Web", async () => {
    const headers = { "content-type": "application/grpc-web+proto" };
    const answer = await send(gateway, { path: rpcPath, headers, body: enveloped });
    const status = answer.headers["grpc-status"] ?? /grpc-status: (\d+)/i.exec(answer.body)?.[1];
    expect(Number(status)).toBe(Code.InvalidArgument);
    await expectUnharmed(gateway);
  });

  async function grpcStatus(body: Buffer, headers: Record<string, string> = {}): Promise<number> {
    const session = connectHttp2(gateway.rootUrl);
    const stream = session.request({
      ":method": "POST",
      ":path": rpcPath,
      "content-type": "application/grpc+proto",
      te: "trailers",
      authorization: `Bearer ${gateway.apiKey}`,
      ...headers,
    });
    let status: unknown;
    stream.on("response", (headers) => (status ??= headers["grpc-status"]));
    stream.on("trailers", (trailers) => (status ??= trailers["grpc-status"]));
    stream.resume().end(body);
    await once(stream, "close");
    session.destroy();
    return Number(status);
  }

  const whole = Buffer.from([0, 0, 0, 0, 0]);
  const byGrpc: Record<string, readonly [body: Buffer, code: Code, headers?: Record<string, string>]> = {
    garbage: [enveloped, Code.InvalidArgument],
    "no message": [Buffer.alloc(0), Code.Unimplemented],
    "half a length": [whole.subarray(0, 3), Code.InvalidArgument],
    "half a message": [enveloped.subarray(0, -1), Code.InvalidArgument],
    "several messages": [Buffer.concat([whole, whole]), Code.Unimplemented],
    "a message that is compressed by nobody knows what": [Buffer.from([1, 0, 0, 0, 0]), Code.Internal],
    "a message in a coding that nobody knows": [whole, Code.Unimplemented, { "grpc-encoding": "canary" }],
    "a deadline that is none": [whole, Code.InvalidArgument, { "grpc-timeout": "soon" }],
  };

  test.each(Object.entries(byGrpc))("refuses %s through gRPC, and logs it", async (_, [body, code, headers]) => {
    const before = gateway.logged().length;
    expect(await grpcStatus(body, headers)).toBe(code);
    await eventually(() => expect(gateway.logged().slice(before)).toContain('"reason":"MALFORMED_BODY"'));
    await expectUnharmed(gateway);
  });

  test("says through gRPC which content types an RPC takes", async () => {
    const answer = await send(gateway, { path: rpcPath, headers: { "content-type": "text/html" }, body: marker });
    expect(answer.status).toBe(415);
    await expectUnharmed(gateway);
  });
});
