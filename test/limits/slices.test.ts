/** What every keeper of shared rates promises those who lease slices: memory, Redis and Valkey. Windows are an hour long: little is refilled. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Ask, type Slices, spareParts } from "../../src/limits/contract.ts";
import { createLeasedLimiter, type LeasedLimiter } from "../../src/limits/leased-limiter.ts";
import type { Rate } from "../../src/limits/limiter.ts";
import { eventually } from "../support/eventually.ts";
import { keepers } from "../support/limits/keepers.ts";

const hour = 3_600_000;
const rate: Rate = { capacity: 600, windowMs: hour };

const asked = (more: Partial<Ask> = {}): Ask => ({ id: "acc", rate, least: 1, need: 1, spare: 0, drawn: 0, ...more });
const look = asked({ least: 0, need: 0 });

for (const keeper of keepers) {
  describe.skipIf(!keeper.isThere)(keeper.name, () => {
    const limiters: LeasedLimiter[] = [];
    beforeAll(keeper.start);
    afterAll(keeper.stop);
    afterEach(async () => {
      for (const limiter of limiters.splice(0)) limiter.close();
      await keeper.close();
    });

    async function open(count: number): Promise<readonly [Slices, ...Slices[]]> {
      const [first, ...others] = (await keeper.open(count)).map(({ slices }) => slices);
      return [first as Slices, ...others];
    }

    /** Returns how many units each ask was granted. */
    const units = async (slices: Slices, ...asks: readonly Ask[]) =>
      (await slices.take(asks)).map((slice) => slice.units);
    /** Returns how many whole units a bucket holds. */
    const held = async (slices: Slices, of: Ask = look) =>
      Math.floor(((await slices.take([of]))[0]?.parts ?? Number.NaN) / of.rate.windowMs);

    test("a bucket that nobody used is full, and a look takes nothing", async () => {
      const [one] = await open(1);
      expect([await held(one), await units(one, look), await held(one)]).toEqual([600, [0], 600]);
    });

    test("grants what calls need as far as the bucket holds it, and nothing where the smallest does not fit", async () => {
      const [one] = await open(1);
      expect(await units(one, asked({ least: 100, need: 590 }))).toEqual([590]);
      expect(await units(one, asked({ least: 11, need: 50 }))).toEqual([0]);
      expect(await units(one, asked({ least: 10, need: 50 }))).toEqual([10]);
      expect(await held(one)).toBe(0);
    });

    test("grants what comes next only of an ample bucket, and leaves others their part", async () => {
      const [one] = await open(1);
      expect(await units(one, asked({ need: 5, spare: 1_000 }))).toEqual([600 / spareParts]);
      expect(await units(one, asked({ least: 540, need: 540, spare: 1_000 }))).toEqual([540]);
      expect(await held(one)).toBe(10);
    });

    test("answers the asks of one turn in their order, of one bucket and of others", async () => {
      const [one] = await open(1);
      const first = asked({ least: 400, need: 400 });
      expect(
        await units(one, first, asked({ ...first, id: "other" }), first, asked({ least: 200, need: 200 })),
      ).toEqual([400, 400, 0, 200]);
    });

    test("takes what was used beyond slices first, into a debt of one window at most", async () => {
      const [one] = await open(1);
      expect(await units(one, asked({ drawn: 599, least: 2, need: 2 }))).toEqual([0]);
      expect(await held(one)).toBe(1);
      await one.take([asked({ least: 0, need: 0, drawn: 100_000 })]);
      expect(await held(one)).toBe(-600);
      await one.take([asked({ least: 0, need: 0, drawn: -650 })]);
      expect(await held(one)).toBe(50);
    });

    test("what is given back is there for others, and never fills a bucket beyond its rate", async () => {
      const [one, other] = await open(2);
      expect(await units(one, asked({ need: 600, least: 600 }))).toEqual([600]);
      expect(await units(other as Slices, asked())).toEqual([0]);
      one.giveBack([{ id: "acc", rate, units: 100 }]);
      await eventually(async () => expect(await held(other as Slices)).toBe(100));
      one.giveBack([{ id: "acc", rate, units: 10_000 }]);
      await eventually(async () => expect(await held(other as Slices)).toBe(600));
    });

    test("a rate that is changed keeps the bucket as full as it was, in proportion", async () => {
      const [one] = await open(1);
      await one.take([asked({ need: 300, least: 300 })]);
      expect(await held(one, { ...look, rate: { capacity: 60, windowMs: hour } })).toBe(30);
    });

    test("a bucket in debt owes the same when its rate is changed, and a window's worth of the new one at most", async () => {
      const [one] = await open(1);
      await one.take([asked({ least: 0, need: 0, drawn: 650 })]);
      const owed = async (capacity: number) => {
        const [slice] = await one.take([asked({ least: 0, need: 0, rate: { capacity, windowMs: hour } })]);
        return Math.round((slice?.parts ?? 0) / hour);
      };
      expect(await owed(1_200)).toBe(-50);
      expect(await owed(20)).toBe(-20);
    });

    test("knows how many gateways share it, and is not away", async () => {
      const all = await open(3);
      await eventually(() => expect(all.map((one) => [one.nodes(), one.isAway()])).toEqual(Array(3).fill([3, false])));
    });

    test("three limiters admit a rate together within 1 %, whatever their own clocks say", async () => {
      const skews = [0, 60_000, -60_000];
      for (const [i, slices] of (await open(3)).entries()) {
        limiters.push(createLeasedLimiter({ slices, clock: () => performance.now() + 100_000 + (skews[i] ?? 0) }));
      }
      const quick = { capacity: 1_000, windowMs: 1_000 };
      const from = performance.now();
      const calls = await Promise.all(limiters.map((limiter) => callUntil(from + 2_500, limiter, quick)));
      const until = performance.now();
      const sum = calls.reduce((all, { admitted }) => all + admitted, 0);
      const ratedBetween = (begin: number, end: number) => quick.capacity * (1 + (end - begin) / 1_000);
      expect(sum / ratedBetween(from, until)).toBeLessThan(1.01);
      // The machine may have kept all of them waiting before and after: it was full until the first was answered, and whoever asked last
      // and was refused found nothing left.
      const first = Math.min(...calls.map(({ firstAnswered }) => firstAnswered));
      const last = Math.max(...calls.map(({ lastRefused }) => lastRefused));
      expect(sum / ratedBetween(first, last)).toBeGreaterThan(0.99);
      for (const { admitted } of calls) expect(admitted).toBeGreaterThan(0);
    });
  });
}

/**
 * Calls without pause until it is refused after the moment, from some callers at once: however busy the machine is, nothing of the rate
 * lies unused by then.
 */
async function callUntil(end: number, limiter: LeasedLimiter, of: Rate): Promise<Calls> {
  const calls = { admitted: 0, firstAnswered: Number.POSITIVE_INFINITY, lastRefused: 0 };
  const caller = async () => {
    for (;;) {
      const asked = performance.now();
      const { allowed } = await limiter.take("acc", of, 1);
      calls.firstAnswered = Math.min(calls.firstAnswered, performance.now());
      if (allowed) calls.admitted++;
      else {
        calls.lastRefused = asked;
        if (asked > end) return;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  return calls;
}

interface Calls {
  readonly admitted: number;
  /** When the first of them was answered, and when the last of those asked that were refused, by `performance.now()`. */
  readonly firstAnswered: number;
  readonly lastRefused: number;
}
