/**
 * A key's own limits, on real sockets: rates beside its account's tier, rates for single models, and the addresses that it may be used
 * from. The clock is the test's, so that nothing is refilled unless it says so.
 */
import { request as httpRequest } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import type { Limiter } from "../../../src/limits/limiter.ts";
import { createMemoryLimiter } from "../../../src/limits/memory.ts";
import { createLimit, type LimitedAccount } from "../../../src/pipeline/admit/limit.ts";
import { doors } from "../../support/clients/doors.ts";
import { openSocket } from "../../support/clients/response-sockets.ts";
import { now as begin, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { at, openStage, type Stage, served } from "../../support/upstreams/two-upstreams.ts";

type KeyChange = Parameters<TestGateway["storage"]["keys"]["update"]>[2];

const request = { model: "embedded-chat", messages: [{ role: "user", content: "say: yes" }] };

let gateway: TestGateway;
/** The gateway of a test that has opened one. */
let opened: TestGateway | undefined;
let now = begin;

async function open(settings: Parameters<typeof startTestGateway>[0] = {}): Promise<void> {
  now = begin;
  gateway = await startTestGateway(settings, { clock: () => now });
  opened = gateway;
}

afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

const change = (of: KeyChange) => gateway.storage.keys.update(gateway.accountId, gateway.keyId, of);
const models = (apiKey = gateway.apiKey, headers: Record<string, string> = {}) =>
  fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${apiKey}`, ...headers } });

async function errorOf(response: Response): Promise<{ message: string; code: string }> {
  return ((await response.json()) as { error: { message: string; code: string } }).error;
}

describe("requests a minute of a key", () => {
  beforeEach(() => open({ tiers: [{ name: "All", recharge: 0, requestsPerMinute: 20, tokensPerMinute: undefined }] }));

  test("are refused beyond its own limit, are told which it is, and cost its account nothing", async () => {
    await change({ requests_per_minute: 3 });
    const first = await models();
    expect(first.headers.get("x-gateway-limit")).toBe("key-requests;limit=3;remaining=2;reset=20");
    expect(first.headers.get("x-ratelimit-limit-requests")).toBe("3");
    expect(first.headers.get("x-ratelimit-remaining-requests")).toBe("2");
    await models();
    await models();
    const refused = await models();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "20"]);
    expect(refused.headers.get("x-gateway-limit")).toBe("key-requests;limit=3;remaining=0;reset=60");
    expect((await errorOf(refused)).message).toBe(
      "Rate limit reached: the API key is allowed 3 requests a minute. Try again in 20 s.",
    );
    // The account has used three of its twenty.
    await change({ requests_per_minute: null });
    const after = await models();
    expect(after.headers.get("x-ratelimit-remaining-requests")).toBe("16");
    expect(after.headers.get("x-gateway-limit")).toBeNull();
  });

  test("are back as time passes", async () => {
    await change({ requests_per_minute: 3 });
    for (let i = 0; i < 3; i++) expect((await models()).status).toBe(200);
    expect((await models()).status).toBe(429);
    now += 20_000;
    expect((await models()).status).toBe(200);
    expect((await models()).status).toBe(429);
  });

  test("are told as the key has them where its account is refused", async () => {
    await change({ requests_per_minute: 1 });
    const other = await openOther();
    for (let i = 0; i < 20; i++) expect((await models(other)).status).toBe(200);
    const refused = await models();
    expect((await errorOf(refused)).message).toContain("the account is allowed 20 requests a minute");
    expect(refused.headers.get("x-gateway-limit")).toBe("account-requests;limit=20;remaining=0;reset=60");
    expect(refused.headers.get("x-ratelimit-limit-requests")).toBe("20");
    // The key's one request is there when the account has one again.
    now += 3_000;
    expect((await models()).status).toBe(200);
  });

  test("are given back to the key where its account is refused", async () => {
    await change({ requests_per_minute: 19 });
    const other = await openOther();
    for (let i = 0; i < 18; i++) await models(other);
    for (let i = 0; i < 2; i++) expect((await models()).status).toBe(200);
    for (let i = 0; i < 5; i++) {
      const refused = await models();
      expect((await errorOf(refused)).message).toContain("the account is allowed 20 requests a minute");
      expect(refused.headers.get("x-gateway-limit")).toBe("account-requests;limit=20;remaining=0;reset=60");
    }
    const described = await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${gateway.apiKey}` } });
    expect(described.status).toBe(429);
    now += 60_000;
    const later = await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${gateway.apiKey}` } });
    expect(await later.json()).toMatchObject({
      key: { requests_per_minute: 19 },
      requests_remaining: 19,
      key_requests_remaining: 18,
    });
  });

  /** Makes another key of the same account. */
  async function openOther(): Promise<string> {
    const { issueKey } = await import("../../../src/services/keys/issue-key.ts");
    const init = { accountId: gateway.accountId, name: "other", admin: false, now };
    return (await issueKey(gateway.storage.keys, init)).secret;
  }

  test("are another key's own, whatever this one has used", async () => {
    await change({ requests_per_minute: 1 });
    expect((await models()).status).toBe(200);
    expect((await models()).status).toBe(429);
    expect((await models(await openOther())).status).toBe(200);
  });

  describe.each(doors)("through $name", ({ chat }) => {
    test("count all calls, and a refusal says so", async () => {
      await change({ requests_per_minute: 2 });
      const { apiKey } = gateway;
      const outcomes = [];
      for (let i = 0; i < 3; i++) outcomes.push((await chat(gateway, { request, stream: i === 1, apiKey })).refused);
      expect(outcomes.map((refused) => refused?.status)).toEqual([undefined, undefined, 429]);
    });
  });
});

describe("tokens a minute of a key", () => {
  beforeEach(() => open());

  test("are drawn after a call, and the next ones wait until the debt is paid", async () => {
    await change({ tokens_per_minute: 10 });
    const ask = () =>
      fetch(`${gateway.baseUrl}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ ...request, messages: [{ role: "user", content: `say: ${"yes ".repeat(12)}` }] }),
      });
    const first = await ask();
    expect(first.headers.get("x-ratelimit-limit-tokens")).toBe("10");
    await first.text();
    const refused = await ask();
    expect([refused.status, (await errorOf(refused)).message]).toEqual([
      429,
      expect.stringContaining("the API key is allowed 10 tokens a minute"),
    ]);
    expect(refused.headers.get("x-gateway-limit")).toMatch(/^key-tokens;limit=10;remaining=0;reset=\d+$/);
    now += 120_000;
    expect((await ask()).status).toBe(200);
  });
});

describe("rates of a key for single models", () => {
  let stage: Stage;
  const rates = (...list: object[]) =>
    stage.gateway.storage.keys.update(stage.gateway.accountId, stage.gateway.keyId, {
      model_rates: JSON.stringify(list),
    });
  beforeEach(async () => {
    stage = await openStage([served([at("first")]), { ...served([at("second")]), id: "n" }]);
    return () => stage.close();
  });

  test("bound calls of that model only, are told by a header, and nothing is asked of an upstream or held", async () => {
    await rates({ model: "m", requests: 2 });
    const first = await stage.ask();
    expect(first.headers.get("x-gateway-limit")).toBe('model-requests;limit=2;remaining=1;reset=30;model="m"');
    await stage.ask();
    const asked = stage.first.received.length;
    const refused = await stage.ask();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "30"]);
    expect((await errorOf(refused)).message).toBe(
      "Rate limit reached: the API key is allowed 2 requests a minute of the model `m`. Try again in 30 s.",
    );
    expect(stage.first.received).toHaveLength(asked);
    expect(await stage.gateway.holds()).toBe(0);
    expect((await stage.ask({ model: "n" })).status).toBe(200);
    stage.pass(30_000);
    expect((await stage.ask()).status).toBe(200);
  });

  test("count a call once, however many attempts it takes", async () => {
    await rates({ model: "m", requests: 2 });
    let failures = 1;
    const answer = stage.first.script;
    stage.first.script = (exchange) => (failures-- > 0 ? exchange.json(500, {}) : answer?.(exchange));
    expect((await stage.ask()).status).toBe(200);
    expect((await stage.ask()).status).toBe(200);
    expect((await stage.ask()).status).toBe(429);
  });

  test("of a family bound all of its models together, and what one entry refuses is given back to the other", async () => {
    await rates({ model: "m", requests: 10 }, { model: "family:f", requests: 3 });
    const statuses = [];
    for (const model of ["m", "n", "m", "n", "m"]) statuses.push((await stage.ask({ model })).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    await rates({ model: "m", requests: 10 });
    expect((await stage.ask()).headers.get("x-gateway-limit")).toContain("limit=10;remaining=7;");
  });

  test("skip a fallback model that is used up, and tell of the failure before", async () => {
    await rates({ model: "n", requests: 1 });
    expect((await stage.ask({ model: "n" })).status).toBe(200);
    stage.first.script = (exchange) => exchange.json(400, { error: { message: "no", type: "invalid_request_error" } });
    const refused = await stage.ask({ models: ["n"] });
    expect(refused.status).not.toBe(429);
  });

  test("draw the tokens of calls of that model", async () => {
    await rates({ model: "m", tokens: 12 });
    await (await stage.ask()).text();
    await (await stage.ask({ model: "n" })).text();
    // Twelve were used: nothing is left, and nothing is owed.
    await (await stage.ask()).text();
    const refused = await stage.ask();
    expect([refused.status, (await errorOf(refused)).message]).toEqual([
      429,
      expect.stringContaining("12 tokens a minute of the model `m`"),
    ]);
    expect((await stage.ask({ model: "n" })).status).toBe(200);
  });
});

describe("the addresses of a key", () => {
  const from = (address: string) => models(gateway.apiKey, { "x-forwarded-for": address });
  beforeEach(() => open({ trustedProxies: ["127.0.0.1"] }));

  test("are those of its callers, of whatever family and spelling, behind trusted proxies", async () => {
    await change({ allowed_ips: JSON.stringify(["192.0.2.7", "198.51.100.0/24", "2001:db8:1::/48"]) });
    for (const address of [
      ...["192.0.2.7", "::ffff:192.0.2.7", "::FFFF:192.0.2.7", "::ffff:c000:207", "198.51.100.255"],
      ...["2001:db8:1::5", "2001:DB8:1:ffff::", "[2001:db8:1::5]:4711", "192.0.2.7:99", "203.0.113.9, 192.0.2.7"],
    ])
      expect([address, (await from(address)).status]).toEqual([address, 200]);
    for (const address of [
      "192.0.2.8",
      "::ffff:192.0.2.8",
      "198.51.101.0",
      "2001:db8:2::5",
      "192.0.2.7, 203.0.113.9",
    ]) {
      const refused = await from(address);
      expect([address, refused.status]).toEqual([address, 403]);
      const { message, code } = await errorOf(refused);
      expect(message).toMatch(/^This API key may not be used from the address [\da-f.:]+\./);
      expect(code).toBe("ip_not_authorized");
    }
  });

  test("are read from the last of several headers that a trusted proxy has written, by every server", async () => {
    await change({ allowed_ips: JSON.stringify(["192.0.2.7"]) });
    const body = JSON.stringify(request);
    const asked: readonly (readonly [forwarded: readonly string[], status: number])[] = [
      [["203.0.113.9", "192.0.2.7"], 200],
      [["192.0.2.7", "203.0.113.9"], 403],
      // What the client has written stands before what the proxy adds.
      [["192.0.2.7, 203.0.113.9", "192.0.2.7"], 200],
      [["203.0.113.9, 127.0.0.1", "127.0.0.1"], 403],
      [["192.0.2.7, 127.0.0.1"], 200],
      [["192.0.2.7", "unknown"], 403],
      [["192.0.2.7", ""], 403],
      [["fe80::1%eth0"], 403],
      [["::ffff:c000:207"], 200],
      [["0:0:0:0:0:FFFF:192.0.2.7"], 200],
      [[], 403],
    ];
    for (const [forwarded, status] of asked)
      for (const [method, path, sent] of [
        ["GET", "/v1/models", ""],
        ["POST", "/v1/chat/completions", body],
      ] as const)
        expect([forwarded, method, await statusOf(method, path, forwarded, sent)]).toEqual([forwarded, method, status]);
  });

  /** Sends each of the headers in a line of its own. */
  function statusOf(method: string, path: string, forwarded: readonly string[], body: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = {
        ...{ authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
        ...(forwarded.length > 0 ? { "x-forwarded-for": [...forwarded] } : {}),
        ...(body === "" ? {} : { "content-length": Buffer.byteLength(body) }),
      };
      const asked = httpRequest({ host: "127.0.0.1", port: gateway.port, method, path, headers }, (answer) => {
        answer.resume();
        answer.on("end", () => resolve(answer.statusCode ?? 0));
      });
      asked.on("error", reject);
      asked.end(body);
    });
  }

  test("are refused before anything is counted, and a network of IPv4 alone lets no IPv6 in", async () => {
    await change({ allowed_ips: JSON.stringify(["0.0.0.0/0"]) });
    expect((await from("203.0.113.9")).status).toBe(200);
    expect((await from("2001:db8::1")).status).toBe(403);
    await change({ allowed_ips: JSON.stringify(["127.0.0.2"]), requests_per_minute: 5 });
    const refused = await models();
    expect([refused.status, refused.headers.get("x-ratelimit-remaining-requests")]).toEqual([403, null]);
    await change({ allowed_ips: null });
    expect((await models()).headers.get("x-ratelimit-remaining-requests")).toBe("4");
  });

  test("are not taken from a header that no trusted proxy has written", async () => {
    const other = await startTestGateway();
    try {
      await other.storage.keys.update(other.accountId, other.keyId, { allowed_ips: JSON.stringify(["192.0.2.7"]) });
      const headers = { authorization: `Bearer ${other.apiKey}`, "x-forwarded-for": "192.0.2.7" };
      expect((await fetch(`${other.baseUrl}/models`, { headers })).status).toBe(403);
    } finally {
      await other.close();
    }
  });

  test("hold for a WebSocket's handshake and for each of its messages", async () => {
    const socket = await openSocket(gateway);
    expect((await socket.ask({ model: "embedded-chat", input: "say: yes" })).at(-1)?.type).toBe("response.completed");
    await change({ allowed_ips: JSON.stringify(["192.0.2.7"]) });
    const last = (await socket.ask({ model: "embedded-chat", input: "say: yes" })).at(-1);
    expect(last?.error?.message ?? last?.type).toContain("may not be used from the address 127.0.0.1");
    await socket.close();
    await expect(openSocket(gateway)).rejects.toThrow("403");
  });
});

describe("ten thousand keys with limits", () => {
  test("leave keys without them as they are: these ask for nothing more, and wait for nothing", () => {
    const asked: string[] = [];
    const memory = createMemoryLimiter(() => 0);
    const limiter: Limiter = {
      ...memory,
      take(id, rate, cost) {
        asked.push(id);
        return memory.take(id, rate, cost);
      },
    };
    const { limit } = createLimit({ limiter, clock: () => 0 });
    const tier = { name: "All", recharge: 0, requestsPerMinute: 30_000, tokensPerMinute: undefined };
    const { createChatCompletion } = InferenceService.method;
    const limits = { requestsPerMinute: 10, tokensPerMinute: 1000, models: [], maxConcurrent: 2 };
    const ask = (key: LimitedAccount["key"]) =>
      limit({ id: "acc", tier, key }, createChatCompletion, Family.OPENAI, undefined);
    for (let i = 0; i < 10_000; i++) ask({ id: `key_${i}`, limits });
    expect(asked).toHaveLength(30_000);
    asked.length = 0;
    const limited = ask(undefined);
    expect(asked).toEqual(["acc"]);
    // It is there at once: no promise was made on the way.
    expect(limited).toMatchObject({ headers: { "x-ratelimit-remaining-requests": "19999" }, nearest: undefined });
  });
});
