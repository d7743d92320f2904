/**
 * What every limiter promises, whoever keeps its buckets: this process, one that leases slices, Redis, or Valkey. The windows are an
 * hour long where the clock is a real one: nothing that a test could see is refilled meanwhile.
 */
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLeasedLimiter, type LeasedLimiter } from "../../src/limits/leased-limiter.ts";
import type { Limiter, Rate } from "../../src/limits/limiter.ts";
import { createMemoryLimiter } from "../../src/limits/memory.ts";
import { type Keeper, type Kept, keepers } from "../support/limits/keepers.ts";

interface Kind {
  readonly name: string;
  readonly isThere: boolean;
  start(): Promise<void>;
  /** Returns a limiter with buckets of its own. */
  open(): Promise<Limiter>;
  close(): Promise<void>;
  stop(): Promise<void>;
}

const stopped = { clock: () => 1_000_000 };
const nothing = async () => {};

function inMemory(name: string, open: () => Limiter): Kind {
  return { name, isThere: true, start: nothing, open: async () => open(), close: nothing, stop: nothing };
}

/** A limiter that leases slices of what another place keeps. */
function inSlices(keeper: Keeper): Kind {
  let limiter: LeasedLimiter;
  return {
    ...{ name: `slices in ${keeper.name}`, isThere: keeper.isThere, start: keeper.start, stop: keeper.stop },
    async open() {
      const [kept] = await keeper.open(1);
      limiter = createLeasedLimiter({ slices: (kept as Kept).slices });
      return limiter;
    },
    async close() {
      limiter.close();
      await keeper.close();
    },
  };
}

const kinds: readonly Kind[] = [inMemory("memory", () => createMemoryLimiter(stopped.clock)), ...keepers.map(inSlices)];

function expectBetween(value: number, least: number, most: number): void {
  expect(value).toBeGreaterThanOrEqual(least);
  expect(value).toBeLessThanOrEqual(most);
}

const hour = 3_600_000;
const perHour = (capacity: number): Rate => ({ capacity, windowMs: hour });

for (const kind of kinds) {
  describe.skipIf(!kind.isThere)(kind.name, () => {
    let limiter: Limiter;
    beforeAll(kind.start);
    afterAll(kind.stop);
    beforeEach(async () => {
      limiter = await kind.open();
    });
    afterEach(kind.close);

    test("admits what the bucket holds, tells what is left, and refuses the next until there is one", async () => {
      const rate = perHour(60);
      const first = await limiter.take("acc", rate, 1);
      expect(first).toMatchObject({ allowed: true, limit: 60, remaining: 59, retryAfterMs: 0 });
      expectBetween(first.resetMs, 59_900, 60_000);
      for (let left = 58; left >= 0; left--) {
        expect(await limiter.take("acc", rate, 1)).toMatchObject({ allowed: true, remaining: left });
      }
      const refused = await limiter.take("acc", rate, 1);
      expect(refused).toMatchObject({ allowed: false, limit: 60, remaining: 0 });
      expectBetween(refused.retryAfterMs, 50_000, 60_000);
      expectBetween(refused.resetMs, hour - 10_000, hour);
    });

    test("admits as many of those that come at once", async () => {
      const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.take("acc", perHour(60), 1)));
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(60);
    });

    test("lets a small cost pass where a greater one does not", async () => {
      const costs = [50, 20, 20, 10, 1];
      const decisions = await Promise.all(costs.map((cost) => limiter.take("acc", perHour(60), cost)));
      expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false, false, true, false]);
    });

    test("refuses for good what a bucket never holds, and takes nothing for it", async () => {
      expect(await limiter.take("acc", perHour(60), 61)).toMatchObject({
        allowed: false,
        remaining: 60,
        retryAfterMs: Number.POSITIVE_INFINITY,
      });
      expect(await limiter.take("acc", perHour(60), 60)).toMatchObject({ allowed: true, remaining: 0 });
    });

    test("looks, and takes nothing", async () => {
      for (let i = 0; i < 3; i++) {
        expect(await limiter.take("acc", perHour(60), 0)).toMatchObject({ allowed: true, remaining: 60, resetMs: 0 });
      }
    });

    test("lets a bucket go into debt by one window at most, and refuses looks meanwhile", async () => {
      await limiter.draw("acc", perHour(1_000), 1_500);
      const inDebt = await limiter.take("acc", perHour(1_000), 0);
      expect(inDebt).toMatchObject({ allowed: false, remaining: 0 });
      expectBetween(inDebt.retryAfterMs, hour / 2 - 10_000, hour / 2);
      await limiter.draw("acc", perHour(1_000), 1_000_000);
      expect((await limiter.take("acc", perHour(1_000), 1)).allowed).toBe(false);
      await limiter.draw("acc", perHour(1_000), -1_100);
      expect((await limiter.take("acc", perHour(1_000), 0)).allowed).toBe(true);
    });

    test("takes back what was not used", async () => {
      await limiter.take("acc", perHour(2), 1);
      await limiter.take("acc", perHour(2), 1);
      await limiter.draw("acc", perHour(2), -1);
      expect((await limiter.take("acc", perHour(2), 1)).allowed).toBe(true);
      expect((await limiter.take("acc", perHour(2), 1)).allowed).toBe(false);
    });

    test("keeps buckets apart", async () => {
      await limiter.take("acc_1", perHour(1), 1);
      expect((await limiter.take("acc_1", perHour(1), 1)).allowed).toBe(false);
      expect((await limiter.take("acc_2", perHour(1), 1)).allowed).toBe(true);
    });

    test("keeps a bucket's share when its rate changes", async () => {
      await limiter.take("acc", perHour(60), 45);
      expect(await limiter.take("acc", perHour(1_200), 0)).toMatchObject({ limit: 1_200, remaining: 300 });
      await limiter.take("acc", perHour(1_200), 150);
      expect((await limiter.take("acc", perHour(10_000), 0)).remaining).toBe(1_250);
      expect((await limiter.take("acc", perHour(60), 0)).remaining).toBe(7);
    });

    test("counts the largest rates exactly", async () => {
      const rate = { capacity: 4_294_967_295, windowMs: 60_000 };
      expectBetween((await limiter.take("acc", rate, 4_000_000_000)).remaining, 294_967_295, 320_000_000);
    });

    test("decides whatever comes as the memory limiter does", async () => {
      const step = fc.record({
        id: fc.constantFrom("a", "b"),
        cost: fc.integer({ min: 0, max: 70 }),
        draws: fc.boolean(),
      });
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          run++;
          const model = createMemoryLimiter(stopped.clock);
          const used = new Map<string, number>();
          for (const { id, cost, draws } of steps) {
            const name = `${id} ${run}`;
            if (draws) {
              // Nobody gives back what was not taken.
              const drawn = Math.max(cost - 20, -(used.get(name) ?? 0));
              used.set(name, (used.get(name) ?? 0) + drawn);
              model.draw(name, perHour(60), drawn);
              await limiter.draw(name, perHour(60), drawn);
              continue;
            }
            const { allowed, remaining } = model.take(name, perHour(60), cost);
            if (allowed) used.set(name, (used.get(name) ?? 0) + cost);
            expect(await limiter.take(name, perHour(60), cost)).toMatchObject({ allowed, remaining });
          }
        }),
        { numRuns: 60 },
      );
    });
  });
}
