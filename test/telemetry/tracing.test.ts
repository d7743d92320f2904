/**
 * What an operator's OpenTelemetry collector is told of calls: a span for each, and for each of its attempts, in the caller's
 * own trace; measurements under the names of the conventions; and nothing of what was asked or answered. Calls never wait for it.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Role } from "../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import type { Config } from "../../src/config/config.ts";
import { startTestGateway } from "../support/gateway.ts";
import { timed } from "../support/run/running-time.ts";
import { eventStream, type ScriptedExchange } from "../support/scripted-upstream.ts";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "../support/telemetry/otlp-receiver.ts";
import { answerWell, at, openStage, type Stage, served } from "../support/upstreams/two-upstreams.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const callerSpan = "00f067aa0ba902b7";
const sampled = {
  traceparent: `00-${traceId}-${callerSpan}-01`,
  tracestate: "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
};
const form = /^00-([\da-f]{32})-([\da-f]{16})-(0[01])$/;

let receiver: OtlpReceiver;
let stage: Stage | undefined;

beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(async () => {
  await stage?.close();
  stage = undefined;
  await receiver.close();
});

async function open(overrides: Partial<Config> = {}): Promise<Stage> {
  const telemetry = { endpoint: receiver.endpoint, headers: {} };
  stage = await openStage([served([at("first"), at("second", 1)])], {
    telemetry,
    disconnectDrainMs: 500,
    ...overrides,
  });
  return stage;
}

/** Stops the gateway, which sends what is left, and returns the spans. `running`: while a call is under way. */
async function told(what?: "running"): Promise<readonly ReceivedSpan[]> {
  await stage?.close(what);
  stage = undefined;
  return receiver.spans();
}

const headersOf = (exchange: ScriptedExchange | undefined) => form.exec(String(exchange?.headers.traceparent)) ?? [];

describe("a trace", () => {
  test("of a call that failed over has the call and both attempts, with what they used and what failed", async () => {
    const { ask, pass, first, second, gateway } = await open();
    first.script = (exchange) => {
      pass(20);
      exchange.json(503, { error: { message: "overloaded, said the secret upstream" } });
    };
    second.script = (exchange) => {
      pass(300);
      answerWell(exchange);
    };
    const response = await ask();
    expect(response.status).toBe(200);
    const [call, failed, answered, ...others] = await told();
    expect(others).toEqual([]);
    expect(call).toMatchObject({ name: "chat m", kind: "server", parentSpanId: "", failure: undefined });
    expect([call?.from, call?.to]).toEqual([Date.UTC(2026, 0, 2), Date.UTC(2026, 0, 2) + 320]);
    expect(call?.attributes).toMatchObject({
      "rpc.method": "modelgateway.v1.InferenceService/CreateChatCompletion",
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "m",
      "gen_ai.response.model": "m",
      "gen_ai.usage.input_tokens": 9,
      "gen_ai.usage.output_tokens": 3,
      "model_gateway.request_id": response.headers.get("x-request-id"),
      "model_gateway.account_id": gateway.accountId,
      "model_gateway.upstream": "second",
      "model_gateway.attempts": 2,
      "model_gateway.outcome": "answered",
      "model_gateway.cost": 0.000015,
      "model_gateway.own_ms": expect.any(Number),
      "model_gateway.status": 200,
    });
    const below = { traceId: call?.traceId, parentSpanId: call?.spanId, kind: "client", name: "chat far" };
    expect(failed).toMatchObject({ ...below, failure: "it answered with status 503" });
    expect(failed?.attributes).toMatchObject({
      "error.type": "503",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "far",
      "model_gateway.upstream": "first",
      "model_gateway.attempt": 1,
      "server.address": "127.0.0.1",
      "server.port": first.port,
    });
    expect(answered).toMatchObject({ ...below, failure: undefined });
    expect(answered?.attributes).toMatchObject({ "model_gateway.upstream": "second", "model_gateway.attempt": 2 });
    expect(answered?.attributes).not.toHaveProperty("error.type");
    expect([failed, answered].map((span) => Number(span?.to) - Number(span?.from))).toEqual([20, 300]);
  });

  test("goes on at the upstream: what it is told is the attempt's own span", async () => {
    const { ask, first, second } = await open();
    first.script = (exchange) => exchange.json(500, {});
    await ask();
    const exchanges = [first.received[0], second.received[0]];
    const [, ...attempts] = await told();
    expect(exchanges.map((exchange) => headersOf(exchange).slice(1))).toEqual(
      attempts.map((span) => [span.traceId, span.spanId, "01"]),
    );
    expect(new Set(attempts.map((span) => span.spanId)).size).toBe(2);
  });

  test("that the caller began is gone on with, whatever the caller's system noted in it", async () => {
    const { ask, second, first } = await open();
    await ask({}, sampled);
    const exchange = first.received[0];
    expect(second.received).toHaveLength(0);
    const [call, attempt] = await told();
    expect(call).toMatchObject({ traceId, parentSpanId: callerSpan, traceState: sampled.tracestate });
    expect(attempt).toMatchObject({ traceId, parentSpanId: call?.spanId });
    expect(headersOf(exchange).slice(1)).toEqual([traceId, attempt?.spanId, "01"]);
    expect(exchange?.headers.tracestate).toBe(sampled.tracestate);
  });

  test("of which the caller keeps nothing is not kept here, but told to the upstream", async () => {
    const { ask, first } = await open();
    await ask({}, { ...sampled, traceparent: `00-${traceId}-${callerSpan}-00` });
    const [exchange] = first.received;
    expect(await told()).toEqual([]);
    expect([headersOf(exchange)[1], headersOf(exchange)[3]]).toEqual([traceId, "00"]);
    expect(exchange?.headers.tracestate).toBe(sampled.tracestate);
    expect(receiver.points().map(({ name }) => name)).toContain("gen_ai.server.request.duration");
  });

  test("that is told in no known form is begun anew, and nothing of it is passed on", async () => {
    const { ask, first } = await open();
    const malformed = [
      "",
      "garbage",
      `00-${traceId}-${callerSpan}`,
      `00-${traceId}-${callerSpan}-01-more`,
      `ff-${traceId}-${callerSpan}-01`,
      `00-${"0".repeat(32)}-${callerSpan}-01`,
      `00-${traceId}-${"0".repeat(16)}-01`,
      `00-${traceId.toUpperCase()}-${callerSpan}-01`,
      `00-${traceId}-${callerSpan}-01, 00-${traceId}-${callerSpan}-01`,
    ];
    for (const traceparent of malformed) expect((await ask({}, { ...sampled, traceparent })).status).toBe(200);
    const passedOn = first.received.map(({ headers }) => headers.tracestate);
    const calls = (await told()).filter(({ kind }) => kind === "server");
    expect(calls).toHaveLength(malformed.length);
    expect(new Set(calls.map((span) => span.traceId)).size).toBe(malformed.length);
    expect(calls.map((span) => span.traceId)).not.toContain(traceId);
    expect(calls.map(({ parentSpanId }) => parentSpanId)).toEqual(malformed.map(() => ""));
    expect(passedOn).toEqual(malformed.map(() => undefined));
  });

  test("of a later version of the standard is understood", async () => {
    const { ask } = await open();
    await ask({}, { traceparent: `cc-${traceId}-${callerSpan}-01-what-will-be` });
    expect(await told()).toMatchObject([{ traceId, parentSpanId: callerSpan }, { traceId }]);
  });

  test("of a stream ends with the stream", async () => {
    const { ask, pass, first } = await open();
    first.script = undefined;
    const asking = ask({ stream: true });
    const exchange = await first.next();
    const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
    exchange.head(200, eventStream);
    pass(100);
    await exchange.write(chunk({ content: "Hel" }));
    const response = await asking;
    const reader = response.body?.getReader();
    await reader?.read();
    pass(900);
    exchange.end(`${chunk({ content: "lo!" })}data: [DONE]\n\n`);
    for (;;) if ((await reader?.read())?.done !== false) break;
    const [call, attempt] = await told();
    expect(Number(call?.to) - Number(call?.from)).toBe(1000);
    expect(Number(attempt?.to) - Number(attempt?.from)).toBe(1000);
    expect(call?.attributes).toMatchObject({
      "gen_ai.request.stream": true,
      "gen_ai.response.time_to_first_chunk": 0.1,
      "model_gateway.outcome": "answered",
    });
    expect(receiver.points()).toContainEqual(
      expect.objectContaining({ name: "gen_ai.server.time_to_first_token", count: 1, sum: 0.1 }),
    );
  });

  test("of a call whose caller leaves ends then, and blames nobody", async () => {
    const { first, gateway } = await open();
    first.script = undefined;
    for (const stream of [false, true]) {
      const leaving = new AbortController();
      const asking = fetch(`${gateway.baseUrl}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "m", stream, messages: [{ role: "user", content: "Hi" }] }),
        signal: leaving.signal,
      });
      const exchange = await first.next();
      if (stream) {
        exchange.head(200, eventStream);
        await exchange.write('data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n');
        await asking;
      }
      leaving.abort();
      if (!stream) await expect(asking).rejects.toThrow("aborted");
      await exchange.left;
    }
    const spans = await told();
    const calls = spans.filter(({ kind }) => kind === "server");
    expect(calls).toHaveLength(2);
    for (const { failure, attributes } of calls) {
      expect(failure).toBeUndefined();
      expect(attributes).toMatchObject({ "error.type": "CANCELLED", "model_gateway.outcome": "left" });
    }
    const attempts = spans.filter(({ kind }) => kind === "client");
    expect(attempts.map(({ parentSpanId }) => parentSpanId).sort()).toEqual(calls.map(({ spanId }) => spanId).sort());
    expect(attempts.map(({ failure }) => failure)).toEqual([undefined, undefined]);
  });

  test("of a call whose request the upstream rejects says so, and its attempt has not failed", async () => {
    const { first, ask } = await open();
    first.script = (exchange) => exchange.json(422, { error: { message: "no", type: "invalid_request_error" } });
    expect((await ask()).status).toBe(422);
    const [call, attempt] = await told();
    expect(call?.attributes).toMatchObject({ "model_gateway.outcome": "rejected", "model_gateway.status": 422 });
    expect(attempt?.failure).toBeUndefined();
  });

  test("of the call that ends last, while the gateway closes, is sent, too", async () => {
    const { first, gateway } = await open();
    first.script = undefined;
    const leaving = new AbortController();
    const asking = fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hi" }] }),
      signal: leaving.signal,
    });
    const exchange = await first.next();
    exchange.head(200, eventStream);
    // Its charge waits for this to be counted, for longer than the connections take to close.
    const delta = { content: "鑫".repeat(100_000) };
    await exchange.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
    await asking;
    leaving.abort();
    expect((await told("running")).map(({ kind }) => kind).sort()).toEqual(["client", "server"]);
  });

  test("of a hedged call has both attempts beside each other", async () => {
    const { ask, first } = await open({ hedging: { afterMs: 20, share: 1 } });
    first.script = undefined;
    const asking = ask();
    const slow = await first.next();
    expect((await asking).headers.get("x-gateway-upstream")).toBe("second");
    await slow.left;
    const [call, overtaken, hedge] = await told();
    expect(call?.attributes).toMatchObject({ "model_gateway.upstream": "second", "model_gateway.attempts": 2 });
    expect(overtaken).toMatchObject({ parentSpanId: call?.spanId, failure: undefined });
    expect(overtaken?.attributes).toMatchObject({ "model_gateway.upstream": "first", "model_gateway.overtaken": true });
    expect(hedge).toMatchObject({ parentSpanId: call?.spanId, failure: undefined });
    expect(hedge?.attributes).toMatchObject({ "model_gateway.upstream": "second", "model_gateway.hedge": true });
  });

  test("of a call that fails everywhere says so, and of one that is refused the reason", async () => {
    const { ask, first, gateway } = await open({ retries: { attempts: 1, share: 0 } });
    first.script = (exchange) => exchange.reset();
    expect((await ask()).status).toBe(502);
    expect((await ask({ model: "unheard-of" })).status).toBe(404);
    expect((await ask({}, { authorization: "Bearer sk-wrong", ...sampled })).status).toBe(401);
    const models = await fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${gateway.apiKey}` } });
    expect(models.status).toBe(200);
    const spans = await told();
    expect(spans.find(({ kind }) => kind === "client")?.attributes["error.type"]).toMatch(
      /^(?:ECONNRESET|UND_ERR_SOCKET)$/,
    );
    const calls = spans.filter(({ kind }) => kind === "server");
    const summary = calls.map(({ name, failure, attributes }) => [name, failure, attributes["error.type"]]);
    expect(summary).toEqual([
      ["chat m", "UPSTREAM_FAILED", "UPSTREAM_FAILED"],
      ["chat", undefined, "MODEL_NOT_FOUND"],
      ["modelgateway.v1.InferenceService/CreateChatCompletion", undefined, "INVALID_API_KEY"],
      ["modelgateway.v1.InferenceService/ListModels", undefined, undefined],
    ]);
    expect(calls[2]).toMatchObject({ traceId, parentSpanId: callerSpan });
  });

  test.each([
    ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl })],
    ["Connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ])("of a call by %s is the same as by REST", async (_, transport) => {
    const { gateway, first } = await open();
    const client = createClient(InferenceService, transport(gateway.rootUrl));
    const headers = { authorization: `Bearer ${gateway.apiKey}`, ...sampled };
    const messages = [{ role: Role.USER, content: { case: "text" as const, value: "Hi" } }];
    await client.createChatCompletion({ model: "m", messages }, { headers });
    for await (const _ of client.streamChatCompletion({ model: "m", messages }, { headers }));
    const passedOn = first.received.map((exchange) => headersOf(exchange)[2]);
    const spans = await told();
    const [call, streamed] = spans.filter(({ kind }) => kind === "server");
    expect(call).toMatchObject({ name: "chat m", traceId, parentSpanId: callerSpan });
    expect(streamed).toMatchObject({ name: "chat m", traceId, parentSpanId: callerSpan });
    expect(streamed?.attributes).toMatchObject({ "gen_ai.request.stream": true, "gen_ai.usage.output_tokens": 3 });
    const attempts = spans.filter(({ kind }) => kind === "client");
    expect(attempts.map(({ parentSpanId }) => parentSpanId).sort()).toEqual([call?.spanId, streamed?.spanId].sort());
    expect(attempts.map(({ spanId }) => spanId).sort()).toEqual(passedOn.sort());
  });
});

test("measurements come under the conventions' names, in their units, by what the operator configured", async () => {
  const { ask, pass, first } = await open();
  first.script = (exchange) => {
    pass(40);
    exchange.json(500, {});
  };
  await ask();
  await ask({ model: "a-name-that-the-caller-made-up" });
  await told();
  const points = receiver.points();
  const of = (name: string) => points.filter((point) => point.name === name);
  const call = { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m" };
  expect(of("gen_ai.server.request.duration")).toMatchObject([
    { unit: "s", count: 1, sum: 0.04, attributes: { ...call, "gen_ai.response.model": "m" } },
    { unit: "s", count: 1, attributes: { "gen_ai.provider.name": "model_gateway", "error.type": "MODEL_NOT_FOUND" } },
  ]);
  expect(of("gen_ai.server.request.duration")[0]?.bounds.slice(0, 3)).toEqual([0.01, 0.02, 0.04]);
  expect(of("gen_ai.client.token.usage")).toMatchObject([
    { unit: "{token}", count: 1, sum: 9, attributes: { ...call, "gen_ai.token.type": "input" } },
    { unit: "{token}", count: 1, sum: 3, attributes: { ...call, "gen_ai.token.type": "output" } },
  ]);
  const attempt = { ...call, "gen_ai.request.model": "far" };
  expect(of("gen_ai.client.operation.duration")).toMatchObject([
    { unit: "s", sum: 0.04, attributes: { ...attempt, "model_gateway.upstream": "first", "error.type": "500" } },
    { unit: "s", sum: 0, attributes: { ...attempt, "model_gateway.upstream": "second" } },
  ]);
  expect(receiver.resources()).toContainEqual(
    expect.objectContaining({ "service.name": "model-gateway", "service.version": expect.any(String) }),
  );
});

test("nothing of what was asked, answered or shown as a credential is in anything that is sent", async () => {
  const { ask, first, second, gateway } = await open({
    telemetry: { endpoint: `${receiver.endpoint}/`, headers: { authorization: "Bearer collector" } },
  });
  first.script = (exchange) => exchange.json(500, { error: { message: "quoting WORDS-ASKED" } });
  second.script = (exchange) =>
    exchange.json(200, { choices: [{ index: 0, message: { role: "assistant", content: "WORDS-ANSWERED" } }] });
  const messages = [{ role: "user", content: "WORDS-ASKED" }];
  expect(await (await ask({ messages })).text()).toContain("WORDS-ANSWERED");
  second.script = (exchange) => exchange.json(400, { error: { message: "quoting WORDS-ASKED" } });
  expect((await ask({ messages })).status).toBe(400);
  expect((await ask({ messages, model: "WORDS-ASKED" })).status).toBe(404);
  expect((await ask({ messages }, { authorization: "Bearer sk-WORDS-ASKED" })).status).toBe(401);
  const { apiKey } = gateway;
  expect((await told()).length).toBeGreaterThan(5);
  const sent = receiver.received.map(({ body }) => body).join("\n");
  expect(sent).not.toMatch(/WORDS-/);
  expect(sent).not.toContain(apiKey);
  expect(sent).not.toContain("collector");
  expect(receiver.received.map(({ path }) => path).sort()).toEqual(["/v1/metrics", "/v1/traces"]);
  for (const { headers } of receiver.received) expect(headers).toMatchObject({ authorization: "Bearer collector" });
});

describe("an endpoint", () => {
  const warnings = ({ gateway }: Stage) => gateway.logged().match(/traces or metrics could not be sent/g)?.length ?? 0;

  test("that hangs holds up neither calls nor the gateway's stop", async () => {
    await receiver.close();
    receiver = await startOtlpReceiver({ hangs: true });
    const open_ = await open();
    const answers = await Promise.all(Array.from({ length: 200 }, () => open_.ask()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(receiver.received.length).toBeGreaterThan(0);
    const [, { runningMs }] = await timed(told);
    expect(runningMs).toBeLessThan(4000);
  });

  test("that is down costs one warning, whatever is lost", async () => {
    const open_ = await open({ telemetry: { endpoint: "http://127.0.0.1:1", headers: {} } });
    const answers = await Promise.all(Array.from({ length: 200 }, () => open_.ask()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const [, { runningMs }] = await timed(told);
    expect(runningMs).toBeLessThan(4000);
    expect(warnings(open_)).toBe(1);
  });

  test("that nobody named has no part of OpenTelemetry loaded", () => {
    const script = `
      import { registerHooks } from "node:module";
      const asked = [];
      registerHooks({ resolve: (name, context, next) => (asked.push(name), next(name, context)) });
      await import("./src/composition/gateway.ts");
      const { pino } = await import("pino");
      const log = pino({ level: "silent" });
      const { createSeeing } = await import("./src/composition/observers.ts");
      const seeing = (telemetry) => createSeeing({ config: { telemetry }, live: { current: () => ({ upstreams: [] }) }, log, clock: Date.now }, {});
      const loaded = () => asked.filter((name) => name.startsWith("@opentelemetry/")).length > 0;
      await seeing(undefined);
      const before = loaded();
      const { close } = await seeing({ endpoint: "http://127.0.0.1:1", headers: {} });
      console.log(JSON.stringify([before, loaded()]));
      await close();`;
    const options = { cwd: join(import.meta.dirname, "../.."), encoding: "utf8" as const };
    const printed = execFileSync(process.execPath, ["--input-type=module", "-e", script], options);
    expect(JSON.parse(printed)).toEqual([false, true]);
  });
});

test("without telemetry what the caller says of its trace reaches the upstream as it came", async () => {
  const { ask, first, second } = await open({ telemetry: undefined });
  first.script = (exchange) => exchange.json(500, {});
  await ask({}, sampled);
  expect([first.received[0], second.received[0]].map((exchange) => exchange?.headers)).toMatchObject([
    sampled,
    sampled,
  ]);
  await ask();
  expect(second.received[1]?.headers).not.toHaveProperty("traceparent");
});

test("the embedded models' attempts are the gateway's own work", async () => {
  const gateway = await startTestGateway({ telemetry: { endpoint: receiver.endpoint, headers: {} } });
  await fetch(`${gateway.baseUrl}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "embedded-embedding", input: "Hi" }),
  });
  await gateway.close();
  expect(receiver.spans()).toMatchObject([
    { name: "embeddings embedded-embedding", kind: "server" },
    { name: "embeddings embedded-embedding", kind: "internal", attributes: { "gen_ai.provider.name": "embedded" } },
  ]);
});
