/** The configuration is replaced while the gateway serves: the next call finds the new one, and calls that run end by the old one. */
import { afterEach, describe, expect, test } from "vitest";
import { defaultTiers } from "../../src/call/tiers.ts";
import type { Config, UpstreamConfig } from "../../src/config/config.ts";
import type { AcceleratorName } from "../../src/config/shape.ts";
import { cardId } from "../../src/ledger/price-card.ts";
import { eventually } from "../support/eventually.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../support/scripted-upstream.ts";
import { scrape } from "../support/telemetry/scrape.ts";
import {
  answerWell,
  at,
  openStage,
  price,
  type Stage,
  served,
  wholeAnswer,
} from "../support/upstreams/two-upstreams.ts";

let stage: Stage;
const others: ScriptedUpstream[] = [];

afterEach(async () => {
  await stage.close();
  await Promise.all(others.splice(0).map((other) => other.close()));
});

async function another(): Promise<ScriptedUpstream> {
  const made = await startScriptedUpstream(answerWell);
  others.push(made);
  return made;
}

function replace(changes: Partial<Config>): void {
  const { live } = stage.gateway;
  live.replace({ ...live.current(), ...changes });
}

function upstreamsWith(change: (upstream: UpstreamConfig) => readonly UpstreamConfig[]): Pick<Config, "upstreams"> {
  return { upstreams: stage.gateway.live.current().upstreams.flatMap(change) };
}

/** Begins a stream of which the first piece has come. The result ends it, and resolves to its text. */
async function beginStream(upstream: ScriptedUpstream): Promise<() => Promise<string>> {
  upstream.script = undefined;
  const asking = stage.ask({ stream: true });
  const exchange = await upstream.next();
  upstream.script = answerWell;
  const { usage, choices: _, ...head } = wholeAnswer;
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  exchange.head(200, eventStream);
  await exchange.write(chunk({ role: "assistant", content: "Hel" }));
  const response = await asking;
  return async () => {
    const last = { ...head, object: "chat.completion.chunk", choices: [], usage };
    await exchange.write(chunk({ content: "lo!" }, "stop"));
    exchange.end(`data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`);
    return response.text();
  };
}

const upstreamOf = (response: Response) => response.headers.get("x-gateway-upstream");

describe("an upstream", () => {
  test("that is added serves the next call", async () => {
    stage = await openStage([served([at("first")])]);
    const third = await another();
    replace({
      upstreams: [
        ...stage.gateway.live.current().upstreams,
        { name: "third", kind: "openai", base_url: third.baseUrl },
      ],
      models: [
        served([at("first")]),
        served([{ upstream: "third", model: "far", priority: 0, weight: 1 }], { id: "new" }),
      ],
    });
    const response = await stage.ask({ model: "new" });
    expect([response.status, upstreamOf(response)]).toEqual([200, "third"]);
  });

  test("that is removed gets no further call, ends those that run, and then loses its connections", async () => {
    stage = await openStage([served([at("first"), at("second", 1)])]);
    const finish = await beginStream(stage.first);
    replace({ ...upstreamsWith((one) => (one.name === "first" ? [] : [one])), models: [served([at("second")])] });
    expect(upstreamOf(await stage.ask())).toBe("second");
    expect(stage.gateway.counts().upstreamRunning, "the stream still counts").toBe(1);
    expect(await finish()).toMatch(/lo!.*\[DONE\]/s);
    await eventually(() => expect(stage.first.openConnections).toBe(0));
    await eventually(() => expect(stage.gateway.counts().upstreamRunning).toBe(0));
    const { storage, accountId } = stage.gateway;
    const rows = await storage.requests.page({ accountId }, undefined, 10);
    expect(rows.map(({ upstream, cost }) => [upstream, cost])).toEqual([
      ["second", 15],
      ["first", 15],
    ]);
    replace({ models: [] });
    expect((await stage.ask()).status).toBe(404);
  });

  test("is reached at its new address and by its new key, while what runs ends at the old one", async () => {
    stage = await openStage([served([at("first")])]);
    const moved = await another();
    const finish = await beginStream(stage.first);
    replace(
      upstreamsWith((one) => [one.name === "first" ? { ...one, base_url: moved.baseUrl, api_key: "other" } : one]),
    );
    expect((await stage.ask()).status).toBe(200);
    expect(moved.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer other"]);
    expect(await finish()).toMatch(/\[DONE\]/);
    expect(stage.first.received).toHaveLength(1);
    await eventually(() => expect(stage.first.openConnections).toBe(0));
  });

  test("keeps its connections, and its breaker, where others change", async () => {
    const second = { breaker: { failures: 1, openMs: 60_000 } };
    stage = await openStage([served([at("first")]), served([at("second")], { id: "other" })], second);
    stage.second.script = (exchange) => exchange.json(500, {});
    expect((await stage.ask()).status).toBe(200);
    expect((await stage.ask({ model: "other" })).status).toBe(502);
    const third: UpstreamConfig = { name: "third", kind: "openai", base_url: "http://127.0.0.1:9" };
    replace({ tiers: defaultTiers.slice(0, 1), upstreams: [third, ...upstreamsWith((one) => [{ ...one }]).upstreams] });
    replace({ tiers: defaultTiers });
    expect((await stage.ask()).status).toBe(200);
    expect(stage.first.connections, "one connection for both calls").toBe(1);
    expect((await stage.ask({ model: "other" })).status, "its breaker is open").toBe(503);
  });

  test("that was mended is asked at once: its breaker was of what it was before", async () => {
    stage = await openStage([served([at("first")])], { breaker: { failures: 1, openMs: 60_000 } });
    stage.first.script = (exchange) =>
      exchange.headers.authorization === "Bearer right" ? answerWell(exchange) : exchange.json(500, {});
    expect((await stage.ask()).status).toBe(502);
    expect((await stage.ask()).status).toBe(503);
    replace(upstreamsWith((one) => [{ ...one, api_key: "right" }]));
    expect((await stage.ask()).status).toBe(200);
  });

  test("that is switched off keeps its entry and serves nothing", async () => {
    const models = [served([at("first"), at("second", 1)])];
    stage = await openStage(models);
    const off = upstreamsWith((one) => [{ ...one, disabled: one.name === "first" }]);
    replace({ ...off, models: [served([at("second", 1)])] });
    for (let i = 0; i < 3; i++) expect(upstreamOf(await stage.ask())).toBe("second");
    replace({ ...upstreamsWith((one) => [{ ...one, disabled: false }]), models });
    expect(upstreamOf(await stage.ask())).toBe("first");
  });

  test("with a queue has more places at once, and no more than fewer", async () => {
    const queue = { max_concurrent: 1, max_queued: 10, max_wait_seconds: 30 };
    stage = await openStage([served([at("first")])], {}, {}, { queue });
    stage.first.script = undefined;
    const asked = Array.from({ length: 4 }, () => stage.ask());
    const held = [await stage.first.next()];
    await eventually(() => expect(stage.gateway.counts().upstreamQueued).toBe(3));
    replace(upstreamsWith((one) => [{ ...one, queue: { ...queue, max_concurrent: 3 } }]));
    held.push(await stage.first.next(), await stage.first.next());
    expect(stage.first.openRequests).toBe(3);
    replace(upstreamsWith((one) => [{ ...one, queue: { ...queue, max_concurrent: 1 } }]));
    answerWell(held[0] as ScriptedExchange);
    answerWell(held[1] as ScriptedExchange);
    await eventually(() => expect(stage.first.openRequests).toBe(1));
    answerWell(held[2] as ScriptedExchange);
    answerWell(await stage.first.next());
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  for (const [client, accelerators] of [
    ["the accelerator", undefined],
    ["undici", new Set<AcceleratorName>()],
  ] as const) {
    test(`that changes while calls wait for a place there has them at its old address, by ${client}`, async () => {
      const queue = { max_concurrent: 1, max_queued: 10, max_wait_seconds: 30 };
      stage = await openStage([served([at("first")])], accelerators ? { accelerators } : {}, {}, { queue });
      const moved = await another();
      stage.first.script = undefined;
      const asked = Array.from({ length: 3 }, () => stage.ask());
      const held = await stage.first.next();
      await eventually(() => expect(stage.gateway.counts().upstreamQueued).toBe(2));
      replace(upstreamsWith((one) => [one.name === "first" ? { ...one, base_url: moved.baseUrl } : one]));
      answerWell(held);
      stage.first.script = answerWell;
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
      expect([stage.first.received.length, moved.received.length]).toEqual([3, 0]);
      await eventually(() => expect(stage.first.openConnections).toBe(0));
      expect((await stage.ask()).status).toBe(200);
      expect(moved.received).toHaveLength(1);
    });
  }

  test("is checked once it is to be, and what was known of it is forgotten when it is not", async () => {
    stage = await openStage([served([at("first")])]);
    const isUp = async () =>
      (await scrape(stage.gateway.metricsPort)).value("model_gateway_upstream_up", { upstream: "first" });
    const isChecked = (exchange: ScriptedExchange) => exchange.path.endsWith("/health");
    stage.first.script = (exchange) => (isChecked(exchange) ? exchange.json(500, {}) : answerWell(exchange));
    const health_check = { path: "/health", interval_seconds: 0.05, failures: 1 };
    expect(await isUp()).toBeUndefined();
    replace(upstreamsWith((one) => [one.name === "first" ? { ...one, health_check } : one]));
    await eventually(async () => expect(await isUp()).toBe(0));
    replace(upstreamsWith(({ health_check: _, ...one }) => [one]));
    expect(await isUp()).toBeUndefined();
    const seen = stage.first.received.filter(isChecked).length;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(stage.first.received.filter(isChecked).length - seen).toBeLessThan(2);
  });
});

describe("a price", () => {
  test("is that of the moment at which a call began, and its card is kept", async () => {
    stage = await openStage([served([at("first")])], {}, { recharge: 300_000_000 });
    const finish = await beginStream(stage.first);
    replace({ models: [served([at("first")], { price: { input: price.input * 10, output: price.output * 10 } })] });
    expect((await stage.ask()).status).toBe(200);
    const dear = await stage.latest();
    await finish();
    const rows = await stage.gateway.storage.requests.page({ accountId: stage.gateway.accountId }, undefined, 10);
    const cheap = rows.find(({ id }) => id !== dear?.id);
    expect([cheap?.cost, dear?.cost]).toEqual([15, 150]);
    for (const [row, times] of [
      [cheap, 1],
      [dear, 10],
    ] as const) {
      const id = row?.price_id as string;
      const card = (await stage.gateway.storage.prices.find([id])).get(id) as string;
      expect(cardId(card)).toBe(row?.price_id);
      expect(JSON.parse(card)).toMatchObject({ input: price.input * times });
    }
  });
});

describe("a setting", () => {
  test("of tiers is that of the next call, also of a key that is known", async () => {
    stage = await openStage([served([at("first")])]);
    const limit = async () => (await stage.ask()).headers.get("x-ratelimit-limit-requests");
    expect(await limit()).toBe("10000");
    replace({ tiers: [{ name: "Only", recharge: 0, requestsPerMinute: 7, tokensPerMinute: undefined }] });
    expect(await limit()).toBe("7");
    replace({ tiers: [{ name: "Only", recharge: 0, requestsPerMinute: 700, tokensPerMinute: undefined }] });
    expect(await limit()).toBe("700");
  });

  test("of retries is that of the next call", async () => {
    stage = await openStage([served([at("first"), at("second", 1)])], { breaker: { failures: 99, openMs: 1 } });
    stage.first.script = (exchange) => exchange.json(500, {});
    expect((await stage.ask()).status).toBe(200);
    replace({ retries: { attempts: 1, share: 0 } });
    expect((await stage.ask()).status).toBe(502);
  });

  test("of the cache keeps answers where its size changes, and has none where it is off", async () => {
    const cache = { maxBytes: 1_000_000, keepMs: 60_000, priceShare: 0.5 };
    stage = await openStage([served([at("first")])], { cache });
    const kept = async () => (await stage.ask()).headers.get("x-gateway-cache");
    expect([await kept(), await kept()]).toEqual(["miss", "hit"]);
    replace({ cache: { ...cache, maxBytes: 2_000_000 } });
    expect(await kept()).toBe("hit");
    replace({ models: [served([at("second")])] });
    expect(await kept(), "the model is another by now").toBe("miss");
    replace({ cache: undefined });
    expect(await kept()).toBeNull();
    replace({ cache });
    expect(await kept()).toBe("miss");
  });

  test("of addresses and registration is told at once", async () => {
    stage = await openStage([served([at("first")])]);
    const told = async () => (await (await fetch(`${stage.gateway.rootUrl}/`)).json()) as { root_url: string };
    expect((await told()).root_url).toBe(stage.gateway.rootUrl);
    replace({ publicUrls: { root: "https://gateway.example.com" } });
    expect((await told()).root_url).toBe("https://gateway.example.com");
  });
});

describe("a configuration that cannot be", () => {
  test("changes nothing at all", async () => {
    stage = await openStage([served([at("first")])]);
    const { live } = stage.gateway;
    const before = live.current();
    const broken: Partial<Config> = {
      upstreams: [...before.upstreams.slice(1), { name: "first", kind: "openai", base_url: "no address" }],
      models: [],
      tiers: [{ name: "Only", recharge: 0, requestsPerMinute: 7, tokensPerMinute: undefined }],
    };
    expect(() => replace(broken)).toThrow("Invalid URL");
    expect(live.current()).toBe(before);
    const response = await stage.ask();
    expect([response.status, response.headers.get("x-ratelimit-limit-requests")]).toEqual([200, "10000"]);
  });

  test("of the process is not taken", async () => {
    stage = await openStage([served([at("first")])]);
    const { live } = stage.gateway;
    replace({ maxBodyBytes: 1, unit: { code: "EUR", symbol: "€" } });
    expect(live.current().unit.code).toBe("JPY");
    expect((await stage.ask()).status).toBe(200);
  });
});
