/**
 * What an operator's Prometheus reads of the gateway: what calls came to, how upstreams are, and nothing that a caller could
 * make grow. The alerts and the dashboard in `deploy/` ask for what there is.
 */
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { Counter, Histogram, Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import { here, nobody } from "../../src/call/call.ts";
import type { AttemptRecord, CallRecord } from "../../src/call/call-record.ts";
import { cancelled } from "../../src/call/refusals.ts";
import type { Config, ModelConfig, UpstreamConfig } from "../../src/config/config.ts";
import { nothingOpen } from "../../src/doors/listener/connections.ts";
import type { EndedCall } from "../../src/pipeline/observe.ts";
import { type DatabaseGauges, registerDatabase } from "../../src/telemetry/gauges/database.ts";
import { registerWorkers } from "../../src/telemetry/gauges/workers.ts";
import { registerGauges } from "../../src/telemetry/gauges.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { createCounter, createHistogram } from "../../src/telemetry/series.ts";
import { modelGateway, root, startServer, temporaryFolder } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../support/scripted-upstream.ts";
import { read, scrape } from "../support/telemetry/scrape.ts";
import { at, chunk, wholeAnswer } from "../support/upstreams/two-upstreams.ts";

const answer = {
  ...wholeAnswer,
  usage: {
    ...wholeAnswer.usage,
    ...{ prompt_tokens_details: { cached_tokens: 4 }, completion_tokens_details: { reasoning_tokens: 2 } },
  },
};
const well = (exchange: ScriptedExchange) => exchange.json(200, answer);
const badly = (exchange: ScriptedExchange) => exchange.json(500, { error: { message: "broken" } });

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let gateway: TestGateway;
let now = 0;

const price = { input: 1_000_000, cache_read: 500_000, output: 2_000_000 };
const chat = { family: "f", kind: "chat", completions: "chat" } as const;
const models: ModelConfig[] = [
  { id: "m", aliases: ["alias"], ...chat, price, targets: [at("first", 0), at("second", 1)] },
  { id: "dear", aliases: [], ...chat, price: { ...price, output: 1e12 }, targets: [at("second")] },
];

async function start(overrides: Partial<Config> = {}): Promise<void> {
  const upstreams: UpstreamConfig[] = [
    { name: "first", kind: "openai", base_url: first.baseUrl, api_key: "k" },
    {
      ...{ name: "second", kind: "openai", base_url: second.baseUrl, api_key: "k" },
      queue: { max_concurrent: 8, max_queued: 100, max_wait_seconds: 60 },
    },
  ];
  const retries = { attempts: 3, share: 0.15 };
  const breaker = { failures: 2, openMs: 5000 };
  const config = { upstreams, models, embeddedModels: false, retries, breaker, disconnectDrainMs: 50, ...overrides };
  gateway = await startTestGateway(config, { clock: () => now++, postpaid: false });
}

function ask(body: object = {}, { key = gateway.apiKey, signal }: { key?: string; signal?: AbortSignal } = {}) {
  return fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], ...body }),
    signal: signal ?? null,
  });
}

/** Waits until so many calls are over, and reads the metrics. */
async function scraped(calls: number) {
  const total = async () => {
    const seen = await scrape(gateway.metricsPort);
    const counts = [...seen.series].filter(([name]) => name.startsWith("model_gateway_rpc_requests_total"));
    return counts.reduce((sum, [, count]) => sum + count, 0);
  };
  await eventually(async () => expect(await total()).toBe(calls));
  return scrape(gateway.metricsPort);
}

beforeEach(async () => {
  now = Date.UTC(2026, 0, 2);
  [first, second] = [await startScriptedUpstream(well), await startScriptedUpstream(well)];
  await start();
});
afterEach(async () => {
  await gateway.close();
  await Promise.all([first.close(), second.close()]);
});

describe("of calls it is counted", () => {
  test("that one was answered, with its tokens in parts, its cost and how long it took", async () => {
    expect((await ask({ model: "alias" })).status).toBe(200);
    const { value } = await scraped(1);
    const model = "m";
    expect(value("model_gateway_rpc_requests_total", { rpc: "CreateChatCompletion", status: "200" })).toBe(1);
    expect(value("model_gateway_requests_total", { operation: "chat", model, status: "200" })).toBe(1);
    const tokens = (kind: string) => value("model_gateway_tokens_total", { model, kind });
    expect([tokens("input"), tokens("cache_read"), tokens("output"), tokens("reasoning")]).toEqual([5, 4, 3, 2]);
    expect(value("model_gateway_cost_units_total", { model })).toBeCloseTo(0.000013, 9);
    expect(value("model_gateway_waived_units_total", { model })).toBe(0);
    const labels = { operation: "chat", model, form: "whole" };
    expect(value("model_gateway_request_duration_seconds_count", labels)).toBe(1);
    expect(value("model_gateway_request_duration_seconds_sum", labels)).toBeGreaterThan(0);
    expect(value("model_gateway_first_byte_seconds_count", labels)).toBe(1);
    expect(value("model_gateway_own_seconds_count", { operation: "chat" })).toBe(1);
    const own = value("model_gateway_own_seconds_sum", { operation: "chat" }) as number;
    expect(own).toBeGreaterThan(0);
    expect(own).toBeLessThan(5);
    expect(value("model_gateway_upstream_attempts_total", { upstream: "first", model, result: "ok" })).toBe(1);
    expect(value("model_gateway_upstream_first_byte_seconds_count", { upstream: "first", model })).toBe(1);
    expect(value("model_gateway_upstream_failovers_total", { model })).toBe(0);
  });

  test("that a stream was, once its last frame is out", async () => {
    const usage = { ...chunk({}), choices: [], usage: answer.usage };
    first.script = (exchange) => exchange.stream(chunk({ content: "Hel" }), chunk({ content: "lo!" }, "stop"), usage);
    expect(await (await ask({ stream: true })).text()).toContain("[DONE]");
    const { value } = await scraped(1);
    const labels = { operation: "chat", model: "m", form: "stream" };
    expect(value("model_gateway_rpc_requests_total", { rpc: "StreamChatCompletion", status: "200" })).toBe(1);
    expect(value("model_gateway_request_duration_seconds_count", labels)).toBe(1);
    expect(value("model_gateway_first_byte_seconds_count", labels)).toBe(1);
    expect(value("model_gateway_tokens_total", { model: "m", kind: "output" })).toBe(3);
  });

  test("that one failed over, and where; and that a target is left alone", async () => {
    first.script = badly;
    for (const _ of [1, 2, 3]) expect((await ask()).status).toBe(200);
    const { value } = await scraped(3);
    const model = "m";
    expect(value("model_gateway_upstream_attempts_total", { upstream: "first", model, result: "failed" })).toBe(2);
    expect(value("model_gateway_upstream_attempts_total", { upstream: "second", model, result: "ok" })).toBe(3);
    expect(value("model_gateway_upstream_failovers_total", { model })).toBe(2);
    expect(value("model_gateway_target_resting", { upstream: "first", model })).toBe(1);
    expect(value("model_gateway_target_resting", { upstream: "second", model })).toBe(0);
    expect(value("model_gateway_refusals_total", { reason: "UPSTREAM_FAILED" })).toBe(0);
  });

  test("that one was refused, and why", async () => {
    first.script = (exchange) => exchange.json(400, { error: { message: "bad", type: "invalid_request_error" } });
    expect((await ask({}, { key: "sk-unknown" })).status).toBe(401);
    expect((await ask({ model: "dear", max_tokens: 1000 })).status).toBe(402);
    expect((await ask({ model: "nobody" })).status).toBe(404);
    expect((await ask({ temperature: 9 })).status).toBe(400);
    expect((await ask()).status).toBe(400);
    const { value } = await scraped(5);
    for (const [reason, count] of Object.entries({
      ...{ INVALID_API_KEY: 1, INSUFFICIENT_CREDIT: 1, MODEL_NOT_FOUND: 1, INVALID_VALUE: 1, UPSTREAM_REFUSED: 1 },
      ...{ INTERNAL: 0, UPSTREAM_FAILED: 0 },
    })) {
      expect(value("model_gateway_refusals_total", { reason }), reason).toBe(count);
    }
    expect(value("model_gateway_rpc_requests_total", { rpc: "CreateChatCompletion", status: "401" })).toBe(1);
    const requests = (model: string, status: string) =>
      value("model_gateway_requests_total", { operation: "chat", model, status });
    expect([requests("dear", "402"), requests("", "404"), requests("m", "400")]).toEqual([1, 1, 1]);
    const labels = { upstream: "first", model: "m", result: "refused" };
    expect(value("model_gateway_upstream_attempts_total", labels)).toBe(1);
    expect(
      value("model_gateway_request_duration_seconds_count", { operation: "chat", model: "m", form: "whole" }),
    ).toBe(undefined);
  });

  test("that a stream broke off, and that a caller left one", async () => {
    first.script = async (exchange) => {
      exchange.head(200, eventStream);
      await exchange.write(`data: ${JSON.stringify(chunk({ content: "Hel" }))}\n\n`);
      exchange.destroy();
    };
    expect(await (await ask({ stream: true })).text()).toContain('"error"');
    first.script = undefined;
    const leave = new AbortController();
    const asked = ask({ stream: true }, { signal: leave.signal });
    const exchange = await first.next();
    exchange.head(200, eventStream);
    await exchange.write(`data: ${JSON.stringify(chunk({ content: "Hel" }))}\n\n`);
    await (await asked).body?.getReader().read();
    leave.abort();
    const { value } = await scraped(2);
    expect(value("model_gateway_requests_total", { operation: "chat", model: "m", status: "502" })).toBe(1);
    expect(value("model_gateway_requests_total", { operation: "chat", model: "m", status: "499" })).toBe(1);
    for (const result of ["failed", "left"]) {
      expect(value("model_gateway_upstream_attempts_total", { upstream: "first", model: "m", result }), result).toBe(1);
    }
    expect(value("model_gateway_upstream_failovers_total", { model: "m" })).toBe(0);
  });

  test("that one was made twice at once, who won, and what the other may have cost", async () => {
    await gateway.close();
    await start({ hedging: { afterMs: 20, share: 1 } });
    first.script = undefined;
    expect((await ask()).status).toBe(200);
    const { value } = await scraped(1);
    expect(value("model_gateway_hedges_total", { model: "m", result: "won" })).toBe(1);
    expect(value("model_gateway_hedge_lost_units_total", { model: "m" })).toBeCloseTo(0.000013, 9);
    const attempts = (upstream: string, result: string) =>
      value("model_gateway_upstream_attempts_total", { upstream, model: "m", result });
    expect([attempts("first", "overtaken"), attempts("second", "ok")]).toEqual([1, 1]);
    expect(value("model_gateway_upstream_failovers_total", { model: "m" })).toBe(0);
  });

  test("that one was about no model", async () => {
    await (await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${gateway.apiKey}` } })).text();
    const { value, types, series } = await scraped(1);
    expect(value("model_gateway_rpc_requests_total", { rpc: "DescribeKey", status: "200" })).toBe(1);
    expect(types.get("model_gateway_requests_total")).toBe("counter");
    expect([...series.keys()].filter((key) => key.startsWith("model_gateway_requests_total"))).toEqual([]);
  });
});

describe("while calls are under way", () => {
  test("how many there are, where they are, and what they have reserved", async () => {
    first.script = undefined;
    const gone = new AbortController();
    const asked = [ask({ max_tokens: 100 }), ask({ max_tokens: 100, stream: true }, { signal: gone.signal })];
    const [one, other] = [await first.next(), await first.next()];
    const during = await scrape(gateway.metricsPort);
    expect(during.value("model_gateway_requests_running", { form: "whole" })).toBe(1);
    expect(during.value("model_gateway_requests_running", { form: "stream" })).toBe(1);
    expect(during.value("model_gateway_upstream_running", { upstream: "first" })).toBe(2);
    expect(during.value("model_gateway_holds")).toBe(2);
    expect(during.value("model_gateway_held_units")).toBeGreaterThan(0.0004);
    expect(during.value("model_gateway_upstream_queued", { upstream: "first" })).toBe(undefined);
    expect(during.value("model_gateway_upstream_queued", { upstream: "second" })).toBe(0);
    expect(during.value("model_gateway_upstream_places", { upstream: "second" })).toBe(8);
    expect([...during.labels("upstream")].sort()).toEqual(["first", "second"]);
    gone.abort();
    for (const exchange of [one, other]) well(exchange);
    await Promise.allSettled(asked);
    const after = await scraped(2);
    for (const form of ["whole", "stream"]) expect(after.value("model_gateway_requests_running", { form })).toBe(0);
    expect(after.value("model_gateway_holds")).toBe(0);
    expect(after.value("model_gateway_held_units")).toBe(0);
    expect(after.value("model_gateway_upstream_running", { upstream: "first" })).toBe(0);
  });
});

test("nothing that callers invent makes a series: models, keys, paths, headers", async () => {
  // Wrong keys are told so up to a bound, and then only when to come back.
  const wrong = Array.from({ length: 40 }, (_, i) => ask({}, { key: `sk-none-${i}` }));
  await Promise.all([ask({ model: "no-model" }), ask(), ...wrong]);
  const before = await scraped(42);
  const asked = Array.from({ length: 1000 }, (_, i) =>
    i % 2 ? ask({ model: `invented-${i}` }) : ask({ user: `invented-${i}` }, { key: `sk-invented-${i}` }),
  );
  await Promise.all(asked.map(async (response) => (await response).arrayBuffer()));
  await fetch(`${gateway.rootUrl}/invented-path`);
  const after = await scraped(1042);
  const ours = ({ series }: typeof after) => [...series.keys()].filter((name) => name.startsWith("model_gateway_"));
  expect(ours(after)).toEqual(ours(before));
  expect(after.text).not.toContain("invented");
  expect(after.text).not.toContain(gateway.accountId);
  expect(after.text).not.toContain(gateway.apiKey);
});

describe("without a gateway", () => {
  const attempt: AttemptRecord = {
    ...{ upstream: "u", kind: "openai", model: "far", modelId: "m", begunAt: 0, sentAt: 0, queuedMs: 0, waitedMs: 0 },
    ...{ firstByteMs: 10, endedAt: 20 },
  };
  const used = { input: 9, cacheRead: 1, cacheWrite: 2, cacheWriteHour: 3, output: 4, reasoning: 0, characters: 0 };
  const ended = (facts: Partial<CallRecord> = {}, more: Partial<EndedCall> = {}): EndedCall => ({
    arrival: { id: "req_1", method: InferenceService.method.createChatCompletion, header: () => undefined, peer: here },
    caller: nobody,
    record: { operation: "chat", form: "whole", model: "m", attempts: [attempt], ...facts },
    ...{ begunAt: 0, endedAt: 50, refusal: undefined },
    ...more,
  });

  test("what was waived, replayed, and left before it began is told apart", async () => {
    const registry = new Registry();
    const { ended: tell } = createMetrics(registry);
    tell(ended({ used, cost: 2_500_000, waived: 500_000, outcome: Outcome.ANSWERED }));
    tell(ended({ attempts: [], replayed: "cache" }));
    tell(ended({ attempts: [], replayed: "idempotency" }));
    const { firstByteMs: _, ...unanswered } = attempt;
    tell(ended({ attempts: [unanswered] }, { refusal: cancelled() }));
    // A call whose first prompt had been answered when its caller left.
    tell(ended({ attempts: [attempt, unanswered] }, { refusal: cancelled() }));
    // The clock was set back.
    tell(ended({ firstByteMs: -5 }, { endedAt: -1000 }));
    const { value } = read(await registry.metrics());
    expect(value("model_gateway_cost_units_total", { model: "m" })).toBe(2.5);
    expect(value("model_gateway_waived_units_total", { model: "m" })).toBe(0.5);
    expect(value("model_gateway_tokens_total", { model: "m", kind: "cache_write" })).toBe(5);
    for (const kind of ["cache", "idempotency"]) expect(value("model_gateway_replays_total", { kind })).toBe(1);
    const results = { ok: 3, left: 2 };
    for (const [result, count] of Object.entries(results)) {
      expect(value("model_gateway_upstream_attempts_total", { upstream: "u", model: "m", result })).toBe(count);
    }
    const labels = { operation: "chat", model: "m", form: "whole" };
    expect(value("model_gateway_request_duration_seconds_sum", labels)).toBeCloseTo(0.15);
    expect(value("model_gateway_first_byte_seconds_sum", labels)).toBe(0);
  });

  test("calls and attempts that differ in one label are counted apart, whatever came before them", async () => {
    const registry = new Registry();
    const { ended: tell } = createMetrics(registry);
    const other = { rpc: "StreamChatCompletion", method: InferenceService.method.streamChatCompletion };
    const call = ended();
    const calls = [
      call,
      ended({ operation: "messages" }),
      ended({ form: "stream" }),
      ended({ model: "other" }),
      ended({}, { refusal: cancelled() }),
      ended({}, { arrival: { ...call.arrival, method: other.method } }),
      ended({ attempts: [{ ...attempt, upstream: "v" }] }),
      ended({ attempts: [{ ...attempt, modelId: "other" }] }),
      ended({ attempts: [{ ...attempt, failure: "it broke" }] }),
    ];
    for (const one of [...calls, ...calls]) tell(one);
    const { value } = read(await registry.metrics());
    const of = (labels: Readonly<Record<string, string>>) => ({ ...{ operation: "chat", model: "m" }, ...labels });
    expect(value("model_gateway_rpc_requests_total", { rpc: "CreateChatCompletion", status: "200" })).toBe(14);
    expect(value("model_gateway_rpc_requests_total", { rpc: "CreateChatCompletion", status: "499" })).toBe(2);
    expect(value("model_gateway_rpc_requests_total", { rpc: other.rpc, status: "200" })).toBe(2);
    expect(value("model_gateway_requests_total", of({ status: "200" }))).toBe(12);
    expect(value("model_gateway_requests_total", of({ status: "499" }))).toBe(2);
    expect(value("model_gateway_requests_total", of({ status: "200", model: "other" }))).toBe(2);
    expect(value("model_gateway_requests_total", of({ status: "200", operation: "messages" }))).toBe(2);
    expect(value("model_gateway_request_duration_seconds_count", of({ form: "whole" }))).toBe(10);
    expect(value("model_gateway_request_duration_seconds_count", of({ form: "stream" }))).toBe(2);
    const attempts = (upstream: string, model: string, result: string) =>
      value("model_gateway_upstream_attempts_total", { upstream, model, result });
    expect([attempts("u", "m", "ok"), attempts("v", "m", "ok")]).toEqual([12, 2]);
    expect([attempts("u", "other", "ok"), attempts("u", "m", "failed")]).toEqual([2, 2]);
  });

  test("a place is told of from its first count on, and shares its labels' count with others", async () => {
    const registry = new Registry();
    const counter = createCounter({ registry, name: "calls_total", help: "Calls.", labelNames: ["rpc"] });
    const [one, same] = [counter.bind({ rpc: "A" }), counter.bind({ rpc: "A" })];
    expect(read(await registry.metrics()).value("calls_total", { rpc: "A" })).toBeUndefined();
    one.add(0);
    expect(read(await registry.metrics()).value("calls_total", { rpc: "A" })).toBe(0);
    same.add(2);
    counter.inc({ rpc: "A" });
    one.add(3);
    expect(read(await registry.metrics()).value("calls_total", { rpc: "A" })).toBe(6);
  });

  test("series are told as those of prom-client are, to the byte", async () => {
    const [registry, theirs] = [new Registry(), new Registry()];
    const ofCounter = { name: "calls_total", help: "Calls,\nin \\ all.", labelNames: ["rpc", "status"] } as const;
    const ofHistogram = {
      name: "took_seconds",
      help: "How long.",
      labelNames: ["form"],
      buckets: [0.1, 0.5, 2],
    } as const;
    const counters = [createCounter({ ...ofCounter, registry }), new Counter({ ...ofCounter, registers: [theirs] })];
    const histograms = [
      createHistogram({ ...ofHistogram, registry }),
      new Histogram({ ...ofHistogram, buckets: [...ofHistogram.buckets], registers: [theirs] }),
    ];
    for (const [rpc, status, by] of [
      ["B", "200", 1],
      ["A", '4"0\\4', 0],
      ["B", "200", 0.1],
      ["B", "500", 3],
    ] as const) {
      for (const counter of counters) counter.inc({ rpc, status }, by);
    }
    for (const [form, value] of [
      ["whole", 0.5],
      ["stream", 0],
      ["whole", 0.3],
      ["whole", 7],
      ["", 2.1],
    ] as const) {
      for (const histogram of histograms) histogram.observe({ form }, value);
    }
    expect(await registry.metrics()).toBe(await theirs.metrics());
    expect(await registry.metrics()).toContain('took_seconds_bucket{le="0.5",form="whole"} 2\n');
  });
});

describe("the address", () => {
  const get = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${gateway.metricsPort}${path}`, init);

  test("serves GET and HEAD /metrics, and nothing else", async () => {
    const whole = await get("/metrics?x=1");
    expect([whole.status, whole.headers.get("content-type")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    expect(await whole.text()).toMatch(/^# HELP model_gateway_build_info .+\n# TYPE model_gateway_build_info gauge\n/m);
    const head = await get("/metrics", { method: "HEAD" });
    expect([head.status, Number(head.headers.get("content-length")) > 1000, await head.text()]).toEqual([
      200,
      true,
      "",
    ]);
    expect((await get("/")).status).toBe(404);
    expect((await get("/v1/models")).status).toBe(404);
    const post = await get("/metrics", { method: "POST", body: "x" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    // And the API's own serves no metrics.
    expect((await fetch(`${gateway.rootUrl}/metrics`)).status).toBe(404);
  });

  test("says that it failed where the database cannot be read, and the log says why", async () => {
    await gateway.storage.close();
    const response = await get("/metrics");
    expect([response.status, await response.text()]).toEqual([500, expect.not.stringMatching(/sqlite|database|\.ts/i)]);
    expect(gateway.logged()).toContain("metrics could not be read");
    await gateway.close("broken");
    await start();
  });

  test("closes with the gateway, however its readers hold on", async () => {
    const slow = connect(gateway.metricsPort as number, "127.0.0.1");
    const cut = once(slow, "close");
    await once(slow, "connect");
    slow.write("GET /metrics HTTP/1.1\r\nhost: ");
    const agent = new Agent({ keepAlive: true });
    const asked = request({ port: gateway.metricsPort, path: "/metrics", agent }).end();
    const [response] = await once(asked, "response");
    await response.resume().toArray();
    await gateway.close();
    await cut;
    agent.destroy();
    await expect(fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).rejects.toThrow();
    await start();
  });

  test("may be none", async () => {
    await gateway.close();
    await start({ metrics: undefined });
    expect(gateway.metricsPort).toBe(undefined);
    expect((await ask()).status).toBe(200);
  });

  describe("where it is taken", () => {
    const taken = createServer();
    let port = 0;
    beforeEach(async () => {
      await once(taken.listen(0, "127.0.0.1"), "listening");
      port = (taken.address() as { port: number }).port;
    });
    afterEach(() => once(taken.close(), "close"));

    test("the gateway starts without, and warns, if nobody asked for it", async () => {
      await gateway.close();
      await start({ metrics: { host: "127.0.0.1", port, isAsked: false } });
      expect(gateway.metricsPort).toBe(undefined);
      const warning =
        gateway
          .logged()
          .split("\n")
          .find((line) => line.includes("METRICS_PORT")) ?? "";
      expect(JSON.parse(warning)).toMatchObject({ level: 40, port, code: "EADDRINUSE" });
      expect((await ask()).status).toBe(200);
    });

    test("it does not start if somebody did, and says which port it is about", async () => {
      const folder = await temporaryFolder();
      const env = { DATA_DIR: folder.path, PORT: "0", METRICS_PORT: String(port) };
      const { code, stdout, stderr } = await modelGateway(["serve"], env);
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: "",
        stderr:
          `model-gateway: cannot listen on 127.0.0.1, port ${port} for metrics: the port is taken. ` +
          "Stop what uses it, or set METRICS_PORT to another\n",
      });
      await folder.remove();
    });
  });

  test("is told at the start", async () => {
    const folder = await temporaryFolder();
    const { server } = await startServer([], { DATA_DIR: folder.path });
    const [, url = ""] = await server.shows(/^Metrics are read at (http:\/\/127\.0\.0\.1:\d+\/metrics)\n/m);
    expect((await fetch(url)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
    await folder.remove();
  });
});

function has(program: string): boolean {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Runs promtool, and returns its exit code and what it found. */
function promtool(args: readonly string[], input = ""): Promise<{ code: number; found: string }> {
  return new Promise((resolve) => {
    const child = execFile("promtool", args, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, found: stdout + stderr });
    });
    child.stdin?.end(input);
  });
}

describe.skipIf(!has("promtool"))("promtool", () => {
  test("finds nothing wrong with the metrics", async () => {
    first.script = badly;
    await Promise.all([ask(), ask(), ask({ model: "nobody" })]);
    const { text } = await scraped(3);
    expect(await promtool(["check", "metrics"], text)).toEqual({ code: 0, found: "" });
    // It does find what is wrong.
    expect((await promtool(["check", "metrics"], "# TYPE a_total gauge\na_total 1\n")).code).not.toBe(0);
  });

  test("finds nothing wrong with the alerts and the configuration", async () => {
    const folder = join(root, "deploy/prometheus");
    const rules = await promtool(["check", "rules", "--lint-fatal", join(folder, "alerts.yaml")]);
    expect(rules, rules.found).toMatchObject({ code: 0 });
    const config = await promtool(["check", "config", join(folder, "prometheus.yaml")]);
    expect(config, config.found).toMatchObject({ code: 0 });
  });

  test("has every alert fire where what it is about is so, and none where all is well", async () => {
    const tested = await promtool(["test", "rules", join(root, "test/fixtures/alerts.test.yaml")]);
    expect(tested, tested.found).toMatchObject({ code: 0 });
  });
});

const idle = { batches: 0, items: 0, seconds: 0 };
/** What there is of a Postgres that does nothing. */
const database: DatabaseGauges = {
  ...{ isUp: () => true, nodes: () => 1, kept: () => 0, repeats: () => 0, recalls: () => 0 },
  batches: () => ({ decide: idle, write: idle }),
  replica: { trouble: () => undefined, lagSeconds: () => 0, reads: () => ({ replica: 0, primary: 0 }) },
};

test("of Postgres it is told whether it answers, how batches fare, and what waits for it", async () => {
  const registry = new Registry();
  const decide = { batches: 2, items: 30, seconds: 0.5 };
  const away = { isUp: () => false, nodes: () => 3, kept: () => 4, repeats: () => 5, recalls: () => 6 };
  registerDatabase(registry, { ...away, batches: () => ({ decide, write: { batches: 7, items: 80, seconds: 9 } }) });
  const { value } = read(await registry.metrics());
  const of = (name: string, kind?: string) => value(`model_gateway_database_${name}`, kind ? { kind } : {});
  expect([of("up"), of("nodes"), of("kept_records"), of("repeats_total"), of("recalls_total")]).toEqual([
    0, 3, 4, 5, 6,
  ]);
  const totals = ["batches_total", "batch_items_total", "batch_seconds_total"];
  expect(totals.map((name) => of(name, "decide"))).toEqual([2, 30, 0.5]);
  expect(totals.map((name) => of(name, "write"))).toEqual([7, 80, 9]);
  expect(of("replica_up")).toBeUndefined();
});

test("of its replica it is told whether usage is read there, how far it is behind, and where reads went", async () => {
  const told = async (trouble: string | undefined, lag: number | undefined) => {
    const registry = new Registry();
    const reads = () => ({ replica: 4, primary: 2 });
    registerDatabase(registry, { ...database, replica: { trouble: () => trouble, lagSeconds: () => lag, reads } });
    const { value } = read(await registry.metrics());
    const of = (name: string, from?: string) => value(`model_gateway_database_${name}`, from ? { from } : {});
    const went = ["replica", "primary"].map((from) => of("usage_reads_total", from));
    return [of("replica_up"), of("replica_lag_seconds"), ...went];
  };
  expect(await told(undefined, 0.5)).toEqual([1, 0.5, 4, 2]);
  expect(await told("it does not answer", undefined)).toEqual([0, Number.NaN, 4, 2]);
});

describe("what is deployed with it", () => {
  const workers = { serving: () => 2, replaced: () => 0 };
  const files = ["deploy/prometheus/alerts.yaml", "deploy/grafana/model-gateway.json"] as const;
  const [alerts, dashboard] = files.map((file) => readFileSync(join(root, file), "utf8")) as [string, string];

  test("asks for metrics that there are, and the dashboard for all of the gateway's own", async () => {
    await gateway.close();
    // Nothing listens there: what is known of it is told nevertheless.
    const times = { timeoutMs: 50, connectMs: 500 };
    const address = { url: "redis://127.0.0.1:1", isCluster: false, prefix: "" };
    const redis = { ...address, whenAway: "divide", assumedNodes: 1, ...times } as const;
    await start({ cache: { maxBytes: 100_000, keepMs: 1000, priceShare: 0 }, redis });
    const ofOthers = new Registry();
    registerDatabase(ofOthers, database);
    registerWorkers(ofOthers, workers);
    const scraped = await scrape(gateway.metricsPort);
    const types = new Map([...scraped.types, ...read(await ofOthers.metrics()).types]);
    const parts = (type: string) => (type === "histogram" ? ["", "_bucket", "_sum", "_count"] : [""]);
    const names = new Set([...types].flatMap(([name, type]) => parts(type).map((part) => name + part)));
    for (const [i, text] of [alerts, dashboard].entries()) {
      const asked = [...text.matchAll(/\b(?:model_gateway|nodejs|process)_\w+/g)].map(([name]) => name);
      expect(asked.length, files[i]).toBeGreaterThan(20);
      expect(
        asked.filter((name) => !names.has(name)),
        files[i],
      ).toEqual([]);
    }
    const own = [...types.keys()].filter((name) => name.startsWith("model_gateway_"));
    expect(own.filter((name) => !dashboard.includes(name))).toEqual([]);
  });

  test("asks for them by labels that they have", () => {
    const registry = new Registry();
    createMetrics(registry);
    registerWorkers(registry, workers);
    const cache = () => ({ entries: () => 0, bytes: () => 0 });
    registerGauges(registry, {
      version: "",
      configurationVersion: () => 0,
      upstreams: () => [],
      targets: () => [],
      holds: async () => ({ count: 0, amount: 0 }),
      open: () => nothingOpen,
      bodyBytes: () => 0,
      storage: { isWritable: () => true, journalRejects: () => 0 },
      database,
      redis: {
        isUp: () => true,
        nodes: () => 1,
        counts: () => ({ roundTrips: 0, roundTripSeconds: 0, timeouts: 0, failures: 0 }),
        decisions: () => ({ slice: 0, asked: 0, away: 0 }),
      },
      cache,
    });
    const labelled = registry.getMetricsAsArray() as unknown as { name: string; labelNames: string[] }[];
    const labels = new Map(labelled.map(({ name, labelNames }) => [name, ["job", "instance", "le", ...labelNames]]));
    const all = new Set([...labels.values(), "kind"].flat());
    for (const [i, text] of [alerts, dashboard].entries()) {
      const asked = [...text.matchAll(/\b(model_gateway_\w+?)(?:_bucket|_sum|_count)?\{([^{}]*)\}/g)];
      expect(asked.length, files[i]).toBeGreaterThan(5);
      for (const [whole, name = "", written = ""] of asked) {
        const used = [...written.matchAll(/(\w+)(?:=~|!~|!=|=)/g)].map(([, label]) => label as string);
        expect(
          used.filter((label) => !labels.get(name)?.includes(label)),
          whole,
        ).toEqual([]);
      }
      const sums = [...text.matchAll(/\bby \(([\w, ]+)\)/g)].flatMap(([, by = ""]) => by.split(/, */));
      expect(
        sums.filter((label) => !all.has(label)),
        files[i],
      ).toEqual([]);
    }
  });

  test("says of every alert what it means and what to do", () => {
    const each = alerts.split("- alert: ").slice(1);
    expect(each.length).toBeGreaterThan(10);
    for (const alert of each) {
      expect(alert).toMatch(/severity: (?:page|ticket)/);
      expect(alert).toMatch(/summary: ".{20,}"/);
      expect(alert).toMatch(/description: >-\n {12}\S.{40,}/);
    }
  });

  test("shows every panel once, in its own place", () => {
    const { panels } = JSON.parse(dashboard) as {
      panels: { id: number; title: string; gridPos: { x: number; y: number; w: number; h: number } }[];
    };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});
