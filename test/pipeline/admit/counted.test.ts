/**
 * What counts for which rate, at every door: a call that a model answers takes from all, and one that the cache or a replay answers is a
 * request of the account and of the key, and takes nothing of a model's rate and no tokens.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { doors } from "../../support/clients/doors.ts";
import { openSocket } from "../../support/clients/response-sockets.ts";
import { eventually } from "../../support/eventually.ts";
import { at, openStage, type Stage, served } from "../../support/upstreams/two-upstreams.ts";

let stage: Stage;
const request = { model: "m", messages: [{ role: "user", content: "Hi" }] };
const tiers = [{ name: "All", recharge: 0, requestsPerMinute: 100, tokensPerMinute: 5000 }];
const cache = { maxBytes: 1024 * 1024, keepMs: 60_000, priceShare: 0.5 };

const start = async (more: Parameters<typeof openStage>[1] = {}) => {
  stage = await openStage([served([at("first")])], { tiers, ...more });
  await limit({ requests_per_minute: 20, tokens_per_minute: 1000 });
};
const limit = (of: Parameters<Stage["gateway"]["storage"]["keys"]["update"]>[2]) =>
  stage.gateway.storage.keys.update(stage.gateway.accountId, stage.gateway.keyId, {
    model_rates: JSON.stringify([{ model: "m", requests: 10, tokens: 500 }]),
    ...of,
  });
afterEach(() => stage.close());

interface Limit {
  readonly name: string;
  readonly limit: number;
  readonly remaining: number;
}

/** Returns what has been taken from each limit: by explaining, too, which is a request of the account and of the key. */
async function taken(): Promise<Record<string, number>> {
  const response = await stage.ask(
    { ...({ request, model: undefined, messages: undefined } as object) },
    {},
    "/explain",
  );
  const { limits } = (await response.json()) as { limits: readonly Limit[] };
  return Object.fromEntries(limits.map(({ name, limit: of, remaining }) => [name, of - remaining]));
}

const tokens = 12;
const ofOneAnswer = { "account-tokens": tokens, "key-tokens": tokens, "model-requests": 1, "model-tokens": tokens };

describe.each(doors)("through $name", ({ chat }) => {
  test.each([false, true])(
    "an answer from the cache is a request, and nothing of the model's rate (stream: %s)",
    async (stream) => {
      await start({ cache });
      for (let i = 0; i < 3; i++) expect((await chat(stage.gateway, { request, stream })).refused).toBeUndefined();
      expect(stage.first.received).toHaveLength(1);
      await eventually(async () => expect(await taken()).toMatchObject(ofOneAnswer));
    },
  );

  test.each([false, true])("a replay is a request, and nothing of the model's rate (stream: %s)", async (stream) => {
    await start();
    const headers = { "idempotency-key": "again" };
    for (let i = 0; i < 3; i++)
      expect((await chat(stage.gateway, { request, stream, headers })).refused).toBeUndefined();
    expect(stage.first.received).toHaveLength(1);
    await eventually(async () => expect(await taken()).toMatchObject(ofOneAnswer));
  });

  test("a key's requests count those answers, too, and a refusal of the key takes nothing of its account", async () => {
    await start({ cache });
    await limit({ requests_per_minute: 2 });
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await chat(stage.gateway, { request, stream: false })).refused?.status);
    expect(statuses).toEqual([undefined, undefined, 429, 429]);
    await limit({ requests_per_minute: null });
    // Two calls, and this question.
    expect(await taken()).toMatchObject({ "account-requests": 3, "model-requests": 1 });
  });
});

test("over a WebSocket each message is a request, and takes from the model as a call does", async () => {
  await start();
  const socket = await openSocket(stage.gateway);
  const before = await taken();
  for (let i = 0; i < 2; i++)
    expect((await socket.ask({ model: "m", input: "Hi" })).at(-1)?.type).toBe("response.completed");
  await eventually(async () =>
    expect(await taken()).toMatchObject({ "model-requests": 2, "model-tokens": 2 * tokens }),
  );
  const { "key-requests": now = 0 } = await taken();
  expect(now - (before["key-requests"] ?? 0)).toBeGreaterThanOrEqual(3);
  await socket.close();
});

describe("takes nothing of a model's rate", () => {
  beforeEach(() => start());
  const ofModel = async () => (await taken())["model-requests"];

  test("a call whose cost is not covered", async () => {
    await limit({ credit_limit: 10 });
    expect((await stage.ask({ max_tokens: 100_000 })).status).toBe(402);
    expect(await ofModel()).toBe(0);
  });

  test("a call whose request is wrong, whose model is not there, or that only counts tokens", async () => {
    expect((await stage.ask({ temperature: "hot" })).status).toBe(400);
    expect((await stage.ask({ model: "gone" })).status).toBe(404);
    expect(await ofModel()).toBe(0);
  });

  test("a call that goes beyond another entry", async () => {
    const rates = [
      { model: "m", requests: 10 },
      { model: "family:f", requests: 1 },
    ];
    await limit({ model_rates: JSON.stringify(rates) });
    expect((await stage.ask()).status).toBe(200);
    expect((await stage.ask()).status).toBe(429);
    await limit({ model_rates: JSON.stringify(rates.slice(0, 1)) });
    expect(await ofModel()).toBe(1);
  });
});

describe("a key whose limits change while a call of its runs", () => {
  beforeEach(() => start());

  /** Changes the key while its only call runs, and returns when that has ended. */
  async function during(change: () => Promise<unknown>): Promise<void> {
    const { script } = stage.first;
    stage.first.script = undefined;
    const asked = stage.ask();
    const exchange = await stage.first.next();
    await change();
    script?.(exchange);
    await (await asked).text();
    stage.first.script = script;
  }

  test("owes the tokens that the call has used, and no more, once it may use many", async () => {
    await limit({ tokens_per_minute: 10 });
    await during(() => limit({ tokens_per_minute: 1000 }));
    await eventually(async () => expect((await stage.ask()).status).toBe(429));
    // It has used twelve of ten: two are paid back at once.
    stage.pass(1000);
    expect((await stage.ask()).status).toBe(200);
  });

  test("owes them all once it may use few", async () => {
    await during(async () => {
      await limit({ tokens_per_minute: 10 });
      await taken();
    });
    let last: Response | undefined;
    await eventually(async () => {
      last = await stage.ask({ model: "gone" });
      expect(last.status).toBe(429);
    });
    expect(last?.headers.get("x-gateway-limit")).toMatch(/^key-tokens;limit=10;remaining=0;/);
  });

  test("has its place back, whether the limit of its calls is raised, lowered or removed meanwhile", async () => {
    for (const [before, after] of [
      [1, 5],
      [5, 1],
      [1, null],
      [null, 1],
    ]) {
      await limit({ max_concurrent: before ?? null });
      await during(() => limit({ max_concurrent: after ?? null }));
      await eventually(() => expect(stage.gateway.counts().keyCalls).toBe(0));
      await limit({ max_concurrent: 1 });
      expect((await stage.ask()).status).toBe(200);
    }
  });
});
