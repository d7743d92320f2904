/**
 * What the doors add to calls: key management's envelope, the headers that an admitted caller gets however its call ends, and
 * refusals in the form of their path's family.
 */
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { create, type DescMethod, type JsonObject } from "@bufbuild/protobuf";
import { type CallOptions, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import { ErrorDetailSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService, ListKeysResponseSchema } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { type Answer, type Call, type Frames, type Gateway, here, nobody } from "../../../src/call/call.ts";
import { newCallRecord } from "../../../src/call/call-record.ts";
import * as errors from "../../../src/call/refusals.ts";
import { createInflate } from "../../../src/doors/body/inflate.ts";
import { createDispatch } from "../../../src/doors/dispatch.ts";
import { type Listener, listen } from "../../../src/doors/listener/listen.ts";
import { createCors } from "../../../src/doors/rest/cors.ts";
import { refusalAnswer, refusalFrame } from "../../../src/doors/rest/refusal-answers.ts";
import { createRestDoor } from "../../../src/doors/rest/rest.ts";
import { compileRoutes } from "../../../src/doors/rest/routes.ts";
import { createReadiness } from "../../../src/doors/rpc/health.ts";
import { createRpcDoor } from "../../../src/doors/rpc/rpc.ts";
import { createAddresses } from "../../../src/doors/site/addresses.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { unboundedBodies } from "../../support/unbounded-body.ts";

/** What an admitted caller is told. */
const told = { "x-ratelimit-remaining-requests": "59", "x-gateway-credit-remaining": "9.50" };

const services = [KeyService, UsageService, InferenceService];

/** Answers that stand for the gateway behind the doors. The models and names that requests carry choose among them. */
const answers: Readonly<Record<string, (call: Call) => Answer | Promise<Answer>>> = {
  ListKeys: ({ request }) => {
    const { pageSize } = request.message() as unknown as { readonly pageSize?: number };
    const keys = [{ id: "key_1", creditLimit: 5_000_000n }];
    const nextPageToken = pageSize === 1 ? "more" : undefined;
    const message = create(ListKeysResponseSchema, { keys, ...(nextPageToken ? { nextPageToken } : {}) });
    return whole(Wire.ofMessage(ListKeysResponseSchema, message));
  },
  CreateKey: ({ method, request: asked }) => {
    const { name } = asked.json();
    if (name === "one too many") throw errors.conflict("KEYS_FULL", { most: "5000" });
    if (name === "repeated") throw errors.idempotencyConflict();
    return whole(Wire.ofJson(method.output, { key: { id: "key_2", name: String(name), secret: "sk-x" } }));
  },
  UpdateKey: ({ method, request: asked }) => {
    asked.message();
    return whole(Wire.ofJson(method.output, {}));
  },
  DeleteKey: ({ request: asked }) => {
    throw errors.resourceNotFound("key", String(asked.json().id));
  },
  DescribeKey: ({ method }) => whole(Wire.ofJson(method.output, { tier: "Free" })),
  ExportRequests: ({ method, request: asked }) => {
    const { model } = asked.json();
    const pieces: JsonObject[] = [{ content_type: "text/csv; charset=utf-8", csv: base64("id\r\n") }];
    if (model !== "none") pieces.push({ csv: base64("req_1\r\n") });
    return streamed(method, pieces, model === "broken" ? errors.internal(new Error("broken")) : undefined);
  },
  CreateChatCompletion: () => {
    throw errors.insufficientCredit("limit", "0.50", "0.25");
  },
  StreamChatCompletion: ({ method, request: asked }) => {
    const { model } = asked.json();
    if (model === "poor") throw errors.insufficientCredit("balance", "0.50", "0.25");
    const breaks = model === "breaks" ? errors.upstreamFailed("it broke off") : undefined;
    return streamed(
      method,
      [{ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [] }],
      breaks,
    );
  },
};

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function whole(body: Wire): Answer {
  return { kind: "whole", body, headers: { "x-gateway-cost": "0.10" } };
}

function streamed(method: DescMethod, pieces: readonly JsonObject[], failure?: Error): Answer {
  let cost = "none yet";
  const frames = async function* (): Frames {
    for (const piece of pieces) yield [Wire.ofJson(method.output, piece)];
    if (failure) throw failure;
    cost = "0.20";
  };
  return { kind: "stream", frames: frames(), trailers: () => ({ "x-gateway-cost": cost }) };
}

const abandoned: string[] = [];

const way: Gateway = {
  async admit({ header }) {
    const credential = header("authorization");
    if (credential === undefined) throw errors.missingApiKey();
    if (credential === "Bearer hasty")
      throw errors.rateLimited("60 requests a minute", 900, { "x-ratelimit-remaining-requests": "0" });
    if (credential === "Bearer plain") throw errors.permissionDenied("an API key with administrator privilege");
    const caller = { ...nobody, rights: "admin", accountId: "acc_1", keyId: "key_1" } as const;
    return { caller, headers: told };
  },
  async handle(call) {
    const answer = answers[call.method.name];
    if (!answer) throw errors.internal(new Error(`no answer of ${call.method.name}`));
    return answer({ ...call, record: newCallRecord() });
  },
  abandon: (_, caller) => void abandoned.push(caller.keyId),
};

let listener: Listener;

beforeAll(async () => {
  const readiness = createReadiness();
  const limits = { maxBytes: 10_000, timeoutMs: 5_000 };
  const bodies = unboundedBodies;
  const inflate = createInflate();
  const doors = createDispatch({
    routes: compileRoutes(services),
    rest: createRestDoor({ gateway: way, body: limits, bodies, inflate, keepAliveMs: 5_000, peerOf: () => here }),
    rpc: createRpcDoor({
      ...{ gateway: way, services, open: [], maxBytes: limits.maxBytes, bodyTimeoutMs: limits.timeoutMs },
      ...{ bodies, inflate, draining: readiness.draining, peerOf: () => here },
    }),
    readiness,
    addresses: createAddresses({ settings: () => ({ publicUrls: {} }), trustedProxies: [] }),
    sites: [],
    cors: createCors(["https://app.example.com"]),
    bodyTimeoutMs: limits.timeoutMs,
    newRequestId: () => "req_1",
    log: pino({ level: "silent" }),
  });
  const rejectionBody = () => Buffer.alloc(0);
  listener = await listen({ host: "127.0.0.1", port: 0, ...doors, rejectionBody });
});

afterAll(() => listener.close(0));

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: NodeJS.Dict<string>;
  readonly text: string;
}

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const key = { authorization: "Bearer sk-admin" };
const admin = "/api/v1/user/admin";

async function send(path: string, { method = "POST", body, headers = key }: Sent = {}): Promise<Reply> {
  const req = request({ port: listener.port, method, path, headers, agent: false });
  req.end(body);
  const [res] = (await once(req, "response")) as [IncomingMessage];
  const text = Buffer.concat(await res.toArray()).toString();
  return { status: res.statusCode ?? 0, headers: res.headers, trailers: res.trailers, text };
}

describe("an answer of key management is an envelope", () => {
  test("with the RPC's data field as data", async () => {
    const { status, headers, text } = await send(`${admin}/get-api-tokens`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({ "content-type": "application/json", "x-gateway-cost": "0.10", ...told });
    expect(JSON.parse(text)).toEqual({
      statusCode: 200,
      message: "Listed the API keys.",
      data: [expect.objectContaining({ id: "key_1", credit_limit: "5.00" })],
    });
    expect(headers["content-length"]).toBe(String(Buffer.byteLength(text)));
  });

  test("with the answer's other fields beside it", async () => {
    const { text } = await send(`${admin}/get-api-tokens`, { body: "page_size=1" });
    expect(JSON.parse(text)).toMatchObject({ statusCode: 200, data: [{ id: "key_1" }], next_page_token: "more" });
    expect(JSON.parse(text)).not.toHaveProperty("keys");
  });

  test("with null where the field is absent", async () => {
    const { text } = await send(`${admin}/update-api-token`, { body: "id=key_1&credit_limit=" });
    expect(JSON.parse(text)).toEqual({ statusCode: 200, message: "Updated the API key.", data: null });
  });

  test("but not on paths of other families, nor around bytes", async () => {
    const described = await send("/v1/key", { method: "GET" });
    expect(JSON.parse(described.text)).toEqual({ tier: "Free" });
    const table = await send("/api/v1/usage/requests.csv?stream_format=sse", { method: "GET" });
    expect(table.headers).toMatchObject({ "content-type": "text/csv; charset=utf-8", ...told });
    expect(table.text).toBe("id\r\nreq_1\r\n");
    expect(table.trailers).toEqual({ "x-gateway-cost": "0.20" });
  });
});

describe("a refusal of key management is an envelope with the real status", () => {
  const refusals: Record<string, { path: string; sent: Sent; expected: JsonObject; headers: JsonObject }> = {
    "of nobody": {
      ...{ path: `${admin}/get-api-tokens`, sent: { headers: {} } },
      expected: { statusCode: 401, code: "invalid_api_key", param: null },
      headers: { "www-authenticate": "Bearer" },
    },
    "of a key without the privilege": {
      ...{ path: `${admin}/get-api-tokens`, sent: { headers: { authorization: "Bearer plain" } } },
      expected: { statusCode: 403, code: "permission_denied", param: null },
      headers: {},
    },
    "of too many calls": {
      ...{ path: `${admin}/get-api-tokens`, sent: { headers: { authorization: "Bearer hasty" } } },
      expected: { statusCode: 429, code: "rate_limited", param: null },
      headers: { "retry-after": "1", "x-ratelimit-remaining-requests": "0" },
    },
    "of money that is none": {
      ...{ path: `${admin}/update-api-token`, sent: { body: '{"id":"key_1","credit_limit":"1e3"}' } },
      expected: { statusCode: 400, code: "invalid_value", param: "credit_limit" },
      headers: told,
    },
    "of a body that is no JSON": {
      ...{ path: `${admin}/update-api-token`, sent: { body: "{" } },
      expected: { statusCode: 400, code: "malformed_body", param: null },
      headers: told,
    },
    "of a body that is too large": {
      ...{ path: `${admin}/create-api-token`, sent: { body: "x".repeat(20_000) } },
      expected: { statusCode: 413, code: "request_too_large", param: null },
      headers: told,
    },
    "of a key that is not there": {
      ...{ path: `${admin}/delete-api-token`, sent: { body: "id=key_9" } },
      expected: { statusCode: 404, code: "resource_not_found", param: "id" },
      headers: told,
    },
    "of what clashes": {
      ...{ path: `${admin}/create-api-token`, sent: { body: "name=one too many" } },
      expected: { statusCode: 409, code: "conflict", param: null },
      headers: { ...told, "x-should-retry": "false" },
    },
    "of an idempotency key used for another request": {
      ...{ path: `${admin}/create-api-token`, sent: { body: "name=repeated" } },
      expected: { statusCode: 409, code: "idempotency_conflict", param: null },
      headers: { ...told, "x-should-retry": "false" },
    },
    "of another method": {
      ...{ path: `${admin}/get-api-tokens`, sent: { method: "GET" } },
      expected: { statusCode: 405, code: "method_not_allowed", param: null },
      headers: { allow: "POST" },
    },
  };
  test.each(Object.entries(refusals))("%s", async (_, { path, sent, expected, headers }) => {
    const reply = await send(path, sent);
    const message = expect.stringMatching(/.{20}/);
    expect(JSON.parse(reply.text)).toEqual({ ...expected, message, data: null });
    expect(reply.status).toBe(expected.statusCode);
    expect(reply.headers).toMatchObject({ "content-type": "application/json", "x-request-id": "req_1", ...headers });
  });

  test.each(["/api/v1/nope", "/api/v1/user/admin/new-api-token", "/api/v1", "/api", "/api/", "/api/v2/x"])(
    "at %s, which nobody serves",
    async (path) => {
      const { status, text } = await send(path);
      expect([status, JSON.parse(text)]).toMatchObject([404, { statusCode: 404, data: null, code: "unknown_path" }]);
    },
  );

  test.each(["/", "/nope", "/v1", "/v1/nope", "/apis", "/v1/key/x", "/v1/api"])("but not at %s", async (path) => {
    const { text } = await send(path);
    expect(JSON.parse(text)).toEqual({ error: expect.objectContaining({ type: "invalid_request_error" }) });
  });

  test("after a table has begun, is a broken connection", async () => {
    const broken = send("/api/v1/usage/requests.csv?model=broken", { method: "GET" });
    await expect(broken).rejects.toMatchObject({ code: "ECONNRESET" });
  });
});

describe("an admitted caller gets its rate and credit", () => {
  test("with the head of a stream, and the cost after its last frame", async () => {
    const { status, headers, trailers, text } = await send("/v1/chat/completions", { body: '{"stream":true}' });
    expect(status).toBe(200);
    expect(headers).toMatchObject({ "content-type": expect.stringContaining("text/event-stream"), ...told });
    expect(text).toMatch(/\[DONE\]\n\n$/);
    expect(trailers).toEqual({ "x-gateway-cost": "0.20" });
  });

  test("with a stream that breaks, without the cost, which is unknown", async () => {
    const { headers, trailers, text } = await send("/v1/chat/completions", {
      body: '{"stream":true,"model":"breaks"}',
    });
    expect(headers).toMatchObject(told);
    expect(text).toMatch(/data: \{"error":.*\nevent: error\n\n$/);
    expect(trailers).toEqual({});
  });

  test.each([false, true])("with a refusal of its family, streamed or not: %s", async (stream) => {
    const { status, headers, text } = await send("/v1/chat/completions", {
      body: JSON.stringify({ stream, model: "poor" }),
    });
    expect(status).toBe(402);
    expect(headers).toMatchObject({ "x-should-retry": "false", ...told });
    const { error } = JSON.parse(text);
    expect(error).toMatchObject({ type: "insufficient_quota", code: "insufficient_quota", param: null });
    expect(error.message).toContain("0.50");
    expect(error.message).toContain(stream ? "balance" : "credit limit");
  });

  const transports: [name: string, make: (baseUrl: string) => Transport][] = [
    ["Connect", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
    ["Connect over HTTP/2", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" })],
    ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl })],
    ["gRPC-Web", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
  ];
  describe.each(transports)("by %s", (_, make) => {
    const transport = () => make(`http://127.0.0.1:${listener.port}`);
    const headers = key;
    /** Options of a call, and the headers and trailers of its answer when they have come. */
    const watching = () => {
      const seen: Record<string, string> = {};
      const last: Record<string, string> = {};
      const options: CallOptions = {
        headers,
        onHeader: (given) => void Object.assign(seen, Object.fromEntries(given)),
        onTrailer: (given) => void Object.assign(last, Object.fromEntries(given)),
      };
      return { options, seen, last };
    };
    const refusedBy = async (call: Promise<unknown>) => {
      const error = ConnectError.from(
        await call.then(
          () => new Error("it was answered"),
          (thrown) => thrown,
        ),
      );
      return { error, metadata: Object.fromEntries(error.metadata), detail: error.findDetails(ErrorDetailSchema)[0] };
    };

    test("with an answer, which has no envelope", async () => {
      const { options, seen } = watching();
      const answer = await createClient(KeyService, transport()).listKeys({}, options);
      expect(answer.keys).toMatchObject([{ id: "key_1", creditLimit: 5_000_000n }]);
      expect(seen).toMatchObject({ "x-gateway-cost": "0.10", ...told });
    });

    test("with a stream, and the cost in its trailers", async () => {
      const { options, seen, last } = watching();
      const chunks = createClient(InferenceService, transport()).streamChatCompletion({ model: "m" }, options);
      for await (const chunk of chunks) expect(chunk.id).toBe("c");
      expect(seen).toMatchObject(told);
      expect(last).toMatchObject({ "x-gateway-cost": "0.20" });
    });

    test("with the refusal of a unary call", async () => {
      const client = createClient(KeyService, transport());
      const { error, metadata, detail } = await refusedBy(client.deleteKey({ id: "key_9" }, { headers }));
      expect(error.code).toBe(Code.NotFound);
      expect(detail).toMatchObject({ reason: errors.Reason.RESOURCE_NOT_FOUND, param: "id", httpStatus: 404 });
      expect(metadata).toMatchObject(told);
    });

    test("with the refusal of a stream", async () => {
      const client = createClient(InferenceService, transport());
      const { options, seen } = watching();
      const stream = client.streamChatCompletion({ model: "poor" }, options);
      const { error, metadata, detail } = await refusedBy(stream[Symbol.asyncIterator]().next());
      expect(error.code).toBe(Code.FailedPrecondition);
      expect(detail).toMatchObject({ reason: errors.Reason.INSUFFICIENT_CREDIT, httpStatus: 402 });
      expect(metadata).toMatchObject({ "x-should-retry": "false" });
      expect({ ...seen, ...metadata }).toMatchObject(told);
    });

    test("with the refusal of an unreadable message, which is reported as abandoned", async () => {
      const before = abandoned.length;
      const large = { name: "x".repeat(20_000) };
      const { error, metadata } = await refusedBy(createClient(KeyService, transport()).createKey(large, { headers }));
      expect(error.code).toBe(Code.ResourceExhausted);
      expect(metadata).toMatchObject(told);
      expect(abandoned.slice(before)).toEqual(["key_1"]);
    });

    test("and with a refused admission, by the headers of the refusal", async () => {
      const client = createClient(KeyService, transport());
      const options = { headers: { authorization: "Bearer hasty" } };
      const { error, metadata, detail } = await refusedBy(client.listKeys({}, options));
      expect(error.code).toBe(Code.ResourceExhausted);
      expect(detail).toMatchObject({ reason: errors.Reason.RATE_LIMITED, httpStatus: 429 });
      expect(metadata).toMatchObject({ "retry-after": "1", "x-ratelimit-remaining-requests": "0" });
    });
  });

  test("and a script in a browser may read them", async () => {
    const { headers } = await send("/v1/key", {
      method: "GET",
      headers: { ...key, origin: "https://app.example.com" },
    });
    const exposed = headers["access-control-expose-headers"]?.split(", ");
    expect(exposed).toEqual(
      expect.arrayContaining([
        ...[...Object.keys(told), "retry-after", "x-gateway-cost", "x-gateway-usage", "x-should-retry"],
        ...["x-ratelimit-limit-tokens", "x-ratelimit-reset-requests"],
        ...["anthropic-ratelimit-requests-limit", "anthropic-ratelimit-tokens-reset"],
      ]),
    );
  });
});

describe("a refusal for money, rate or permission is written", () => {
  const { FailedPrecondition, PermissionDenied, ResourceExhausted, NotFound, AlreadyExists, Unauthenticated } = Code;
  const invalid = "invalid_request_error";
  type Row = readonly [
    ...[name: string, refusal: errors.Refusal, status: number, code: Code],
    ...[openai: readonly [type: string, code: string | null, param: string | null], anthropic: string],
  ];
  const credit = errors.insufficientCredit("balance", "1.00", "0.50");
  const rate = errors.rateLimited("60 requests a minute", 1_001);
  const other = errors.permissionDenied("the operator key");
  const model = errors.modelNotPermitted("m");
  const price = errors.modelUnpriced("m");
  const suspended = errors.accountSuspended();
  const gone = errors.resourceNotFound("key", "key_9");
  const clash = errors.conflict("ACCOUNT_NAME_TAKEN", { name: "Acme" });
  const again = errors.idempotencyConflict();
  const quota = "insufficient_quota";
  const rows: readonly Row[] = [
    ["too little credit", credit, 402, FailedPrecondition, [quota, quota, null], "billing_error"],
    ["a rate used up", rate, 429, ResourceExhausted, ["requests", "rate_limit_exceeded", null], "rate_limit_error"],
    ["the wrong key", other, 403, PermissionDenied, [invalid, "insufficient_permissions", null], "permission_error"],
    ["another's model", model, 403, PermissionDenied, [invalid, "model_not_found", "model"], "permission_error"],
    ["no price", price, 403, FailedPrecondition, [invalid, "insufficient_permissions", "model"], "permission_error"],
    ["a suspension", suspended, 403, PermissionDenied, [invalid, "account_deactivated", null], "permission_error"],
    ["what is not there", gone, 404, NotFound, [invalid, null, "id"], "not_found_error"],
    ["what clashes", clash, 409, AlreadyExists, [invalid, "conflict", null], "conflict_error"],
    ["a false repetition", again, 409, AlreadyExists, [invalid, "conflict", null], "conflict_error"],
    ...[errors.keyDisabled(), errors.keyExpired()].map(
      (key): Row => [
        "a dead key",
        key,
        401,
        Unauthenticated,
        [invalid, "invalid_api_key", null],
        "authentication_error",
      ],
    ),
  ];

  test.each(rows)("in the form of each family: %s", (_, refusal, status, code, ofOpenai, ofAnthropic) => {
    expect([refusal.status, refusal.code]).toEqual([status, code]);
    const body = (family: Family) => JSON.parse(refusalAnswer(family, refusal, "req_1").body.toString());
    const [type, word, param] = ofOpenai;
    const openai = { message: refusal.message, type, param, code: word };
    expect(body(Family.OPENAI)).toEqual({ error: openai });
    expect(body(Family.RESPONSES)).toEqual({ error: openai });
    expect(body(Family.ANTHROPIC)).toEqual({
      ...{ type: "error", error: { type: ofAnthropic, message: refusal.message }, request_id: "req_1" },
    });
    expect(body(Family.ADMIN)).toMatchObject({ statusCode: status, message: refusal.message, data: null });
    expect(JSON.parse(refusalFrame(Family.ADMIN, refusal, "req_1", 0).toString())).toEqual(body(Family.ADMIN));
    const event = JSON.parse(refusalFrame(Family.RESPONSES, refusal, "req_1", 3).toString());
    // Some clients read the error in `error`, as OpenAI's server sends it, and others beside, as its reference has it.
    const flat = {
      message: refusal.message,
      param,
      code: word ?? (status >= 500 ? "server_error" : "invalid_request_error"),
    };
    const error = { ...openai, code: word === null || status >= 500 ? `${status}` : word };
    expect(event).toEqual({ ...flat, type: "error", sequence_number: 3, error });
    // Clients repeat a 409 by themselves, and some a 401, and it would not help, unless they get the next key first.
    const isPermanent = [401, 402, 409].includes(status) && refusal.message !== errors.keyExpired().message;
    expect(refusal.headers["x-should-retry"]).toBe(isPermanent ? "false" : undefined);
  });

  test.each([
    [0, "1"],
    [1, "1"],
    [1_000, "1"],
    [1_001, "2"],
    [59_001, "60"],
    [3_600_000, "60"],
    [Number.POSITIVE_INFINITY, "60"],
  ])("to come back after %d ms in whole seconds, 1 to 60: %s", (ms, seconds) => {
    const refusal = errors.rateLimited("60 requests a minute", ms, { "x-ratelimit-limit-requests": "60" });
    expect(refusal.headers).toEqual({ "retry-after": seconds, "x-ratelimit-limit-requests": "60" });
    expect(refusal.message).toBe(
      `Rate limit reached: the account is allowed 60 requests a minute. Try again in ${seconds} s.`,
    );
  });
});
