/**
 * The rate of an account through every door, wherever it is counted: in memory, or by the server that `TEST_LIMITS` names. Nothing is
 * refilled in memory, whose clock stands still; a server gives back a request in six seconds.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { doors } from "../../support/clients/doors.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { openAccount } from "../../support/payer.ts";
import { limitsOfTest } from "../../support/redis/test-limits.ts";

const rate = 10;
const tiers = [{ name: "All", recharge: 0, requestsPerMinute: rate, tokensPerMinute: undefined }];
const request = { model: "embedded-chat", messages: [{ role: "user", content: "say: yes" }] };

let gateway: TestGateway;

beforeEach(async () => {
  gateway = await startTestGateway({ tiers });
  return async () => {
    await gateway.close();
    expect(gateway.logged().includes("rates are shared over Redis")).toBe(limitsOfTest() !== undefined);
    expect(gateway.logged()).not.toContain("Redis is away");
  };
});

/** Expects as many as the rate admits at once, and at most what a minute's sixth gives back. */
function expectRate(statuses: readonly number[]): void {
  const admitted = statuses.filter((status) => status === 200).length;
  expect([...new Set(statuses)].sort()).toEqual([200, 429]);
  expect(admitted).toBeGreaterThanOrEqual(rate);
  expect(admitted).toBeLessThanOrEqual(rate + 3);
}

describe.each(doors)("through $name", ({ chat }) => {
  const statusOf = async (apiKey: string, stream: boolean) =>
    (await chat(gateway, { request, stream, apiKey })).refused?.status ?? 200;

  test("calls that come at once are answered up to the rate, and another account's all the same", async () => {
    const payer = await openAccount(gateway, { recharge: 300_000_000 });
    expectRate(await Promise.all(Array.from({ length: 2 * rate }, (_, i) => statusOf(payer.apiKey, i % 2 === 0))));
    const other = await openAccount(gateway, { recharge: 300_000_000 });
    expect(await statusOf(other.apiKey, false)).toBe(200);
  });
});

test("one account has one rate, whichever door its calls come through", async () => {
  const payer = await openAccount(gateway, { recharge: 300_000_000 });
  const statuses = Array.from({ length: 3 * rate }, async (_, i) => {
    const { chat } = doors[i % doors.length] as (typeof doors)[number];
    return (await chat(gateway, { request, stream: false, apiKey: payer.apiKey })).refused?.status ?? 200;
  });
  expectRate(await Promise.all(statuses));
});

test("an answer says what is left, and a refusal when to come back", async () => {
  const payer = await openAccount(gateway, { recharge: 300_000_000 });
  const ask = () => fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${payer.apiKey}` } });
  const first = await ask();
  expect([first.status, first.headers.get("x-ratelimit-remaining-requests")]).toEqual([200, String(rate - 1)]);
  const all = await Promise.all(Array.from({ length: 2 * rate }, ask));
  const refused = all.find(({ status }) => status === 429);
  expect(refused?.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(Number(refused?.headers.get("retry-after"))).toBeLessThanOrEqual(60 / rate);
});
