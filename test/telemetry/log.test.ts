/**
 * What is logged of a call: one line, enough to find and count it, and nothing that was said or that opens a door.
 */
import { connect } from "node:net";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { here, nobody } from "../../src/call/call.ts";
import type { CallRecord } from "../../src/call/call-record.ts";
import { upstreamFailed } from "../../src/call/refusals.ts";
import type { EndedCall } from "../../src/pipeline/observe.ts";
import { createCallLog } from "../../src/telemetry/log.ts";
import { chatStatus } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { eventStream, type ScriptedExchange, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { openaiError } from "../support/vendors.ts";

const prompt = "MARKER-PROMPT";
const metadataMark = "MARKER-METADATA";

let gateway: TestGateway;
/** Serves `embedded-chat` from an address where nobody is. */
let broken: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
  broken = await startTestGateway(upstreamAt("http://127.0.0.1:1/v1", "MARKER-UPSTREAM-KEY"));
});

afterAll(async () => {
  await gateway.close();
  await broken.close();
});

type Line = Readonly<Record<string, unknown>>;

function linesOf({ logged }: TestGateway, id: string): Line[] {
  const all = logged().trimEnd().split("\n").filter(Boolean);
  return all.map((line) => JSON.parse(line) as Line).filter(({ request_id }) => request_id === id);
}

/** All that a line may say. */
const members: ReadonlySet<string> = new Set([
  ...["level", "time", "pid", "hostname", "msg"],
  ...["request_id", "rpc", "account_id", "key_id", "status", "reason", "cause", "err", "duration_ms"],
  ...["model", "upstream", "attempts", "failures", "replayed", "first_byte_ms", "own_ms"],
  ...["input_tokens", "output_tokens", "drained_ms", "cost_millionths", "waived_millionths"],
]);

/** Waits for the line of a call, and sees that it stays the only one and says nothing that it must not. */
async function theLineOf(at: TestGateway, id: string): Promise<Line> {
  await eventually(() => expect(linesOf(at, id)).not.toEqual([]));
  // A later call is logged after whatever the first has still to say.
  const before = at.logged().length;
  await chatStatus(at.rootUrl, "sk-unknown");
  await eventually(() => expect(at.logged().length).toBeGreaterThan(before));
  const lines = linesOf(at, id);
  expect(lines).toHaveLength(1);
  expect(Object.keys(lines[0] as Line).filter((member) => !members.has(member))).toEqual([]);
  expect(lines[0]?.duration_ms).toBeTypeOf("number");
  for (const secret of [prompt, metadataMark, at.apiKey, at.apiKey.slice(3), "MARKER-UPSTREAM-KEY", "sk-unknown"]) {
    expect(at.logged().toLowerCase()).not.toContain(secret.toLowerCase());
  }
  return lines[0] as Line;
}

interface Ask {
  readonly at?: TestGateway;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

function request(more: object = {}): object {
  return {
    model: "embedded-chat",
    messages: [{ role: "user", content: `Please say ${prompt}` }],
    user: metadataMark,
    ...more,
    metadata: { note: metadataMark, ...(more as { metadata?: object }).metadata },
  };
}

async function ask({
  at = gateway,
  body = request(),
  headers,
  signal,
}: Ask): Promise<{ response: Response; id: string }> {
  const response = await fetch(`${at.baseUrl}/chat/completions`, {
    method: "POST",
    headers: headers ?? { authorization: `Bearer ${at.apiKey}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal: signal ?? null,
  });
  return { response, id: response.headers.get("x-request-id") ?? "" };
}

async function keyOf(at: TestGateway): Promise<{ account_id: string; key_id: string | undefined }> {
  const [key] = await at.storage.keys.list(at.accountId);
  return { account_id: at.accountId, key_id: key?.id };
}

/** What is told of every answer of the embedded model. */
const told = {
  ...{ model: "embedded-chat", upstream: "embedded", attempts: 1, failures: [], cost_millionths: 0 },
  ...{ input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
  ...{ first_byte_ms: expect.any(Number), own_ms: expect.any(Number) },
};

test("an answered call: its RPC, account, key, status, model, upstream, tokens, cost and times", async () => {
  const { response, id } = await ask({});
  // The simulator says the prompt back: the marker is in the answer as well.
  expect((await response.text()).toLowerCase()).toContain(prompt.toLowerCase());
  const caller = await keyOf(gateway);
  expect(await theLineOf(gateway, id)).toMatchObject({
    level: 30,
    rpc: "CreateChatCompletion",
    status: 200,
    ...caller,
    ...told,
  });
});

test("a streamed call, once its last frame is out", async () => {
  const { response, id } = await ask({ body: request({ stream: true }) });
  expect(await response.text()).toContain("[DONE]");
  const caller = await keyOf(gateway);
  expect(await theLineOf(gateway, id)).toMatchObject({
    level: 30,
    rpc: "StreamChatCompletion",
    status: 200,
    ...caller,
    ...told,
  });
});

test("a call about no model, without what is of models", async () => {
  const response = await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${gateway.apiKey}` } });
  await response.arrayBuffer();
  const line = await theLineOf(gateway, response.headers.get("x-request-id") ?? "");
  expect(line).toMatchObject({ rpc: "DescribeKey", status: 200, ...(await keyOf(gateway)) });
  for (const member of Object.keys(told)) expect(line).not.toHaveProperty(member);
});

test("a call that failed over: which upstream failed by what, in words that quote nothing, and which answered", async () => {
  const failing = await startScriptedUpstream((at) => at.json(500, openaiError("server_error", prompt)));
  const answering = await startScriptedUpstream((at) =>
    at.json(200, {
      ...{ id: "chatcmpl_1", object: "chat.completion", created: 1, model: "far" },
      choices: [{ index: 0, message: { role: "assistant", content: prompt }, finish_reason: "stop" }],
      usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    }),
  );
  const { models = [] } = upstreamAt("");
  const api_key = "MARKER-UPSTREAM-KEY";
  const at = await startTestGateway({
    upstreams: [
      { name: "failing", kind: "openai", base_url: failing.baseUrl, api_key },
      { name: "answering", kind: "openai", base_url: answering.baseUrl, api_key },
    ],
    models: models.map((model) => ({
      ...model,
      price: { input: 1_000_000, output: 2_000_000 },
      targets: [
        { upstream: "failing", model: "far", priority: 0, weight: 1 },
        { upstream: "answering", model: "far", priority: 1, weight: 1 },
      ],
    })),
    retries: { attempts: 3, share: 0.15 },
  });
  try {
    const { response, id } = await ask({ at });
    expect(await response.text()).toContain(prompt);
    const line = await theLineOf(at, id);
    expect(line).toMatchObject({
      ...{ status: 200, model: "embedded-chat", upstream: "answering", attempts: 2 },
      failures: [{ upstream: "failing", failure: "it answered with status 500" }],
      ...{ input_tokens: 9, output_tokens: 3, cost_millionths: 15 },
    });
    expect(line.own_ms).toBeLessThanOrEqual(
      Number(/gateway;dur=([\d.]+)/.exec(response.headers.get("server-timing") ?? "")?.[1]) + 0.01,
    );
  } finally {
    await at.close();
    await Promise.all([failing.close(), answering.close()]);
  }
});

test("a refused call, with its reason", async () => {
  const { response, id } = await ask({ body: request({ model: "nobody" }) });
  expect(response.status).toBe(404);
  expect(await theLineOf(gateway, id)).toMatchObject({
    status: 404,
    reason: "MODEL_NOT_FOUND",
    ...(await keyOf(gateway)),
  });
});

test("a call whose fields are out of bounds, without their values", async () => {
  const { response, id } = await ask({ body: request({ temperature: 9, stop: prompt }) });
  expect(response.status).toBe(400);
  expect(await theLineOf(gateway, id)).toMatchObject({ status: 400, reason: "INVALID_VALUE" });
});

test("a stream that breaks, with the status that it would have had", async () => {
  const { response, id } = await ask({ body: request({ stream: true, metadata: { simulate_break_after: "2" } }) });
  expect(await response.text()).toContain('"error"');
  expect(await theLineOf(gateway, id)).toMatchObject({ status: 502, reason: "UPSTREAM_FAILED" });
});

test("a stream whose caller goes away, as 499", async () => {
  const gone = new AbortController();
  const body = request({ stream: true, metadata: { simulate_token_delay_ms: "30" } });
  const { response, id } = await ask({ body, signal: gone.signal });
  await response.body?.getReader().read();
  gone.abort();
  expect(await theLineOf(gateway, id)).toMatchObject({ status: 499, reason: "CANCELLED", ...(await keyOf(gateway)) });
});

test.each([
  ["REST", "/v1/chat/completions", "application/json"],
  ["Connect", "/modelgateway.v1.InferenceService/CreateChatCompletion", "application/json"],
  ["gRPC-Web", "/modelgateway.v1.InferenceService/CreateChatCompletion", "application/grpc-web+proto"],
])("a call whose caller goes away amid its body, over %s, as 499", async (_, path, type) => {
  const before = gateway.logged().length;
  const { hostname, port } = new URL(gateway.rootUrl);
  const socket = connect(Number(port), hostname);
  const fields = [
    `POST ${path} HTTP/1.1`,
    "host: x",
    `authorization: Bearer ${gateway.apiKey}`,
    `content-type: ${type}`,
  ];
  socket.write(`${[...fields, "content-length: 1000", "connection: keep-alive"].join("\r\n")}\r\n\r\n{"model":`);
  await eventually(() => expect(gateway.counts().bodyBytes).toBeGreaterThan(0));
  socket.destroy();
  await eventually(() => expect(gateway.logged().slice(before)).toContain('"status":'));
  expect(gateway.logged().slice(before)).toContain('"status":499');
  await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
});

test("a call whose caller goes away before the answer, as 499", async () => {
  const gone = new AbortController();
  const before = gateway.logged().length;
  const asked = ask({ body: request({ metadata: { simulate_silence: "true" } }), signal: gone.signal });
  setTimeout(() => gone.abort(), 200);
  await expect(asked).rejects.toThrow("abort");
  const ended = () => gateway.logged().slice(before).trimEnd();
  await eventually(() => expect(ended()).toContain('"status":499'));
  const { request_id } = JSON.parse(ended()) as { request_id: string };
  expect(await theLineOf(gateway, request_id)).toMatchObject({ status: 499, reason: "CANCELLED" });
});

test("a call without a key and one with a wrong key, as 401 of nobody", async () => {
  for (const headers of [{}, { authorization: "Bearer sk-unknown" }, { "x-api-key": "sk-unknown" }]) {
    const { response, id } = await ask({ headers: { ...headers, "content-type": "application/json" } });
    expect(response.status).toBe(401);
    const line = await theLineOf(gateway, id);
    expect(line).toMatchObject({ status: 401, reason: "INVALID_API_KEY" });
    expect([line.account_id, line.key_id]).toEqual([undefined, undefined]);
  }
});

test("a call whose upstream is not there, without that upstream's key", async () => {
  const { response, id } = await ask({ at: broken });
  expect(response.status).toBe(502);
  const line = await theLineOf(broken, id);
  expect(line).toMatchObject({
    status: 502,
    reason: "UPSTREAM_FAILED",
    cause: expect.stringContaining("ECONNREFUSED"),
  });
});

/** What an upstream says of a failure is not for the log: it may quote what was asked. */
const failures: Record<string, readonly [script: (exchange: ScriptedExchange) => void, cause: RegExp]> = {
  "refuses the credential": [(at) => at.json(401, openaiError("x", prompt)), /own credential: status 401$/],
  "does not have the model": [
    (at) => at.json(404, openaiError("invalid_request_error", prompt, "model_not_found")),
    /configured with: status 404 for embedded-chat$/,
  ],
  "answers with a page": [(at) => at.json(500, prompt), /^it answered with status 500$/],
  "breaks its answer off": [(at) => at.destroy(), /closed|reset|terminated/],
  "answers with garbage": [
    (at) => {
      at.head(200, { "content-type": "application/json" });
      at.end(`{"x": ${prompt}`);
    },
    /^the body is not JSON$/,
  ],
  "answers with what is no list of choices": [
    (at) => {
      at.head(200, eventStream);
      at.end(`data: {"choices":{"${prompt}":1}}\n\n`);
    },
    /^TypeError$/,
  ],
};

for (const [name, [script, cause]] of Object.entries(failures)) {
  test(`a call whose upstream ${name}: why, in words that quote nothing`, async () => {
    const upstream = await startScriptedUpstream(script);
    const at = await startTestGateway(upstreamAt(upstream.baseUrl, "MARKER-UPSTREAM-KEY"));
    try {
      const { response, id } = await ask({ at, body: request({ stream: name.includes("choices") }) });
      expect(response.status).toBe(502);
      const line = await theLineOf(at, id);
      expect(line).toMatchObject({ status: 502, reason: "UPSTREAM_FAILED", cause: expect.stringMatching(cause) });
    } finally {
      await at.close();
      await upstream.close();
    }
  });
}

test("a call whose body cannot be read", async () => {
  const { response, id } = await ask({ body: `{"model": ${prompt}` });
  expect(response.status).toBe(400);
  const line = await theLineOf(gateway, id);
  expect(line).toMatchObject({ status: 400, reason: "MALFORMED_BODY", ...(await keyOf(gateway)) });
});

test("a call over RPC like one over HTTP", async () => {
  const response = await fetch(`${gateway.rootUrl}/modelgateway.v1.InferenceService/CreateChatCompletion`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "ROLE_USER", text: prompt }] }),
  });
  expect(response.status).toBe(200);
  const id = response.headers.get("x-request-id") ?? "";
  expect(await theLineOf(gateway, id)).toMatchObject({
    rpc: "CreateChatCompletion",
    status: 200,
    ...(await keyOf(gateway)),
  });
});

test("an error of the gateway's own, with its cause in the log and not in the answer", async () => {
  const at = await startTestGateway();
  try {
    await at.storage.close();
    const { response, id } = await ask({ at });
    expect(response.status).toBe(500);
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({ error: { type: "server_error", param: null } });
    expect(body).not.toMatch(/database|sqlite|destroyed|closed|driver|\.ts/i);
    const [line] = linesOf(at, id);
    expect(line).toMatchObject({ level: 50, status: 500, reason: "INTERNAL", msg: "call failed" });
    const cause = {
      message: expect.stringMatching(/destroyed|not open|closed/),
      stack: expect.stringContaining("keys.ts"),
    };
    expect(line).toMatchObject({ err: cause });
    expect(at.logged()).not.toContain(at.apiKey);
  } finally {
    await at.close("broken");
  }
});

/** A call, answered at the second attempt where it was not refused. */
function callWith(
  refusal: EndedCall["refusal"],
  more: Partial<EndedCall> = {},
  facts: Partial<CallRecord> = {},
): EndedCall {
  const attempt = { kind: "openai", model: "far", modelId: "near", begunAt: 0, sentAt: 0, queuedMs: 0, waitedMs: 4.2 };
  const failure = 'it said "no",\n\tand \\ and \u0001 and \u2028 and ß and 🙂';
  return {
    arrival: { id: "req_1", method: InferenceService.method.createChatCompletion, header: () => undefined, peer: here },
    caller: { ...nobody, accountId: "acc_1", keyId: "key_1" },
    record: {
      ...{ operation: "chat", form: "whole", model: "near", firstByteMs: 4.6, ownMs: 0.412_345, cost: 12, waived: 0 },
      attempts: [
        { ...attempt, upstream: 'one "quoted"', failure },
        { ...attempt, upstream: "other" },
      ],
      used: { input: 210, cacheRead: 20, cacheWrite: 0, cacheWriteHour: 0, output: 180, reasoning: 0, characters: 0 },
      ...facts,
    },
    ...{ begunAt: 1_000, endedAt: 1_005, refusal },
    ...more,
  };
}

const odd = `${"long ".repeat(30)}"and"\n\u0000 odd: ü\u2028🙂`;
const { attempts: _two, ...ofNoAttempt } = callWith(undefined).record;

const written: (readonly [name: string, call: EndedCall])[] = [
  ["an answered call", callWith(undefined)],
  ["a failed one", callWith(upstreamFailed("it broke", new Error(odd)))],
  ["a failed one, in short", callWith(upstreamFailed("it broke", new Error('C:\\ "x" ü🙂')))],
  ["a failed one, without words", callWith(upstreamFailed("it broke", ""))],
  ["one of an odd model", callWith(undefined, {}, { model: '\\"near"/ü\ud800', waived: 7, replayed: "cache" })],
  ["one that no upstream was asked for", callWith(undefined, {}, { ...ofNoAttempt, attempts: [] })],
  ["one of no model and nobody", callWith(undefined, { caller: undefined, record: { attempts: [] }, endedAt: -3 })],
  ...[0, 0.004, 0.1, 0.295, 3, 12.996, 99.999, 123_456.7].map(
    (ownMs) => [`one of ${ownMs} ms`, callWith(undefined, {}, { ownMs })] as const,
  ),
];

test.each(written)("the line of %s is byte for byte the one that pino writes", (_, call) => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const lines: string[] = [];
    const log = pino({ level: "info", name: 'a "name"' }, { write: (line: string) => void lines.push(line) });
    createCallLog(log).ended(call);
    const {
      level: _level,
      time: _time,
      pid: _pid,
      hostname: _host,
      name: _name,
      msg,
      ...own
    } = JSON.parse(lines[0] ?? "");
    log.info(own, msg);
    expect(own).toMatchObject({ request_id: "req_1", status: call.refusal ? 502 : 200 });
    const { ownMs } = call.record;
    expect(own.own_ms).toBe(ownMs === undefined ? undefined : Math.round(ownMs * 100) / 100);
    expect(own.model).toBe(call.record.model);
    expect(lines[0]).toBe(lines[1]);
  } finally {
    vi.useRealTimers();
  }
});

test("the members of a line have one order, and all that a call has is there", () => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const refusal = upstreamFailed("it broke", "why");
  createCallLog(log).ended(callWith(refusal, {}, { replayed: "idempotency", waived: 3 }));
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    ...{ request_id: "req_1", rpc: "CreateChatCompletion", account_id: "acc_1", key_id: "key_1", status: 502 },
    ...{ reason: "UPSTREAM_FAILED", duration_ms: 5, model: "near", upstream: "other", attempts: 2 },
    ...{ replayed: "idempotency", first_byte_ms: 4.6, own_ms: 0.41, input_tokens: 230, output_tokens: 180 },
    ...{ cost_millionths: 12, waived_millionths: 3, cause: "why", msg: "call" },
  });
  expect(Object.keys(JSON.parse(lines[0] ?? "") as object)).toEqual([
    ...["level", "time", "pid", "hostname", "request_id", "rpc", "account_id", "key_id", "status", "reason"],
    ...["duration_ms", "model", "upstream", "attempts", "failures", "replayed", "first_byte_ms", "own_ms"],
    ...["input_tokens", "output_tokens", "cost_millionths", "waived_millionths", "cause", "msg"],
  ]);
});

test("a line tells the time at which it is written, and its level; a log of warnings has none", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 5_000 });
  try {
    const lines = { written: [] as string[], lastLevel: 0, write: (line: string) => void lines.written.push(line) };
    const log = pino({ level: "info" }, Object.assign(lines, { [pino.symbols.needsMetadataGsym]: true }));
    const { ended: tell } = createCallLog(log);
    for (const step of [0, 0, 1]) {
      vi.advanceTimersByTime(step);
      tell(callWith(undefined));
    }
    expect(lines.written.map((line) => (JSON.parse(line) as Line).time)).toEqual([5_000, 5_000, 5_001]);
    expect(lines.lastLevel).toBe(30);
    log.level = "warn";
    tell(callWith(undefined));
    expect(lines.written).toHaveLength(3);
  } finally {
    vi.useRealTimers();
  }
});
