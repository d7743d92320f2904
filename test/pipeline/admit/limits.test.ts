/**
 * Rate limits: what the buckets admit and refuse, to the request, over simulated time.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { type Caller, nobody } from "../../../src/call/call.ts";
import { Reason, type Refusal } from "../../../src/call/refusals.ts";
import { defaultTiers, nextTier, type Tier, tierOf } from "../../../src/call/tiers.ts";
import type { Rate } from "../../../src/limits/limiter.ts";
import { createMemoryLimiter } from "../../../src/limits/memory.ts";
import { createLimit, type LimitedAccount } from "../../../src/pipeline/admit/limit.ts";
import { rateHeaders } from "../../../src/pipeline/admit/rate-headers.ts";

const minute = 60_000;
const perMinute = (capacity: number): Rate => ({ capacity, windowMs: minute });

/** A limiter whose time stands until the test moves it. */
function limiterInTime(start = Date.UTC(2026, 0, 1)) {
  const time = { now: start };
  const limiter = createMemoryLimiter(() => time.now);
  return { time, limiter };
}

/** Takes one at a time until refused. */
function takeAll(limiter: ReturnType<typeof createMemoryLimiter>, id: string, rate: Rate): number {
  let admitted = 0;
  while (limiter.take(id, rate, 1).allowed) admitted++;
  return admitted;
}

describe("an account", () => {
  test("has 60 of 61 requests in one second answered on Free, and is told when to come back", () => {
    const { time, limiter } = limiterInTime();
    const decisions = Array.from({ length: 61 }, () => {
      time.now += 10;
      return limiter.take("acc", perMinute(60), 1);
    });
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(60);
    expect(decisions[0]).toEqual({ allowed: true, limit: 60, remaining: 59, retryAfterMs: 0, resetMs: 1_000 });
    // 600 ms have refilled 0.6 of a request since the first, and the rest comes in another 400.
    expect(decisions[60]).toEqual({ allowed: false, limit: 60, remaining: 0, retryAfterMs: 400, resetMs: 59_400 });
    time.now += 399;
    expect(limiter.take("acc", perMinute(60), 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    time.now += 1;
    expect(limiter.take("acc", perMinute(60), 1).allowed).toBe(true);
  });

  for (const rate of [60, 1_200, 10_000]) {
    test(`that asks without pause gets ${rate} a minute over an hour, within 0.1 %`, () => {
      const { time, limiter } = limiterInTime();
      const burst = takeAll(limiter, "acc", perMinute(rate));
      expect(burst).toBe(rate);
      let admitted = 0;
      for (let passed = 0; passed < 60 * minute; passed++) {
        time.now++;
        admitted += takeAll(limiter, "acc", perMinute(rate));
      }
      // Exact, in fact: the hour ends on a refill of each of these rates.
      expect(admitted).toBe(rate * 60);
    });
  }

  test("that asks for more than the rate ever holds is refused for good, and loses nothing", () => {
    const { limiter } = limiterInTime();
    expect(limiter.take("acc", perMinute(60), 61)).toMatchObject({
      allowed: false,
      remaining: 60,
      retryAfterMs: Infinity,
    });
    expect(takeAll(limiter, "acc", perMinute(60))).toBe(60);
  });

  test("does not feel what another account uses", () => {
    const { limiter } = limiterInTime();
    takeAll(limiter, "acc_1", perMinute(60));
    expect(limiter.take("acc_2", perMinute(60), 1).remaining).toBe(59);
  });

  test("keeps its share of the bucket when its tier changes, up and down", () => {
    const { time, limiter } = limiterInTime();
    limiter.take("acc", perMinute(60), 45);
    expect(limiter.take("acc", perMinute(1_200), 0)).toMatchObject({ limit: 1_200, remaining: 300, resetMs: 45_000 });
    limiter.take("acc", perMinute(1_200), 150);
    expect(limiter.take("acc", perMinute(10_000), 0).remaining).toBe(1_250);
    expect(limiter.take("acc", perMinute(60), 0).remaining).toBe(7);
    time.now += minute;
    for (const rate of [60, 1_200, 10_000, 60]) expect(limiter.take("acc", perMinute(rate), 0).remaining).toBe(rate);
  });

  test("pays for tokens that it used beyond the bucket, for one window at most", () => {
    const { time, limiter } = limiterInTime();
    const rate = perMinute(1_000);
    limiter.draw("acc", rate, 1_500);
    expect(limiter.take("acc", rate, 0)).toEqual({
      allowed: false,
      limit: 1_000,
      remaining: 0,
      retryAfterMs: 30_000,
      resetMs: 90_000,
    });
    limiter.draw("acc", rate, 1_000_000_000);
    expect(limiter.take("acc", rate, 1)).toMatchObject({ allowed: false, retryAfterMs: minute + 60 });
    time.now += minute;
    expect(limiter.take("acc", rate, 0)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("owes what it owes at whatever moment, whoever else calls meanwhile", () => {
    const rate = perMinute(60);
    for (let moment = 0; moment < 300; moment++) {
      const { time, limiter } = limiterInTime();
      const others = (seconds: number) => {
        for (let i = 0; i < seconds; i++, time.now += 1_000) limiter.take("other", rate, 1);
      };
      others(moment);
      limiter.draw("acc", rate, 120);
      others(119);
      expect(limiter.take("acc", rate, 0), `drawn in second ${moment}`).toMatchObject({
        remaining: 59,
        resetMs: 1_000,
      });
    }
  });

  test("neither gains nor waits when the clock is set back", () => {
    const { time, limiter } = limiterInTime();
    takeAll(limiter, "acc", perMinute(60));
    time.now -= 24 * 60 * minute;
    expect(limiter.take("acc", perMinute(60), 1)).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
    time.now += 1_000;
    expect(takeAll(limiter, "acc", perMinute(60))).toBe(1);
  });

  test("has one bucket's worth, and no more, when the clock leaps ahead", () => {
    const { time, limiter } = limiterInTime();
    takeAll(limiter, "acc", perMinute(60));
    time.now += 365 * 24 * 60 * minute;
    expect(takeAll(limiter, "acc", perMinute(60))).toBe(60);
  });
});

describe("whatever the times and the rate", () => {
  const rates = fc.record({
    capacity: fc.integer({ min: 1, max: 300 }),
    windowMs: fc.constantFrom(1_000, 7_919, minute),
  });

  test("no span of time admits more than the bucket and its refill", () => {
    const gaps = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 40 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(rates, gaps, (rate, steps) => {
        const { time, limiter } = limiterInTime();
        const admitted: number[] = [];
        for (const [gap, asked] of steps) {
          time.now += gap;
          for (let i = 0; i < asked; i++) if (limiter.take("acc", rate, 1).allowed) admitted.push(time.now);
        }
        for (const [first, from] of admitted.entries()) {
          for (const [more, to] of admitted.slice(first).entries()) {
            const bound = rate.capacity + ((to - from) * rate.capacity) / rate.windowMs;
            if (more + 1 > bound) return false;
          }
        }
        return true;
      }),
    );
  });

  test("one who asks without pause gets all of it, to the last whole request", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 100 });
    fc.assert(
      fc.property(rates, gaps, (rate, steps) => {
        const { time, limiter } = limiterInTime();
        let admitted = takeAll(limiter, "acc", rate);
        let refilled = 0;
        let held = 0;
        for (const gap of steps) {
          time.now += gap;
          const now = takeAll(limiter, "acc", rate);
          // What a full bucket cannot hold is lost, and nothing else.
          held = Math.min(rate.capacity * rate.windowMs, held + gap * rate.capacity);
          refilled += now;
          held -= now * rate.windowMs;
          expect(held).toBeGreaterThanOrEqual(0);
          expect(held).toBeLessThan(rate.windowMs);
          admitted += now;
        }
        expect(admitted).toBe(rate.capacity + refilled);
        if (steps.every((gap) => gap * rate.capacity <= (rate.capacity - 1) * rate.windowMs)) {
          const passed = steps.reduce((sum, gap) => sum + gap, 0);
          expect(admitted).toBe(rate.capacity + Math.floor((passed * rate.capacity) / rate.windowMs));
        }
      }),
    );
  });

  test("each of many buckets decides as if none were ever forgotten", () => {
    const known: readonly Rate[] = [
      { capacity: 3, windowMs: 1_000 },
      { capacity: 60, windowMs: minute },
      { capacity: 50, windowMs: 5 * minute },
    ];
    const step = fc.record({
      gap: fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 12 * minute })),
      which: fc.nat({ max: known.length - 1 }),
      cost: fc.integer({ min: 0, max: 70 }),
      draws: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const { time, limiter } = limiterInTime();
        // The same buckets, kept for ever, as exact fractions: held times windowMs.
        const models = known.map(({ capacity, windowMs }) => ({ held: capacity * windowMs, at: time.now }));
        for (const { gap, which, cost, draws } of steps) {
          time.now += gap;
          const rate = known[which] as Rate;
          const model = models[which] as { held: number; at: number };
          const full = rate.capacity * rate.windowMs;
          model.held = Math.min(full, model.held + (time.now - model.at) * rate.capacity);
          model.at = time.now;
          if (draws) {
            limiter.draw(`acc ${which}`, rate, cost);
            model.held = Math.max(-full, model.held - cost * rate.windowMs);
            continue;
          }
          const allowed = model.held >= cost * rate.windowMs;
          if (allowed) model.held -= cost * rate.windowMs;
          expect(limiter.take(`acc ${which}`, rate, cost)).toMatchObject({
            allowed,
            remaining: Math.max(0, Math.floor(model.held / rate.windowMs)),
            resetMs: Math.ceil((full - model.held) / rate.capacity),
          });
        }
      }),
      { numRuns: 300 },
    );
  });
});

test("10,000 live accounts cost less than 5 MB and no timer, and idle ones nothing", async () => {
  const program = `
    import { newId } from "./src/runtime/ids.ts";
    import { createMemoryLimiter } from "./src/limits/memory.ts";
    const heap = () => { gc(); gc(); return process.memoryUsage().heapUsed; };
    let now = Date.now();
    const limiter = createMemoryLimiter(() => now);
    const rate = { capacity: 60, windowMs: 60_000 };
    const call = (id) => { limiter.take(id, rate, 1); limiter.draw(id + " tokens", { capacity: 1_000_000, windowMs: 60_000 }, 1_234); };
    call("acc_first");
    const before = heap();
    for (let i = 0; i < 10_000; i++) call(newId("acc"));
    const live = heap() - before;
    for (let i = 0; i < 2; i++) { now += 120_000; call("acc_first"); }
    const idle = heap() - before;
    console.log(JSON.stringify({ live, idle, timers: process.getActiveResourcesInfo().filter((name) => /Time|Immediate/.test(name)) }));
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--expose-gc", "--input-type=module", "--eval", program],
    { cwd: new URL("../../..", import.meta.url) },
  );
  const { live, idle, timers } = JSON.parse(stdout);
  expect(live).toBeGreaterThan(500_000); // They are there at all.
  expect(live).toBeLessThan(5_000_000);
  expect(idle).toBeLessThan(200_000);
  expect(timers).toEqual([]);
});

describe("a tier", () => {
  const units = (amount: number) => amount * 1_000_000;
  const steps: [recharged: number, tier: string, next: string | undefined, rate: number][] = [
    [0, "Free", "VIP", 60],
    [units(20) - 1, "Free", "VIP", 60],
    [units(20), "VIP", "Premium", 1_200],
    [units(300) - 1, "VIP", "Premium", 1_200],
    [units(300), "Premium", undefined, 10_000],
    [units(1_000_000_000), "Premium", undefined, 10_000],
    [-1, "Free", "VIP", 60], // More was refunded than is known of.
  ];
  for (const [recharged, tier, next, rate] of steps) {
    test(`${tier} holds at ${recharged} millionths recharged, and ${next ?? "none"} comes next`, () => {
      expect(tierOf(defaultTiers, recharged)).toMatchObject({ name: tier, requestsPerMinute: rate });
      expect(nextTier(defaultTiers, recharged)?.name).toBe(next);
    });
  }

  test("may be the only one", () => {
    const only: Tier = { name: "All", recharge: 0, requestsPerMinute: 5, tokensPerMinute: undefined };
    expect(tierOf([only], 7)).toBe(only);
    expect(nextTier([only], 7)).toBeUndefined();
  });
});

describe("the headers of an answer", () => {
  const now = Date.UTC(2026, 1, 28, 23, 59, 30, 500);
  const requests = { allowed: true, limit: 1_200, remaining: 1_199, retryAfterMs: 0, resetMs: 50 };
  const tokens = { allowed: true, limit: 30_000, remaining: 12_345, retryAfterMs: 0, resetMs: 35_310 };

  for (const family of ["OPENAI", "RESPONSES", "ADMIN"] as const) {
    test(`are OpenAI's in the family ${family}`, () => {
      expect(rateHeaders(Family[family], { requests, tokens, creditRemaining: 1_500_000 }, now)).toEqual({
        "x-ratelimit-limit-requests": "1200",
        "x-ratelimit-remaining-requests": "1199",
        "x-ratelimit-reset-requests": "50ms",
        "x-ratelimit-limit-tokens": "30000",
        "x-ratelimit-remaining-tokens": "12345",
        "x-ratelimit-reset-tokens": "35.31s",
        "x-gateway-credit-remaining": "1.50",
      });
    });
  }

  test("are Anthropic's in the family ANTHROPIC", () => {
    expect(rateHeaders(Family.ANTHROPIC, { requests, tokens, creditRemaining: 0 }, now)).toEqual({
      "anthropic-ratelimit-requests-limit": "1200",
      "anthropic-ratelimit-requests-remaining": "1199",
      "anthropic-ratelimit-requests-reset": "2026-02-28T23:59:31Z",
      "anthropic-ratelimit-tokens-limit": "30000",
      "anthropic-ratelimit-tokens-remaining": "12345",
      "anthropic-ratelimit-tokens-reset": "2026-03-01T00:00:06Z",
      "x-gateway-credit-remaining": "0.00",
    });
  });

  for (const family of [Family.OPENAI, Family.ANTHROPIC]) {
    test(`of family ${family} name neither tokens nor credit where nothing bounds them`, () => {
      const names = Object.keys(rateHeaders(family, { requests, tokens: undefined, creditRemaining: undefined }, now));
      expect(names).toHaveLength(3);
      expect(names.filter((name) => /tokens|credit/.test(name))).toEqual([]);
    });
  }

  test("write moments as Date does, and never before they are", () => {
    const anyMoment = fc.integer({ min: 0, max: Date.UTC(2200, 0, 1) });
    fc.assert(
      fc.property(anyMoment, fc.nat({ max: 3 * minute }), (at, resetMs) => {
        const standing = { requests: { ...requests, resetMs }, tokens: undefined, creditRemaining: undefined };
        const second = new Date(Math.ceil((at + resetMs) / 1_000) * 1_000);
        const reset = rateHeaders(Family.ANTHROPIC, standing, at)["anthropic-ratelimit-requests-reset"];
        expect(reset).toBe(second.toISOString().replace(".000Z", "Z"));
      }),
    );
  });

  const durations: [ms: number, written: string][] = [
    ...([
      [0, "0s"],
      [1, "1ms"],
      [12, "12ms"],
      [999, "999ms"],
      [1_000, "1s"],
      [1_500, "1.5s"],
    ] as const),
    ...([
      [59_999, "59.999s"],
      [60_000, "1m0s"],
      [90_250, "1m30.25s"],
      [360_000, "6m0s"],
    ] as const),
    ...([
      [3_600_000, "1h0m0s"],
      [93_784_005, "26h3m4.005s"],
    ] as const),
  ].map(([ms, written]) => [ms, written]);
  test("write durations as Go does", () => {
    for (const [resetMs, written] of durations) {
      const standing = { requests: { ...requests, resetMs }, tokens: undefined, creditRemaining: undefined };
      expect(rateHeaders(Family.OPENAI, standing, now)["x-ratelimit-reset-requests"]).toBe(written);
    }
  });
});

describe("a call", () => {
  const chat = InferenceService.method.createChatCompletion;
  const free = tierOf(defaultTiers, 0);
  const account = { id: "acc", tier: free };

  function limitInTime() {
    const { time, limiter } = limiterInTime();
    const { limit: limitNow, used, making: makingNow } = createLimit({ limiter, clock: () => time.now });
    const making = async (...made: Parameters<typeof makingNow>) => makingNow(...made);
    const limit = async (...asked: Parameters<typeof limitNow>) => limitNow(...asked);
    return {
      time,
      limit,
      making,
      used: ({ id, tier }: LimitedAccount, tokens: number) => used(callerOf(id, tier), tokens),
    };
  }

  function callerOf(accountId: string, tier: Tier): Caller {
    return { ...nobody, rights: "key", accountId, keyId: "key", mustPay: false, tier };
  }

  async function refusalOf(limited: Promise<unknown>): Promise<Refusal> {
    return limited.then(
      () => expect.fail("was admitted"),
      (refusal) => refusal,
    );
  }

  test("is told where its account stands, and refused with the same headers and when to come back", async () => {
    const { limit } = limitInTime();
    const answers = await Promise.allSettled(
      Array.from({ length: 61 }, () => limit(account, chat, Family.OPENAI, 250)),
    );
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(60);
    expect(answers[0]).toMatchObject({
      value: {
        headers: {
          "x-ratelimit-limit-requests": "60",
          "x-ratelimit-remaining-requests": "59",
          "x-ratelimit-reset-requests": "1s",
          "x-gateway-credit-remaining": "0.00025",
        },
      },
    });
    expect(answers[60]).toMatchObject({
      reason: {
        reason: Reason.RATE_LIMITED,
        status: 429,
        message: "Rate limit reached: the account is allowed 60 requests a minute. Try again in 1 s.",
        headers: {
          "retry-after": "1",
          "x-ratelimit-limit-requests": "60",
          "x-ratelimit-remaining-requests": "0",
          "x-ratelimit-reset-requests": "1m0s",
          "x-gateway-credit-remaining": "0.00025",
        },
      },
    });
  });

  test("that may come back later than in a minute is told a minute, and one that may at once a second", async () => {
    const { time, limit, used } = limitInTime();
    const counted = { id: "acc", tier: { ...free, requestsPerMinute: 10_000, tokensPerMinute: 7 } };
    await used(counted, 1_000_000);
    expect((await refusalOf(limit(counted, chat, Family.OPENAI, undefined))).headers["retry-after"]).toBe("60");
    time.now += minute - 1;
    expect((await refusalOf(limit(counted, chat, Family.OPENAI, undefined))).headers["retry-after"]).toBe("1");
    time.now += 1;
    await limit(counted, chat, Family.OPENAI, undefined);
  });

  test("that is refused for tokens costs no request, and its account goes on when they are back", async () => {
    const { time, limit, used } = limitInTime();
    const counted = { id: "acc", tier: { ...free, tokensPerMinute: 6_000 } };
    await limit(counted, chat, Family.ANTHROPIC, undefined);
    await used(counted, 6_500);
    for (let i = 0; i < 100; i++) {
      const refusal = await refusalOf(limit(counted, chat, Family.ANTHROPIC, undefined));
      expect(refusal.message).toContain("the account is allowed 6000 tokens a minute. Try again in 5 s.");
      expect(refusal.headers).toEqual({
        "retry-after": "5",
        "anthropic-ratelimit-requests-limit": "60",
        "anthropic-ratelimit-requests-remaining": "59",
        "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:01Z",
        "anthropic-ratelimit-tokens-limit": "6000",
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": "2026-01-01T00:01:05Z",
      });
    }
    time.now += 5_000;
    await limit(counted, chat, Family.ANTHROPIC, undefined);
  });

  test("that is refused for requests costs no token", async () => {
    const { limit } = limitInTime();
    const counted = { id: "acc", tier: { ...free, tokensPerMinute: 6_000 } };
    for (let i = 0; i < 60; i++) await limit(counted, chat, Family.OPENAI, undefined);
    for (let i = 0; i < 100; i++) await refusalOf(limit(counted, chat, Family.OPENAI, undefined));
    const refusal = await refusalOf(limit(counted, chat, Family.OPENAI, undefined));
    expect(refusal.headers["x-ratelimit-remaining-tokens"]).toBe("6000");
  });

  test("counts no token where the tier has no such rate", async () => {
    const { limit, used } = limitInTime();
    await used(account, 1_000_000_000);
    await limit(account, chat, Family.OPENAI, undefined);
  });

  const bounds = [
    [KeyService.method.rotateKey, 10, "10 calls of this RPC a second"],
    [KeyService.method.listKeys, 1, "1 call of this RPC a second"],
  ] as const;
  for (const [method, bound, words] of bounds) {
    test(`of ${method.name} is answered ${bound} a second, and beyond that costs no request`, async () => {
      const { time, limit } = limitInTime();
      const vip = { id: "acc", tier: tierOf(defaultTiers, 20_000_000) };
      const ask = () => limit(vip, method, Family.ADMIN, undefined);
      for (let i = 0; i < bound; i++) await ask();
      const refusal = await refusalOf(ask());
      expect(refusal).toMatchObject({ reason: Reason.RATE_LIMITED, status: 429 });
      expect(refusal.message).toContain(`the account is allowed ${words}.`);
      expect(refusal.headers).toMatchObject({
        "retry-after": "1",
        "x-ratelimit-remaining-requests": String(1_200 - bound),
      });
      const { headers: other } = await limit(vip, chat, Family.OPENAI, undefined);
      expect(other["x-ratelimit-remaining-requests"]).toBe(String(1_200 - bound - 1));
      await limit({ ...vip, id: "acc_2" }, method, Family.ADMIN, undefined);
      time.now += 1_000;
      for (let i = 0; i < bound; i++) await ask();
      await refusalOf(ask());
    });
  }

  test("that makes a key takes of its bound what it makes, and beyond it is refused before it costs a request", async () => {
    const { time, limit, making } = limitInTime();
    const { createKey } = KeyService.method;
    const vip = { id: "acc", tier: tierOf(defaultTiers, 20_000_000) };
    const ask = () => limit(vip, createKey, Family.ADMIN, undefined);
    for (let i = 0; i < 30; i++) await ask();
    for (let i = 0; i < 30; i++) (await making("acc", createKey))();
    for (let i = 0; i < 9; i++) await making("acc", createKey);
    await ask();
    const giveBack = await making("acc", createKey);
    const refusal = await refusalOf(ask());
    expect(refusal).toMatchObject({ reason: Reason.RATE_LIMITED, status: 429 });
    expect(refusal.message).toContain("the account is allowed 10 calls of this RPC a second.");
    expect(refusal.headers).toMatchObject({ "retry-after": "1", "x-ratelimit-remaining-requests": String(1_200 - 31) });
    expect(await refusalOf(making("acc", createKey))).toMatchObject({ reason: Reason.RATE_LIMITED, status: 429 });
    await making("acc_2", createKey);
    giveBack();
    await making("acc", createKey);
    await refusalOf(ask());
    time.now += 100;
    await ask();
    time.now += 60_000;
    for (let i = 0; i < 10; i++) await making("acc", createKey);
    await refusalOf(making("acc", createKey));
  });

  test("that counts tokens has a rate of its own, as high as its tier's, and waits for no tokens", async () => {
    const { time, limit, used } = limitInTime();
    const tier = { ...free, tokensPerMinute: 6_000 };
    const counted = { id: "acc", tier };
    const { countMessageTokens } = InferenceService.method;
    const count = () => limit(counted, countMessageTokens, Family.ANTHROPIC, undefined);
    await used(counted, 12_000);
    for (let i = 0; i < 60; i++) await count();
    expect(await refusalOf(count())).toMatchObject({ reason: Reason.RATE_LIMITED, status: 429 });
    time.now += 60_000;
    for (let i = 0; i < 60; i++) await limit(counted, chat, Family.OPENAI, undefined);
    await refusalOf(limit(counted, chat, Family.OPENAI, undefined));
    const { headers } = await count();
    expect(headers["anthropic-ratelimit-requests-remaining"]).toBe("59");
    expect(headers).not.toHaveProperty("anthropic-ratelimit-tokens-remaining");
  });
});
