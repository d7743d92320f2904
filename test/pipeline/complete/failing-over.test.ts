/**
 * What callers get, and pay, while upstreams fail: before the first content another target is tried, or the same one again; a target
 * that keeps failing is left alone; after the first content no other attempt is made.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ChatCompletionChunkSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Config, ModelConfig, UpstreamConfig } from "../../../src/config/config.ts";
import { firstContentGate } from "../../../src/pipeline/attempt/first-content-gate.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import { wholeAnswer as answer, at, chunk, served, told } from "../../support/upstreams/two-upstreams.ts";
import { openaiFrames } from "../../support/vendors.ts";

const goodStream = (exchange: ScriptedExchange) =>
  exchange.stream(chunk({ role: "assistant", content: "Hel" }), chunk({ content: "lo!" }), chunk({}, "stop"));

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let gateway: TestGateway;
let now = 0;

async function start(targets: ModelConfig["targets"], overrides: Partial<Config> = {}): Promise<void> {
  const upstreams: UpstreamConfig[] = [
    { name: "first", kind: "openai", base_url: first.baseUrl, api_key: "k" },
    { name: "second", kind: "openai", base_url: second.baseUrl, api_key: "k" },
  ];
  const retries = { attempts: 3, share: 0.15 };
  const breaker = { failures: 5, openMs: 5000 };
  const config = { upstreams, models: [served(targets)], embeddedModels: false, retries, breaker, ...overrides };
  gateway = await startTestGateway(config, { clock: () => now, postpaid: false, recharge: 300_000_000 });
}

function ask(body: object = {}): Promise<Response> {
  return fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], ...body }),
  });
}

async function latest() {
  const [request] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
  return request;
}

beforeEach(async () => {
  now = Date.UTC(2026, 0, 2);
  [first, second] = [
    await startScriptedUpstream(),
    await startScriptedUpstream((exchange) => exchange.json(200, answer)),
  ];
});
afterEach(async () => {
  await gateway.close();
  await Promise.all([first.close(), second.close()]);
});

/** What an upstream does instead of answering, before any content. */
const failures: Readonly<Record<string, (exchange: ScriptedExchange) => void>> = {
  "refuses with 500": (exchange) => exchange.json(500, { error: { message: "broken" } }),
  "refuses with 503": (exchange) => exchange.json(503, { error: { message: "overloaded" } }),
  "refuses with 429 and asks to wait": (exchange) =>
    exchange.json(429, { error: { message: "slow down" } }, { "retry-after": "30" }),
  "refuses the gateway's own key": (exchange) => exchange.json(401, { error: { message: "no" } }),
  "breaks the connection before its head": (exchange) => exchange.reset(),
  "answers what is no JSON": (exchange) => {
    exchange.head(200, { "content-type": "application/json" });
    exchange.end("<html>");
  },
  "answers 200 with an error": (exchange) => exchange.json(200, { error: { message: "broken", code: 500 } }),
};

describe("where a model has another target", () => {
  beforeEach(() => start([at("first", 0), at("second", 1)]));

  for (const [what, script] of Object.entries(failures)) {
    test(`one that ${what} is replaced at once, and the call is charged as it was answered`, async () => {
      first.script = script;
      const response = await ask();
      expect(told(response)).toEqual([200, "second", "2"]);
      expect(((await response.json()) as typeof answer).choices[0]?.message.content).toBe("Hello!");
      expect([first.received.length, second.received.length]).toEqual([1, 1]);
      expect(await latest()).toMatchObject({
        upstream: "second",
        outcome: Outcome.ANSWERED,
        input: 9,
        output: 3,
        cost: 15,
      });
      expect(JSON.parse((await latest())?.tried ?? "null")).toMatchObject([
        { upstream: "first", failure: expect.any(String) },
      ]);
      expect((await latest())?.tried).not.toMatch(/broken|overloaded|slow down/);
    });
  }

  test("one that cannot be reached is replaced", async () => {
    await first.close();
    expect(told(await ask())).toEqual([200, "second", "2"]);
    first = await startScriptedUpstream();
  });

  test("a stream that fails before its first content is replaced, and its head was never told", async () => {
    first.script = (exchange) => {
      exchange.head(200, eventStream);
      void exchange.write(openaiFrames(chunk({ role: "assistant" })));
      exchange.end(openaiFrames({ error: { message: "overloaded", code: 503 } }));
    };
    second.script = goodStream;
    const response = await ask({ stream: true });
    expect(told(response)).toEqual([200, "second", "2"]);
    const text = await response.text();
    expect(text.match(/"role":"assistant"/g)).toHaveLength(1);
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });

  test("a stream that breaks after its first content is not: its caller has begun to read", async () => {
    first.script = async (exchange) => {
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(chunk({ role: "assistant", content: "Hel" })));
      exchange.destroy();
    };
    const response = await ask({ stream: true });
    expect(told(response)).toEqual([200, "first", "1"]);
    const text = await response.text();
    expect(text).toContain("Hel");
    expect(text).toContain('"error"');
    expect(text).not.toContain("[DONE]");
    expect(second.received).toHaveLength(0);
    expect(await latest()).toMatchObject({ upstream: "first", outcome: Outcome.BROKEN, tried: null });
  });

  test("what the caller did wrong is told at once, and nobody else is asked", async () => {
    first.script = (exchange) => exchange.json(400, { error: { message: "bad", type: "invalid_request_error" } });
    expect((await ask()).status).toBe(400);
    expect(second.received).toHaveLength(0);
    expect(await latest()).toMatchObject({ outcome: Outcome.REJECTED, cost: 0 });
  });

  test("where both fail the caller is told of the last, and nothing is charged or held", async () => {
    first.script = failures["refuses with 500"];
    second.script = failures["refuses with 503"];
    const response = await ask();
    // The third attempt goes to the second one again, after a pause.
    expect(response.status).toBe(503);
    expect(first.received.length + second.received.length).toBe(3);
    expect(await latest()).toMatchObject({ upstream: "second", outcome: Outcome.FAILED, cost: 0, input: 0 });
    // The last attempt is the request's own.
    const tried = JSON.parse((await latest())?.tried ?? "null") as readonly { readonly upstream: string }[];
    expect(tried.map(({ upstream }) => upstream)).toEqual(["first", "second"]);
    await gateway.storage.recall(gateway.accountId);
    expect(await gateway.storage.accounts.find(gateway.accountId)).toMatchObject({ held: 0, balance: 300_000_000 });
  });

  test("one that keeps failing is left alone, then tried by one call, and comes back", async () => {
    first.script = failures["refuses with 500"];
    for (let i = 0; i < 8; i++) expect((await ask()).status).toBe(200);
    expect(first.received).toHaveLength(5);
    now += 5000;
    const both = await Promise.all([ask(), ask()]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(first.received).toHaveLength(6);
    first.script = (exchange) => exchange.json(200, answer);
    now += 5000;
    expect(told(await ask())).toEqual([200, "first", "1"]);
    expect(told(await ask())).toEqual([200, "first", "1"]);
  });

  test("one that asks to be left alone is, for as long as it asks, and is asked all the same where there is no other", async () => {
    await start([at("first"), at("second", 1)]);
    first.script = (exchange) => exchange.json(429, { error: { message: "slow down" } }, { "retry-after": "30" });
    const upstreams = async () => (await ask()).headers.get("x-gateway-upstream");
    expect([await upstreams(), await upstreams()]).toEqual(["second", "second"]);
    expect(first.received).toHaveLength(1);
    second.script = (exchange) => exchange.json(500, {});
    expect((await ask()).status).toBe(429);
    second.script = (exchange) => exchange.json(200, answer);
    const before = first.received.length;
    now += 29_000;
    await ask();
    expect(first.received).toHaveLength(before);
    now += 2_000;
    await ask();
    expect(first.received).toHaveLength(before + 1);
  });

  test("a stream's head is held back for ten seconds at most, and then nothing is lost", async () => {
    vi.useFakeTimers();
    const batch = [Wire.ofJson(ChatCompletionChunkSchema, {})];
    const { promise: more, resolve: goOn } = Promise.withResolvers<void>();
    async function* frames() {
      yield batch;
      await more;
      yield batch;
    }
    const held = firstContentGate({ kind: "stream", frames: frames() }, () => false);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(await Promise.race([held, "held"])).toBe("held");
    await vi.advanceTimersByTimeAsync(1);
    const answer = await held;
    vi.useRealTimers();
    goOn();
    const seen: unknown[] = [];
    if (answer.kind === "stream") for await (const frame of answer.frames) seen.push(frame);
    expect(seen).toEqual([batch, batch]);
  });

  test("no more than a mebibyte of it is held back, however quickly nothing is said", async () => {
    const batch = [Wire.ofJson(ChatCompletionChunkSchema, { id: "x".repeat(100_000) })];
    let asked = 0;
    async function* frames() {
      for (; ; asked++) yield batch;
    }
    const { kind } = await firstContentGate({ kind: "stream", frames: frames() }, () => asked > 100);
    expect([kind, asked]).toEqual(["stream", 10]);
  });

  test("the caller's leaving ends the attempt, and no other is made", async () => {
    const leave = new AbortController();
    const asked = fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hi" }] }),
      signal: leave.signal,
    }).catch((error: Error) => error.name);
    const exchange = await first.next();
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chunk({ role: "assistant" })));
    leave.abort();
    expect(await asked).toBe("AbortError");
    await exchange.left;
    expect(second.received).toHaveLength(0);
  });
});

describe("where a model has one target", () => {
  beforeEach(() => start([at("first")]));

  test("it is tried again after a pause, and the call goes well", async () => {
    let asked = 0;
    first.script = (exchange) =>
      ++asked < 3 ? exchange.json(500, { error: { message: "broken" } }) : exchange.json(200, answer);
    expect(told(await ask())).toEqual([200, "first", "3"]);
    expect(JSON.parse((await latest())?.tried ?? "null")).toHaveLength(2);
    expect(await latest()).toMatchObject({ outcome: Outcome.ANSWERED, input: 9, output: 3, cost: 15 });
  });

  test("it is not when it asks for more patience than a caller has, nor when it refuses the gateway's key", async () => {
    for (const [what, status] of [
      ["refuses with 429 and asks to wait", 429],
      ["refuses the gateway's own key", 502],
    ] as const) {
      first.script = failures[what];
      const before = first.received.length;
      expect((await ask()).status, what).toBe(status);
      expect(first.received.length - before, what).toBe(1);
    }
  });

  test("busy, it is not taken for broken: its own words reach every caller", async () => {
    first.script = failures["refuses with 429 and asks to wait"];
    for (let i = 0; i < 8; i++) {
      const response = await ask();
      expect([response.status, response.headers.get("retry-after")]).toEqual([429, "30"]);
    }
    expect(first.received).toHaveLength(8);
  });

  test("dead, it is sent at most a fifth more than it is offered, and callers are told when to come back", async () => {
    await gateway.close();
    await start([at("first")], { breaker: { failures: Number.MAX_SAFE_INTEGER, openMs: 1 } });
    first.script = failures["refuses with 500"];
    const offered = 120;
    const answers = await Promise.all(Array.from({ length: offered }, () => ask()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]));
    expect(first.received.length).toBeGreaterThan(offered);
    expect(first.received.length).toBeLessThanOrEqual(offered * 1.2);
    await gateway.close();
    await start([at("first")]);
    const before = first.received.length;
    let last = await ask();
    for (let i = 0; i < 10; i++) last = await ask();
    expect(last.status).toBe(503);
    expect(last.headers.get("retry-after")).toBe("5");
    expect(first.received.length - before).toBeLessThanOrEqual(7);
  });
});

test("a refusal after attempts says where the call went and how long it took; one before them does not", async () => {
  await start([at("first", 0), at("second", 1)]);
  first.script = failures["refuses with 500"];
  second.script = failures["refuses with 500"];
  const refused = await ask();
  expect(told(refused)).toEqual([502, "second", "3"]);
  expect(refused.headers.get("x-gateway-model")).toBe("m");
  expect(refused.headers.get("server-timing")).toMatch(/^queue;dur=0\.00, upstream;dur=[\d.]+, gateway;dur=[\d.]+$/);
  second.script = (exchange) => exchange.json(400, { error: { message: "no such thing" } });
  expect(told(await ask())).toEqual([400, "second", "2"]);
  expect(told(await ask({ model: "n" }))).toEqual([404, null, null]);
});

test("while a target that was left alone answers its trial slowly, another call a second tries it, too", async () => {
  await start([at("first")], { breaker: { failures: 1, openMs: 5000 }, retries: { attempts: 1, share: 0 } });
  first.script = failures["refuses with 500"];
  expect((await ask()).status).toBe(502);
  now += 5000;
  first.script = undefined;
  const trial = ask();
  const slow = await first.next();
  const refused = await ask();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  now += 1000;
  const another = ask();
  const quick = await first.next();
  quick.json(200, answer);
  expect((await another).status).toBe(200);
  slow.json(200, answer);
  expect((await trial).status).toBe(200);
  expect(gateway.logged()).toContain(
    '"upstream":"first","model":"far","msg":"a target is left alone: it keeps failing"',
  );
  expect(gateway.logged()).toContain('"msg":"a target takes calls again"');
});
