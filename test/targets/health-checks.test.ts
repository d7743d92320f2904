/**
 * Health checks of upstreams: an upstream that fails some in a row is avoided where there is another, until it answers again.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ModelConfig, UpstreamConfig } from "../../src/config/config.ts";
import { type Checked, type HealthChecksOptions, startHealthChecks } from "../../src/targets/health-checks.ts";
import { eventually } from "../support/eventually.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { type ScriptedExchange, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { wholeAnswer as answer, at } from "../support/upstreams/two-upstreams.ts";

const secret = "sk-of-the-upstream";
const every = { path: "/health?deep=1", interval_seconds: 0.1, failures: 2 };

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let gateway: TestGateway | undefined;
/** The answer of the first upstream to its checks. */
let check: (exchange: ScriptedExchange) => void;

async function start(
  { kind = "openai", health_check }: Partial<UpstreamConfig> = {},
  targets = [at("first"), at("second", 1)],
): Promise<TestGateway> {
  const checked = health_check ? { health_check } : {};
  const upstreams: UpstreamConfig[] = [
    { name: "first", kind, base_url: first.baseUrl, api_key: secret, ...checked },
    { name: "second", kind: "openai", base_url: second.baseUrl, api_key: secret },
  ];
  const model: ModelConfig = { id: "m", aliases: [], family: "f", kind: "chat", targets };
  gateway = await startTestGateway({ upstreams, models: [model], embeddedModels: false });
  return gateway;
}

async function asked(): Promise<string | null> {
  const { baseUrl, apiKey } = gateway as TestGateway;
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }] }),
  });
  expect(response.status).toBe(200);
  return response.headers.get("x-gateway-upstream");
}

const checks = (upstream: ScriptedUpstream) => upstream.received.filter(({ method }) => method === "GET");
const logLines = (words: RegExp) => (gateway as TestGateway).logged().match(new RegExp(words, "g")) ?? [];
const told = (words: RegExp, times: number) => eventually(() => expect(logLines(words)).toHaveLength(times));

const [fails, passes] = [/fails its health checks/, /passes its health checks again/];
const well = (exchange: ScriptedExchange) => exchange.json(204, undefined);
const unwell = (exchange: ScriptedExchange) => exchange.json(503, { error: { message: `not with ${secret}` } });

beforeEach(async () => {
  check = well;
  const script = (exchange: ScriptedExchange) =>
    exchange.method === "GET" ? check(exchange) : exchange.json(200, answer);
  [first, second] = [await startScriptedUpstream(script), await startScriptedUpstream(script)];
});
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
  await Promise.all([first.close(), second.close()]);
});

test("an upstream that fails some in a row is passed over, and asked again when it is well", async () => {
  await start({ health_check: every });
  expect(await asked()).toBe("first");
  check = unwell;
  await told(fails, 1);
  expect(await asked()).toBe("second");
  check = well;
  await told(passes, 1);
  expect(await asked()).toBe("first");
  check = unwell;
  await told(fails, 2);
  expect(await asked()).toBe("second");
});

test("each change is told once, in the gateway's own words", async () => {
  const { logged } = await start({ health_check: every });
  check = unwell;
  await told(fails, 1);
  const seen = checks(first).length;
  await eventually(() => expect(checks(first).length).toBeGreaterThan(seen + 3));
  const lines = logged()
    .split("\n")
    .filter((line) => fails.test(line));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, upstream: "first", failure: "it answered with status 503" },
  ]);
  expect(logged()).not.toContain(secret);
});

test("one that does not answer fails, as does one that refuses or breaks off", async () => {
  for (const [script, failure] of [
    [() => {}, "it did not answer in time"],
    [(exchange: ScriptedExchange) => exchange.json(404, {}), "it answered with status 404"],
    [(exchange: ScriptedExchange) => exchange.reset(), "the connection to it broke"],
  ] as const) {
    check = script;
    const { logged } = await start({ health_check: every });
    await told(fails, 1);
    expect(logged()).toContain(failure);
    await gateway?.close();
    gateway = undefined;
  }
});

test("where there is no other, one that is down is asked all the same", async () => {
  check = unwell;
  await start({ health_check: every }, [at("first")]);
  await told(fails, 1);
  expect(await asked()).toBe("first");
});

test.each([
  ["openai", { authorization: `Bearer ${secret}` }],
  ["anthropic", { "x-api-key": secret, "anthropic-version": "2023-06-01" }],
] as const)("a check asks %s's upstreams for the path, with the key; others are not asked", async (kind, headers) => {
  await start({ kind, health_check: every });
  await eventually(() => expect(checks(first).length).toBeGreaterThan(2));
  const [exchange] = checks(first);
  expect(exchange).toMatchObject({ path: "/v1/health?deep=1", headers });
  expect(checks(second)).toEqual([]);
});

describe("in time", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const one = (ask: (signal: AbortSignal) => Promise<void>, failures = 3): Checked => {
    return { upstream: "u", intervalMs: 1000, failures, path: "/health", check: (_, signal) => ask(signal) };
  };
  const startWith = (checked: Checked, options: HealthChecksOptions) => {
    const checks = startHealthChecks(options);
    checks.replace([checked]);
    return checks;
  };
  const nobody = { targets: { checked: () => {} }, onChanged: () => {} };

  test("the first check comes anywhere within the interval, and then one in each", async () => {
    const ask = vi.fn(async () => {});
    const { close } = startWith(one(ask), { ...nobody, random: () => 0.4 });
    await vi.advanceTimersByTimeAsync(399);
    expect(ask).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ask).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(3000);
    expect(ask).toHaveBeenCalledTimes(4);
    close();
  });

  test("failures count in a row: one that is well now and then is up, and each change is told once", async () => {
    const [up, down] = [true, false];
    const answers = [down, down, up, down, down, down, down, up, up];
    const told: unknown[] = [];
    const checked = (_: string, isUp: boolean) => told.push(isUp);
    const onChanged = (name: string, isUp: boolean) => told.push(`${name} is ${isUp ? "up" : "down"}`);
    const ask = async () => {
      if (answers.shift() !== up) throw new Error("not well");
    };
    const { close } = startWith(one(ask), { targets: { checked }, onChanged, random: () => 0 });
    await vi.advanceTimersByTimeAsync(8500);
    expect(answers).toEqual([]);
    expect(told).toEqual([up, down, "u is down", down, up, "u is up", up]);
    close();
  });

  test("none comes after the gateway was closed, the one that runs is given up, and tells nothing", async () => {
    const checked = vi.fn();
    let given: AbortSignal | undefined;
    const ask = vi.fn(async (signal: AbortSignal) => {
      given = signal;
      await new Promise((_, reject) => signal.addEventListener("abort", reject));
    });
    const { close } = startWith(one(ask), { ...nobody, targets: { checked }, random: () => 0 });
    await vi.advanceTimersByTimeAsync(0);
    expect(given?.aborted).toBe(false);
    close();
    expect(given?.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ask).toHaveBeenCalledTimes(1);
    expect(checked).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("one that waits for its turn when the gateway closes never comes", async () => {
    const ask = vi.fn(async () => {});
    const { close } = startWith(one(ask), { ...nobody, random: () => 0.5 });
    close();
    await vi.advanceTimersByTimeAsync(5000);
    expect(ask).not.toHaveBeenCalled();
  });
});
