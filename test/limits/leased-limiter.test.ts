/** A limiter over slices, in simulated time: what it asks for, what it gives back, and what it does while nobody answers. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Ask, Slices } from "../../src/limits/contract.ts";
import { createLeasedLimiter, type LeasedLimiter } from "../../src/limits/leased-limiter.ts";
import type { Decision, Rate } from "../../src/limits/limiter.ts";
import { createMemorySlices } from "../../src/limits/memory.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** What keeps the buckets, and what it was asked. */
function keeper(nodes = 1) {
  const time = { now: 0 };
  const skip = (ms: number) => {
    time.now += ms;
  };
  const state = { isAway: false, rejects: false, asks: [] as Ask[], given: 0, slices: open(), skip };
  function open() {
    return createMemorySlices(
      () => time.now,
      () => nodes,
    );
  }
  const slices: Slices = {
    async take(asks) {
      if (state.rejects) throw new Error("no answer");
      state.asks.push(...asks);
      return state.slices.take(asks);
    },
    giveBack(unused) {
      for (const { units } of unused) state.given += units;
      state.slices.giveBack(unused);
    },
    isAway: () => state.isAway,
    nodes: () => nodes,
  };
  return {
    ...{ state, slices },
    limiter: (more: Partial<Parameters<typeof createLeasedLimiter>[0]> = {}) =>
      createLeasedLimiter({ slices, clock: () => time.now, ...more }),
    /** Lets time pass, timers included. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 5) {
        time.now += Math.min(5, ms - passed);
        await vi.advanceTimersByTimeAsync(Math.min(5, ms - passed));
      }
    },
    /** Loses all buckets. */
    forget() {
      state.slices = open();
    },
  };
}

const perMinute = (capacity: number): Rate => ({ capacity, windowMs: 60_000 });

/** Takes one at a time until refused. */
async function takeAll(limiter: LeasedLimiter, rate: Rate): Promise<number> {
  for (let admitted = 0; ; admitted++) if (!(await limiter.take("acc", rate, 1)).allowed) return admitted;
}

describe("a node", () => {
  test("decides at least twenty calls of a steady load by each ask", async () => {
    const { limiter, state, pass } = keeper();
    const one = limiter();
    let decided = 0;
    for (let ms = 0; ms < 2_000; ms += 5, await pass(5)) {
      for (let i = 0; i < 5; i++, decided++)
        expect((await one.take("acc", perMinute(1_000_000), 1)).allowed).toBe(true);
    }
    expect(decided).toBe(2_000);
    expect(decided / state.asks.length).toBeGreaterThan(20);
  });

  test("asks for all that comes in one turn together, and for each bucket once", async () => {
    const { slices, limiter } = keeper();
    const take = vi.spyOn(slices, "take");
    const one = limiter();
    const ids = Array.from({ length: 90 }, (_, i) => `acc ${i % 3}`);
    await Promise.all(ids.map((id) => one.take(id, perMinute(60), 1)));
    expect(take).toHaveBeenCalledOnce();
    expect(take.mock.calls[0]?.[0]).toMatchObject([{ need: 30 }, { need: 30 }, { need: 30 }]);
  });

  test("leaves others what it does not use: all of it is back after a fifth of a second", async () => {
    const { limiter, state, pass } = keeper();
    const [one, other] = [limiter(), limiter()];
    const rate = { capacity: 10_000, windowMs: 86_400_000 };
    for (let ms = 0; ms < 300; ms += 5, await pass(5)) await one.take("acc", rate, 10);
    expect(state.asks.some(({ spare }) => spare > 50)).toBe(true);
    await pass(200);
    expect((await other.take("acc", rate, 0)).remaining).toBe(10_000 - 600);
  });

  test("tells what was drawn within 50 ms", async () => {
    const { limiter, pass } = keeper();
    const [one, other] = [limiter(), limiter()];
    one.draw("acc", perMinute(1_000), 1_200);
    await pass(50);
    expect(await other.take("acc", perMinute(1_000), 0)).toMatchObject({ allowed: false, retryAfterMs: 12_000 });
  });

  test("is refused what is not there without asking again, and gets it at the moment that it was told", async () => {
    const { limiter, state, pass } = keeper();
    const one = limiter();
    const rate = perMinute(6_000);
    await takeAll(one, rate);
    const asked = state.asks.length;
    const { retryAfterMs } = await one.take("acc", rate, 1);
    expect(retryAfterMs).toBe(10);
    for (let i = 0; i < 100; i++) expect((await one.take("acc", rate, 1)).allowed).toBe(false);
    expect(state.asks.length).toBe(asked);
    await pass(retryAfterMs);
    expect((await one.take("acc", rate, 1)).allowed).toBe(true);
  });

  test("gives back a slice of a rate that has changed", async () => {
    const { limiter, state, pass } = keeper();
    const one = limiter();
    for (let ms = 0; ms < 200; ms += 5, await pass(5)) await one.take("acc", perMinute(1_000_000), 10);
    await one.take("acc", perMinute(2_000_000), 1);
    expect(state.given).toBeGreaterThan(0);
  });

  test("that was stopped for a while takes nothing of the slice that it had", async () => {
    const { limiter, state, pass } = keeper();
    const one = limiter();
    const rate = perMinute(1_000_000);
    for (let ms = 0; ms < 200; ms += 5, await pass(5)) await one.take("acc", rate, 10);
    const asked = state.asks.length;
    // Time goes on, and no timer of this process does.
    state.skip(100_000);
    await one.take("acc", rate, 1);
    expect(state.asks.length).toBe(asked + 1);
    expect(state.asks.at(-1)?.drawn).toBeLessThan(0);
  });

  test("gives everything back when it closes", async () => {
    const { limiter, pass } = keeper();
    const one = limiter();
    const rate = { capacity: 100_000, windowMs: 86_400_000 };
    for (let ms = 0; ms < 200; ms += 5, await pass(5)) await one.take("acc", rate, 10);
    one.draw("acc", rate, 7);
    one.close();
    await pass(5);
    expect((await limiter().take("acc", rate, 0)).remaining).toBe(100_000 - 400 - 7);
  });
});

describe("three nodes", () => {
  for (const capacity of [600, 13_333, 100_000]) {
    test(`that all ask for more get ${capacity} a minute together, within 0.1 %`, async () => {
      const { limiter, pass } = keeper(3);
      const nodes = [limiter(), limiter(), limiter()];
      const rate = perMinute(capacity);
      let admitted = 0;
      const tries = Math.ceil(capacity / 3_000);
      for (let ms = 0; ms < 60_000; ms += 5, await pass(5)) {
        const decisions = await Promise.all(
          nodes.flatMap((node) => Array.from({ length: tries }, () => node.take("acc", rate, 1))),
        );
        admitted += decisions.filter(({ allowed }) => allowed).length;
      }
      expect(admitted / (2 * capacity)).toBeGreaterThan(0.999 - 3 / capacity);
      expect(admitted).toBeLessThanOrEqual(2 * capacity);
    });
  }
});

describe("while nobody answers", () => {
  test("each of three nodes admits a third of the rate, from what was there", async () => {
    const { limiter, state, pass } = keeper(3);
    const nodes = [limiter(), limiter(), limiter()];
    const rate = perMinute(600);
    await Promise.all(nodes.map((node) => node.take("acc", rate, 100)));
    await pass(100);
    for (const node of nodes) expect((await node.take("acc", rate, 0)).remaining).toBe(301);
    state.isAway = true;
    expect(await Promise.all(nodes.map((node) => takeAll(node, rate)))).toEqual([100, 100, 100]);
    await pass(6_000);
    expect(await Promise.all(nodes.map((node) => takeAll(node, rate)))).toEqual([20, 20, 20]);
  });

  test("says what is left of its share, and when there is more", async () => {
    const { limiter, state } = keeper(3);
    const one = limiter();
    state.isAway = true;
    expect(await one.take("acc", perMinute(60), 1)).toEqual({
      ...{ allowed: true, limit: 60, remaining: 19, retryAfterMs: 0, resetMs: 3_000 },
    });
    await takeAll(one, perMinute(60));
    expect(await one.take("acc", perMinute(60), 1)).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 3_000,
    });
    expect(await one.take("acc", perMinute(60), 61)).toMatchObject({ retryAfterMs: Number.POSITIVE_INFINITY });
  });

  test("a rate smaller than the number of nodes is one call now and then", async () => {
    const { limiter, state, pass } = keeper(3);
    const one = limiter();
    state.isAway = true;
    const second = { capacity: 1, windowMs: 1_000 };
    const admitted: boolean[] = [];
    for (let i = 0; i < 7; i++, await pass(1_000)) admitted.push((await one.take("acc", second, 1)).allowed);
    expect(admitted.filter(Boolean).length).toBeLessThanOrEqual(3);
    expect(admitted.filter(Boolean).length).toBeGreaterThanOrEqual(2);
  });

  test("what was drawn counts for the share", async () => {
    const { limiter, state, pass } = keeper(2);
    const one = limiter();
    state.isAway = true;
    one.draw("acc", perMinute(1_000), 600);
    expect((await one.take("acc", perMinute(1_000), 0)).allowed).toBe(false);
    await pass(12_000);
    expect((await one.take("acc", perMinute(1_000), 0)).allowed).toBe(true);
  });

  test("calls that waited for an answer are decided by the share, and what was drawn is told later", async () => {
    const { limiter, state, pass } = keeper(2);
    const [one, other] = [limiter(), limiter()];
    state.rejects = true;
    one.draw("acc", perMinute(1_000), 100);
    const decisions = await Promise.all(Array.from({ length: 600 }, () => one.take("acc", perMinute(1_000), 1)));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(500);
    state.rejects = false;
    await pass(200);
    const { remaining } = await other.take("acc", perMinute(1_000), 0);
    expect([400, 401, 402, 403]).toContain(remaining);
  });

  test("calls fail with what was configured, and looks are answered", async () => {
    const { limiter, state } = keeper(2);
    const one = limiter({ whenAway: () => new Error("come back later") });
    const waiting = one.take("acc", perMinute(60), 1);
    expect(((await waiting) as Decision).allowed).toBe(true);
    state.isAway = true;
    expect(() => one.take("acc", perMinute(60), 1)).toThrow("come back later");
    expect(await one.take("acc", perMinute(60), 0)).toMatchObject({ allowed: true });
    state.isAway = false;
    state.rejects = true;
    await expect((async () => one.take("other", perMinute(60), 1))()).rejects.toThrow("come back later");
  });
});

describe("when it answers again", () => {
  for (const forgets of [false, true]) {
    test(`it is told what each node used${forgets ? ", also where it has forgotten everything" : ""}`, async () => {
      const { limiter, state, pass, forget } = keeper(3);
      const nodes = [limiter(), limiter(), limiter()] as const;
      const rate = { capacity: 600, windowMs: 6_000_000 };
      state.isAway = true;
      for (const [i, used] of [150, 30, 0].entries()) await (nodes[i] as LeasedLimiter).take("acc", rate, used);
      if (forgets) forget();
      state.isAway = false;
      await pass(1_500);
      expect((await nodes[2].take("acc", rate, 0)).remaining).toBe(600 - 180);
    });
  }

  test("nothing is taken twice of what was used before", async () => {
    const { limiter, state, pass } = keeper(2);
    const nodes = [limiter(), limiter()] as const;
    const rate = { capacity: 1_000, windowMs: 10_000_000 };
    await nodes[0].take("acc", rate, 300);
    await nodes[1].take("acc", rate, 300);
    state.isAway = true;
    await pass(1_000);
    await nodes[0].take("acc", rate, 50);
    state.isAway = false;
    await pass(1_500);
    expect((await nodes[1].take("acc", rate, 0)).remaining).toBe(1_000 - 650);
  });

  test("an account that used its rate for an hour of it owes one window at most, and has none left", async () => {
    const { limiter, state, pass } = keeper(2);
    const nodes = [limiter(), limiter()];
    const rate = perMinute(600);
    state.isAway = true;
    for (let seconds = 0; seconds < 200; seconds++, await pass(1_000))
      for (const node of nodes) await takeAll(node, rate);
    state.isAway = false;
    await pass(1_100);
    const { remaining } = await (nodes[0] as LeasedLimiter).take("acc", rate, 0);
    expect(remaining).toBeLessThanOrEqual(21);
    expect(remaining).toBeGreaterThanOrEqual(10);
  });

  test("nothing stays in memory of accounts that were idle", async () => {
    const { limiter, state, pass } = keeper(1);
    const one = limiter();
    state.isAway = true;
    await one.take("acc", perMinute(60), 1);
    expect(vi.getTimerCount()).toBe(1);
    await pass(5_000);
    expect(vi.getTimerCount()).toBe(0);
  });
});
