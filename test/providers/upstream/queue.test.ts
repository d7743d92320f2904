/**
 * The queue before an upstream with a limited number of calls: the limit holds, higher tiers go first, and calls that
 * may not wait are refused or sent elsewhere. An aborted call leaves at once.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Frames } from "../../../src/call/call.ts";
import type { Config, ModelConfig, UpstreamConfig } from "../../../src/config/config.ts";
import type { Attempt, Provider, Speak } from "../../../src/providers/contract.ts";
import { createQueues } from "../../../src/providers/upstream/queue.ts";
import type { Wire } from "../../../src/wire/wire.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { openAccount } from "../../support/payer.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import { wholeAnswer as answer, at, chunk, price } from "../../support/upstreams/two-upstreams.ts";
import { done, openaiFrames } from "../../support/vendors.ts";

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let gateway: TestGateway;

type QueueConfig = NonNullable<UpstreamConfig["queue"]>;

async function start(queue: Partial<QueueConfig>, targets = [at("first")], config: Partial<Config> = {}) {
  const whole: QueueConfig = { max_concurrent: 1, max_queued: 100, max_wait_seconds: 60, ...queue };
  const upstreams: UpstreamConfig[] = [
    { name: "first", kind: "openai", base_url: first.baseUrl, api_key: "k", queue: whole },
    { name: "second", kind: "openai", base_url: second.baseUrl, api_key: "k" },
  ];
  const model: ModelConfig = { id: "m", aliases: [], family: "f", kind: "chat", price, targets };
  gateway = await startTestGateway({
    upstreams,
    models: [model],
    embeddedModels: false,
    disconnectDrainMs: 300,
    ...config,
  });
}

interface Ask {
  readonly content?: string;
  readonly stream?: boolean;
  readonly apiKey?: string;
  readonly signal?: AbortSignal;
  readonly timeout?: string;
}

function ask({
  content = "Hi",
  stream = false,
  apiKey = gateway.apiKey,
  signal,
  timeout,
}: Ask = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  return fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: timeout === undefined ? headers : { ...headers, "x-gateway-timeout": timeout },
    body: JSON.stringify({ model: "m", max_tokens: 10, stream, messages: [{ role: "user", content }] }),
    signal: signal ?? null,
  });
}

/** Resolves when so many calls are reserved and not ended: they are at the upstream, or wait for it. */
const underWay = (count: number) =>
  eventually(async () => expect((await gateway.storage.holds.total()).count).toBe(count));

const contentOf = ({ body }: ScriptedExchange) => JSON.parse(body.toString()).messages[0].content as string;
const answerIt = (exchange: ScriptedExchange) => exchange.json(200, answer);
const queueTime = (response: Response) =>
  Number(/queue;dur=([\d.]+)/.exec(response.headers.get("server-timing") ?? "")?.[1]);

beforeEach(async () => {
  [first, second] = [await startScriptedUpstream(), await startScriptedUpstream(answerIt)];
});
afterEach(async () => {
  await gateway.close();
  await Promise.all([first.close(), second.close()]);
});

test("the upstream never has more calls than its limit, and all callers are answered", async () => {
  await start({ max_concurrent: 4 });
  let most = 0;
  let open: ScriptedExchange[] = [];
  first.script = (exchange) => {
    most = Math.max(most, first.openRequests);
    open.push(exchange);
    if (open.length < 4 && first.received.length < 50) return;
    // Meanwhile a caller with a disallowed bound comes.
    setTimeout(() => {
      const answered = open;
      open = [];
      for (const one of answered) answerIt(one);
    }, 10);
  };
  const responses = await Promise.all(Array.from({ length: 50 }, () => ask()));
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  expect(most).toBe(4);
  expect(first.received).toHaveLength(50);
});

test("callers of a higher tier go first, and within a tier in order of arrival", async () => {
  await start({});
  const payers = { free: await openAccount(gateway), premium: await openAccount(gateway, { recharge: 300_000_000 }) };
  const holder = ask({ content: "holder" });
  const held = await first.next();
  const asked: Promise<Response>[] = [];
  for (const content of ["free 1", "free 2", "premium 1", "premium 2"]) {
    const { apiKey } = await payers[content.split(" ")[0] as keyof typeof payers];
    asked.push(ask({ content, apiKey }));
    await underWay(1 + asked.length);
  }
  first.script = answerIt;
  answerIt(held);
  const responses = await Promise.all([holder, ...asked]);
  expect(first.received.map(contentOf)).toEqual(["holder", "premium 1", "premium 2", "free 1", "free 2"]);
  expect(responses.map((response) => response.headers.get("x-gateway-attempts"))).toEqual(Array(5).fill("1"));
});

test("the time in the queue is reported, and counts neither as the upstream's nor as the gateway's", async () => {
  await start({});
  const holder = ask();
  const held = await first.next();
  const waiting = ask();
  await underWay(2);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  first.script = answerIt;
  answerIt(held);
  await holder;
  const response = await waiting;
  expect(queueTime(response)).toBeGreaterThan(900);
  const [upstream = 0, own = 0] = ["upstream", "gateway"].map((part) =>
    Number(new RegExp(`${part};dur=([\\d.]+)`).exec(response.headers.get("server-timing") ?? "")?.[1]),
  );
  expect(Math.max(upstream, own)).toBeLessThan(900);
});

describe("with a full queue", () => {
  test("a caller is refused, and told when to retry", async () => {
    await start({ max_queued: 1 });
    const holder = ask();
    const held = await first.next();
    const waiting = ask();
    await underWay(2);
    const response = await ask();
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.json()).toMatchObject({ error: { code: "service_unavailable" } });
    first.script = answerIt;
    answerIt(held);
    expect((await Promise.all([holder, waiting])).map(({ status }) => status)).toEqual([200, 200]);
    expect(first.received).toHaveLength(2);
  });

  test("of no length, a caller is still answered where there is a slot", async () => {
    await start({ max_queued: 0 });
    first.script = answerIt;
    for (let i = 0; i < 5; i++) expect((await ask()).status).toBe(200);
  });

  test("another target is tried at once, and the full one does not trip its breaker", async () => {
    const targets = [at("first"), at("second", 1)];
    const retries = { attempts: 2, share: 0 };
    await start({ max_queued: 0 }, targets, { retries, breaker: { failures: 1, openMs: 60_000 } });
    const holder = ask();
    const held = await first.next();
    const response = await ask();
    expect([response.status, response.headers.get("x-gateway-upstream")]).toEqual([200, "second"]);
    expect(response.headers.get("x-gateway-attempts")).toBe("2");
    const [told] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
    expect(JSON.parse(told?.tried ?? "null")).toMatchObject([
      { upstream: "first", failure: "it has as many calls as it may have" },
    ]);
    first.script = answerIt;
    answerIt(held);
    await holder;
    expect((await ask()).headers.get("x-gateway-upstream")).toBe("first");
  });

  test("a caller that disconnects makes room at once, and is never sent to the upstream", async () => {
    await start({ max_queued: 1 });
    const holder = ask();
    const held = await first.next();
    for (let i = 0; i < 3; i++) {
      const leave = new AbortController();
      const leaving = ask({ content: "left", signal: leave.signal }).catch(({ name }: Error) => name);
      await underWay(2);
      leave.abort();
      expect(await leaving).toBe("AbortError");
      await underWay(1);
    }
    const waiting = ask({ content: "stayed" });
    await underWay(2);
    first.script = answerIt;
    answerIt(held);
    expect((await Promise.all([holder, waiting])).map(({ status }) => status)).toEqual([200, 200]);
    expect(first.received.map(contentOf)).toEqual(["Hi", "stayed"]);
  });
});

describe("a caller that has waited its maximum", () => {
  test.each([
    ["the upstream's queue", { max_wait_seconds: 0.1 }, undefined],
    ["its caller", {}, "0.1"],
  ])("by %s is refused, and makes room for another", async (_, queue, timeout) => {
    await start({ max_queued: 1, ...queue });
    const holder = ask();
    const held = await first.next();
    const begunAt = performance.now();
    const response = await ask(timeout === undefined ? {} : { timeout });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(performance.now() - begunAt).toBeGreaterThan(80);
    answerIt(held);
    await holder;
    first.script = answerIt;
    expect((await ask()).status).toBe(200);
  });
});

describe("a stream holds its slot", () => {
  async function streaming(signal?: AbortSignal) {
    await start({});
    const asked = ask({ stream: true, ...(signal ? { signal } : {}) });
    const exchange = await first.next();
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chunk({ role: "assistant", content: "Hel" })));
    const response = await asked;
    const waiting = ask({ content: "next" });
    await underWay(2);
    expect(first.received).toHaveLength(1);
    first.script = answerIt;
    return { exchange, response, waiting };
  }

  test("until its last frame", async () => {
    const { exchange, response, waiting } = await streaming();
    exchange.end(`${openaiFrames(chunk({}, "stop"))}${done}`);
    expect(await response.text()).toContain("[DONE]");
    expect((await waiting).status).toBe(200);
    expect(first.received.map(contentOf)).toEqual(["Hi", "next"]);
  });

  test("until it breaks off", async () => {
    const { exchange, response, waiting } = await streaming();
    exchange.destroy();
    expect(await response.text()).toContain('"error"');
    expect((await waiting).status).toBe(200);
  });

  test("until its caller disconnects", async () => {
    const leave = new AbortController();
    const { exchange, waiting } = await streaming(leave.signal);
    leave.abort();
    await exchange.left;
    expect((await waiting).status).toBe(200);
  });
});

test("several prompts of one stream do not wait for each other's slots", async () => {
  await start({ max_concurrent: 1, max_wait_seconds: 2 });
  first.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(`${openaiFrames(chunk({ content: "Hello!" }), chunk({}, "stop"))}${done}`);
  };
  const response = await fetch(`${gateway.baseUrl}/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", stream: true, max_tokens: 10, prompt: ["a", "b", "c"] }),
  });
  expect(response.status).toBe(200);
  expect((await response.text()).endsWith("data: [DONE]\n\n")).toBe(true);
  expect(first.received).toHaveLength(3);
});

describe("what the operator sees", () => {
  const queue = { max_concurrent: 2, max_queued: 3, max_wait_seconds: 60 };
  const attempt = (signal: AbortSignal) =>
    ({ signal, priority: 0, timeouts: {}, record: { queuedMs: 0 } }) as unknown as Attempt<"chat", "stream">;

  /** A provider whose streams never end. */
  function endless(): Provider {
    async function* frames(): Frames {
      for (;;) yield await new Promise<Wire[]>(() => {});
    }
    const chat = async () => ({ kind: "stream", frames: frames() }) as const;
    return { kind: "openai", speaks: { chat: chat as unknown as Speak<"chat"> }, close: async () => {} };
  }

  const speakBehind = (queues: ReturnType<typeof createQueues>) => {
    const speak = queues.wrap("far", endless()).speaks.chat as Speak<"chat">;
    return async (asked: Attempt<"chat", "stream">) => speak(asked);
  };

  test("is the calls with a slot and those that wait; unread frames free theirs when the caller disconnects", async () => {
    await start({});
    const queues = createQueues([{ name: "far", queue }]);
    const speak = speakBehind(queues);
    const callers = Array.from({ length: 5 }, () => new AbortController());
    const asked = callers.map(({ signal }) => speak(attempt(signal)).catch((error: Error) => error.message));
    await Promise.all(asked.slice(0, 2));
    const seen = () => [queues.running("far"), queues.queued("far"), queues.maxConcurrent("far")];
    expect(seen()).toEqual([2, 3, 2]);
    await expect(speak(attempt(new AbortController().signal))).rejects.toThrow(/as many calls as it may have/);
    callers[4]?.abort();
    expect(seen()).toEqual([2, 2, 2]);
    expect(await asked[4]).toMatch(/went away/);
    callers[0]?.abort();
    await asked[2];
    expect(seen()).toEqual([2, 1, 2]);
    for (const caller of callers) caller.abort();
    await Promise.all(asked);
    expect(seen()).toEqual([0, 0, 2]);
    // Jobs of aborted calls delay nobody.
    const { signal } = new AbortController();
    await Promise.all([speak(attempt(signal)), speak(attempt(signal))]);
    expect(seen()).toEqual([2, 0, 2]);
  });

  test("gives a slot that is free, also where the process has no time until the longest wait is over", async () => {
    await start({});
    const queue = { max_concurrent: 1, max_queued: 1, max_wait_seconds: 0.001 };
    const queues = createQueues([{ name: "far", queue }]);
    const caller = new AbortController();
    const asked = speakBehind(queues)(attempt(caller.signal));
    for (const until = performance.now() + 20; performance.now() < until; );
    await asked;
    expect(queues.running("far")).toBe(1);
    caller.abort();
  });

  test("is nothing for an upstream without a queue, which is called directly", async () => {
    await start({});
    const queues = createQueues([{ name: "far" }]);
    const provider = endless();
    expect(queues.wrap("far", provider)).toBe(provider);
    expect([queues.running("far"), queues.queued("far"), queues.maxConcurrent("far")]).toEqual([0, 0, undefined]);
  });
});
