/** Two gateways over one Redis: callers have one rate, whichever answers them, and an operator sees what stands between them. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";
import { type Gateway, startGateway } from "../../src/composition/gateway.ts";
import { type Config, loadConfig } from "../../src/config/config.ts";
import type { RedisConfig } from "../../src/config/shape.ts";
import { root } from "../support/command.ts";
import { environment } from "../support/environment.ts";
import { eventually } from "../support/eventually.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis/server.ts";
import { startScriptedUpstream } from "../support/scripted-upstream.ts";
import { wholeAnswer } from "../support/upstreams/two-upstreams.ts";

const password = "a-word-that-nobody-reads";
const tiers = [{ name: "All", recharge: 0, requestsPerMinute: 20, tokensPerMinute: undefined }];

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Fleet {
  readonly server: RedisServer;
  readonly first: TestGateway;
  /** The ports of both. */
  readonly ports: readonly [number, number];
}

/** Starts two gateways on one database. */
async function startFleet(more: Partial<RedisConfig> = {}, settings: Partial<Config> = {}): Promise<Fleet> {
  const server = await startRedis("redis", ["--requirepass", password]);
  closing.push(() => server.kill());
  const url = `redis://:${password}@127.0.0.1:${server.port}/2`;
  const redis: RedisConfig = {
    ...{
      url,
      isCluster: false,
      prefix: "fleet:",
      whenAway: "divide",
      assumedNodes: 1,
      timeoutMs: 200,
      connectMs: 2_000,
    },
    ...more,
  };
  const shared = { tiers, redis, ...settings };
  const first = await startTestGateway(shared);
  closing.push(() => first.close());
  const second = await startSecond(first, shared);
  return { server, first, ports: [first.port, second.port] };
}

async function startSecond(first: TestGateway, settings: Partial<Config>): Promise<Gateway> {
  const config = { ...loadConfig(undefined, environment), port: 0, metrics: undefined, ...settings };
  const storage = await first.database.open();
  const gateway = await startGateway({ config, storage, log: pino({ level: "silent" }) });
  closing.push(async () => {
    await gateway.close();
    await storage.close();
  });
  return gateway;
}

function ask(port: number, key: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/v1/models`, { headers: { authorization: `Bearer ${key}`, ...headers } });
}

const fastTier = [{ name: "All", recharge: 0, requestsPerMinute: 10_000, tokensPerMinute: undefined }];

async function chat(port: number | undefined, key: string): Promise<{ status: number; body: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "embedded-chat", max_tokens: 10, messages: [{ role: "user", content: "Hi" }] }),
  });
  return { status: answer.status, body: await answer.text() };
}

const metricsOf = async ({ metricsPort }: TestGateway) =>
  (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();

test("nothing of it is loaded without REDIS_URL", async () => {
  const program = `
    import { createRequire } from "node:module";
    const loaded = async () => {
      const { startLimits } = await import("./src/composition/limits.ts");
      const url = process.env.REDIS_URL;
      const times = { timeoutMs: 50, connectMs: 50 };
      const redis = url ? { url, isCluster: false, prefix: "", whenAway: "divide", assumedNodes: 1, ...times } : undefined;
      const limits = await startLimits({ config: { redis }, log: { info() {}, warn() {} }, clock: Date.now });
      await limits.close();
      return Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes("@redis")).length;
    };
    console.log(await loaded());
  `;
  const count = async (env: Record<string, string>) => {
    const args = ["--input-type=module", "--eval", program];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: root,
      env: { ...process.env, ...env },
    });
    return Number(stdout);
  };
  expect(await count({})).toBe(0);
  expect(await count({ REDIS_URL: "redis://127.0.0.1:1" })).toBeGreaterThan(10);
});

describe.skipIf(!hasRedis.redis)("redis", () => {
  test("a caller of two gateways has its rate once, and reads of both what is left", async () => {
    const { first, ports } = await startFleet();
    const left: string[] = [];
    for (let i = 0; i < 20; i++) {
      const answer = await ask(ports[i % 2] as number, first.apiKey);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("x-ratelimit-limit-requests")).toBe("20");
      left.push(answer.headers.get("x-ratelimit-remaining-requests") as string);
    }
    expect(left).toEqual(Array.from({ length: 20 }, (_, i) => String(19 - i)));
    for (const port of ports) {
      const refused = await ask(port, first.apiKey);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(3);
      expect(((await refused.json()) as { error: { code: string } }).error.code).toBe("rate_limit_exceeded");
    }
  });

  test("who guesses at one gateway is known at the other", async () => {
    const { ports } = await startFleet({}, { failedCredentials: { perMinute: 6 } });
    for (let i = 0; i < 6; i++) expect((await ask(ports[0], `sk-wrong-${i}-${"x".repeat(30)}`)).status).toBe(401);
    expect((await ask(ports[1], `sk-wrong-7-${"x".repeat(30)}`)).status).toBe(429);
  });

  test("an upstream has so many calls of both gateways together as its queue says", async () => {
    let [running, most] = [0, 0];
    const upstream = await startScriptedUpstream(async (exchange) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running--;
      exchange.json(200, wholeAnswer);
    });
    closing.push(() => upstream.close());
    const queue = { max_concurrent: 3, max_queued: 100, max_wait_seconds: 30 };
    const { upstreams = [], ...behind } = upstreamAt(upstream.baseUrl);
    const settings = { ...behind, upstreams: upstreams.map((one) => ({ ...one, queue })) };
    const tiers = [{ name: "All", recharge: 0, requestsPerMinute: 10_000, tokensPerMinute: undefined }];
    const { first, ports } = await startFleet({}, { ...settings, tiers });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        fetch(`http://127.0.0.1:${ports[i % 2]}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${first.apiKey}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "embedded-chat", max_tokens: 10, messages: [{ role: "user", content: "Hi" }] }),
        }).then(async (answer) => ({ status: answer.status, body: await answer.text() })),
      ),
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(most).toBe(3);
  });

  test("a key has one rate of its own, and one of a model, whichever gateway its calls come to", async () => {
    const { first, ports } = await startFleet({}, { tiers: fastTier });
    const change = (of: object) => first.storage.keys.update(first.accountId, first.keyId, of);
    await change({ requests_per_minute: 20 });
    // The other gateway knows of a change within a second.
    await eventually(async () =>
      expect((await ask(ports[1], first.apiKey)).headers.get("x-ratelimit-limit-requests")).toBe("20"),
    );
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(ports[i % 2] ?? 0, first.apiKey)));
    const admitted = answers.filter(({ status }) => status === 200).length;
    expect([...new Set(answers.map(({ status }) => status))].sort()).toEqual([200, 429]);
    // What was asked before was taken, and a server gives one back in three seconds.
    expect(admitted).toBeLessThanOrEqual(22);
    expect(admitted).toBeGreaterThanOrEqual(5);
    await change({ requests_per_minute: null, model_rates: '[{"model":"embedded-chat","requests":10}]' });
    await eventually(async () =>
      expect((await ask(ports[1], first.apiKey)).headers.get("x-ratelimit-limit-requests")).toBe("10000"),
    );
    const chats = await Promise.all(Array.from({ length: 40 }, (_, i) => chat(ports[i % 2], first.apiKey)));
    const of = (status: number) => chats.filter((one) => one.status === status).length;
    expect(of(200)).toBeGreaterThanOrEqual(10);
    expect(of(200)).toBeLessThanOrEqual(12);
    expect(of(429)).toBe(40 - of(200));
  });

  test("a key has never more calls running than it may, of both gateways together, and they use all of its places", async () => {
    let [running, most] = [0, 0];
    const upstream = await startScriptedUpstream(async (exchange) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 30));
      running--;
      exchange.json(200, wholeAnswer);
    });
    closing.push(() => upstream.close());
    const { first, ports } = await startFleet({}, { ...upstreamAt(upstream.baseUrl), tiers: fastTier });
    await first.storage.keys.update(first.accountId, first.keyId, { max_concurrent: 3 });
    await eventually(async () => {
      const told = await Promise.all(Array.from({ length: 8 }, () => chat(ports[1], first.apiKey)));
      expect(told.map(({ status }) => status)).toContain(429);
    });
    await eventually(() => expect(first.counts().keyCalls).toBe(0));
    most = 0;
    let [done, refused] = [0, 0];
    const until = performance.now() + 1_500;
    const caller = async (i: number) => {
      while (performance.now() < until) {
        const { status } = await chat(ports[i % 2], first.apiKey);
        if (status === 200) done++;
        else if (status === 429) refused++;
        else expect.fail(`answered ${status}`);
      }
    };
    await Promise.all(Array.from({ length: 10 }, (_, i) => caller(i)));
    expect(most).toBe(3);
    expect(done).toBeGreaterThan(10);
    expect(refused).toBeGreaterThan(0);
    await eventually(() => expect(first.counts().keyCalls).toBe(0));
  });

  test("metrics and the log say how it stands, and neither knows the password", async () => {
    const { server, first, ports } = await startFleet();
    await ask(ports[0], first.apiKey);
    await eventually(async () => expect(await metricsOf(first)).toMatch(/^model_gateway_redis_nodes 2$/m));
    const text = await metricsOf(first);
    expect(text).toMatch(/^model_gateway_redis_up 1$/m);
    expect(text).toMatch(/^model_gateway_redis_decisions_total\{by="asked"\} 1$/m);
    expect(text).toMatch(/^model_gateway_redis_round_trips_total [1-9]/m);
    expect(first.logged()).toContain(`"redis":"redis://127.0.0.1:${server.port}/2"`);
    await server.kill();
    await eventually(() => expect(first.logged()).toContain('"cause":"nothing listens at that address","nodes":2'));
    expect(await metricsOf(first)).toMatch(/^model_gateway_redis_up 0$/m);
    expect((await fetch(`${first.rootUrl}/readyz`)).status).toBe(200);
    const answer = await ask(ports[0], first.apiKey);
    expect(answer.status).toBe(200);
    expect(Number(answer.headers.get("x-ratelimit-remaining-requests"))).toBeLessThan(10);
    await server.restart();
    await eventually(() => expect(first.logged()).toContain("Redis is back: rates are shared again"));
  });

  test("calls are refused while it is away, where that is configured", async () => {
    const { server, first, ports } = await startFleet({ whenAway: "refuse" });
    expect((await ask(ports[0], first.apiKey)).status).toBe(200);
    await server.kill();
    await eventually(async () => {
      const refused = await ask(ports[0], first.apiKey);
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).toBe("1");
      expect(((await refused.json()) as { error: { message: string } }).error.message).toBe(
        "The gateway cannot count rates at the moment. Try again in 1 s.",
      );
    });
    expect((await ask(ports[0], `sk-wrong-${"x".repeat(40)}`)).status).toBe(401);
    expect((await fetch(`${first.rootUrl}/readyz`)).status).toBe(200);
    await server.restart();
    await eventually(async () => expect((await ask(ports[0], first.apiKey)).status).toBe(200));
  });
});
