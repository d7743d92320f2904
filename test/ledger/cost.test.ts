/**
 * What usage costs is exact and rounded up once, however small or large its parts are.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Rates } from "../../src/call/price.ts";
import { type CallUsage, nothingUsed } from "../../src/call/usage.ts";
import { costOf, outputFor, worstCost } from "../../src/ledger/price.ts";

const free: Rates = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWriteHour: 0, output: 0, characters: 0 };
const parts = ["input", "cacheRead", "cacheWrite", "cacheWriteHour", "output", "characters"] as const;

/** By whole numbers of any size. */
function exactly(price: Rates, used: CallUsage): number {
  const sum = parts.reduce((total, part) => total + BigInt(used[part]) * BigInt(price[part]), 0n);
  return Number((sum + 999_999n) / 1_000_000n);
}

/** Small ones, and such that their products come near what a double counts exactly. */
const count = fc.oneof(fc.nat({ max: 10 }), fc.nat({ max: 2_000_000 }), fc.nat({ max: 100_000_000 }));
const each = <T>(value: fc.Arbitrary<T>) =>
  fc.record(Object.fromEntries(parts.map((part) => [part, value])) as Record<(typeof parts)[number], fc.Arbitrary<T>>);
const usage = each(count).map((used) => ({ ...nothingUsed, ...used }));

describe("the cost of a call", () => {
  test("is the sum of its parts, rounded up", () => {
    fc.assert(
      fc.property(each(count), usage, (price, used) => {
        expect(costOf(price, used)).toBe(exactly(price, used));
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    [1, 1, 1],
    [1, 999_999, 1],
    [1, 1_000_000, 1],
    [1, 1_000_001, 2],
    [9_007_199_254, 999_999, 9_007_190_247],
    // The last sum that a double counts exactly, and the first ones that it does not.
    [1, Number.MAX_SAFE_INTEGER, 9_007_199_255],
    [2, 4_503_599_627_370_496, 9_007_199_255],
    [3, 3_002_399_751_580_331, 9_007_199_255],
    [1_000_000, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])("of %d at %d is %d", (input, price, cost) => {
    expect(costOf({ ...free, input: price }, { ...nothingUsed, input })).toBe(cost);
    expect(worstCost({ ...free, input: price }, input, 0, 0)).toBe(cost);
  });

  test("is at most the worst that is held for it", () => {
    fc.assert(
      fc.property(each(count), usage, (price, used) => {
        const { input, cacheRead, cacheWrite, cacheWriteHour, characters, output } = used;
        const all = input + cacheRead + cacheWrite + cacheWriteHour;
        expect(worstCost(price, all, characters, output)).toBeGreaterThanOrEqual(costOf(price, used));
      }),
    );
  });

  test("is never more than the money that bought its output", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 1e9 }), fc.nat({ max: 1e12 }), (output, money) => {
        const price = { ...free, output };
        const bought = outputFor(price, money);
        expect(costOf(price, { ...nothingUsed, output: bought })).toBeLessThanOrEqual(money);
      }),
    );
  });
});
