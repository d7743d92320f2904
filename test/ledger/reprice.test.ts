/** A call can be priced again from its row and its kept price alone, whatever was used and however it was served. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Price, RateCard, Rates } from "../../src/call/price.ts";
import { addUsage, type CallUsage, nothingUsed } from "../../src/call/usage.ts";
import { costOf } from "../../src/ledger/price.ts";
import { cardFrom, cardId, cardJson, cardOf } from "../../src/ledger/price-card.ts";
import { type RepricedRow, repriced } from "../../src/ledger/reprice.ts";
import { billOf, priceIdsOf } from "../../src/pipeline/charge/bill.ts";
import { createKeptPrices } from "../../src/pipeline/charge/kept-prices.ts";
import type { MeasuredRequest } from "../../src/pipeline/charge/meter.ts";
import { createPriceUsage } from "../../src/pipeline/charge/price-usage.ts";

const rate = fc.oneof(fc.nat({ max: 10 }), fc.nat({ max: 1e8 }));
const count = fc.oneof(fc.nat({ max: 10 }), fc.nat({ max: 1e9 }));
const rates: fc.Arbitrary<Rates> = fc.record(
  {
    ...{ input: rate, cacheRead: rate, cacheWrite: rate, cacheWriteHour: rate, output: rate, characters: rate },
    ...{ inputAudio: rate, inputImage: rate, outputAudio: rate },
  },
  { requiredKeys: ["input", "cacheRead", "cacheWrite", "cacheWriteHour", "output", "characters"] },
);
const card: fc.Arbitrary<RateCard> = fc
  .tuple(rates, fc.option(rates, { nil: undefined }))
  .map(([base, band]) => (band ? { ...base, long: [{ above: 1000, ...band }] } : base));
const price: fc.Arbitrary<Price> = fc
  .tuple(
    card,
    fc.record({ modes: fc.record({ priority: card, flex: card }, { requiredKeys: [] }) }, { requiredKeys: [] }),
    fc.record(
      { regional: fc.integer({ min: 1, max: 3e6 }), search: fc.nat({ max: 1e6 }), request: fc.nat({ max: 1e6 }) },
      { requiredKeys: [] },
    ),
  )
  .map(([base, modes, fees]) => ({ ...base, ...modes, ...fees }));
const used: fc.Arbitrary<CallUsage> = fc
  .tuple(
    fc.record({ input: count, cacheRead: count, cacheWrite: count, cacheWriteHour: count, output: count }),
    fc.record(
      { inputAudio: count, inputImage: count, outputAudio: count, searches: fc.nat({ max: 50 }) },
      { requiredKeys: [] },
    ),
  )
  .map(([parts, { inputAudio = 0, inputImage = 0, outputAudio = 0, searches }]) => ({
    ...{ ...nothingUsed, ...parts },
    inputAudio: Math.min(inputAudio, parts.input),
    inputImage: Math.max(0, Math.min(inputImage, parts.input - inputAudio)),
    outputAudio: Math.min(outputAudio, parts.output),
    ...(searches === undefined ? {} : { searches }),
  }));
const words = fc.constantFrom("", "priority", "flex", "scale");
const request: fc.Arbitrary<MeasuredRequest> = fc.record({
  used,
  asked: fc.record({
    tier: words,
    speed: fc.constant(""),
    region: fc.constantFrom("", "us"),
    searches: fc.constant(0),
  }),
  told: fc.option(fc.record({ tier: words }, { requiredKeys: [] }), { nil: undefined }),
});

function rowOf(usage: CallUsage, priced: Pick<RepricedRow, "price_id" | "price_parts">): RepricedRow {
  const { input, cacheRead: cache_read, cacheWrite, cacheWriteHour, output, characters } = usage;
  const cache = { cache_read, cache_write: cacheWrite + cacheWriteHour, cache_write_hour: cacheWriteHour };
  return { input, ...cache, output, characters, ...priced };
}

describe("a call", () => {
  test.each([true, false])("costs again what it cost, where its price is kept: %s", async (isKept) => {
    await fc.assert(
      fc.asyncProperty(
        price,
        fc.array(request, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (price, all, isRegional) => {
          const cards = new Map<string, string>();
          const keep = async (id: string, json: string) => void cards.set(id, json);
          const fail = async () => Promise.reject(new Error("the disk is full"));
          const priceUsage = createPriceUsage(createKeptPrices({ keep: isKept ? keep : fail, onError: () => {} }));
          const usage = all.map(({ used }) => used).reduce(addUsage);
          priceUsage(price, usage, all, isRegional);
          await new Promise(setImmediate);
          const { cost, ...named } = priceUsage(price, usage, all, isRegional);
          const row = rowOf(usage, named);
          expect(repriced(row, (id) => (cards.has(id) ? cardFrom(cards.get(id) as string) : undefined))).toBe(cost);
          expect(priceIdsOf(row).every((id) => cards.has(id) === isKept)).toBe(true);
          const bill = billOf(row, cards).map(({ kind, count, rate, factor }) => {
            const unit = kind === "search" || kind === "request" ? 1_000_000n : 1n;
            return BigInt(count) * BigInt(rate) * unit * BigInt(factor);
          });
          const sum = bill.reduce((total, line) => total + line, 0n);
          expect(Math.min(Number.MAX_SAFE_INTEGER, Number((sum + 999_999_999_999n) / 1_000_000_000_000n))).toBe(cost);
        },
      ),
      { numRuns: 500 },
    );
  });

  const plain = { input: 2, cacheRead: 1, cacheWrite: 3, cacheWriteHour: 4, output: 5, characters: 0 };

  test("of a plain price has nothing in its row but the price's id, once that is kept", async () => {
    const cards = new Map<string, string>();
    const keep = async (id: string, json: string) => void cards.set(id, json);
    const priceUsage = createPriceUsage(createKeptPrices({ keep, onError: () => {} }));
    const usage = { ...nothingUsed, input: 7, cacheWrite: 1, cacheWriteHour: 2, output: 9 };
    const first = priceUsage(plain, usage, [], false);
    expect(JSON.parse(first.price_parts ?? "")).toMatchObject([{ card: { input: 2, cache_write_hour: 4 }, output: 9 }]);
    await new Promise(setImmediate);
    const { cost, ...named } = priceUsage(plain, usage, [], false);
    expect(named).toEqual({ price_id: cardId(cardJson(plain)), price_parts: null });
    expect(cost).toBe(costOf(plain, usage));
    expect([...cards.values()].map(cardFrom)).toMatchObject([plain]);
  });

  test("whose price is not known is not priced again", () => {
    expect(repriced(rowOf(nothingUsed, { price_id: null, price_parts: null }), () => undefined)).toBeUndefined();
    expect(repriced(rowOf(nothingUsed, { price_id: "prc_gone", price_parts: null }), () => undefined)).toBeUndefined();
    const parts = JSON.stringify([{ price: "prc_gone", input: 1 }]);
    expect(repriced(rowOf(nothingUsed, { price_id: null, price_parts: parts }), () => undefined)).toBeUndefined();
  });

  test("from the cache costs its share of what the answer cost at first", () => {
    const parts = JSON.stringify([{ of: 431, share: 100_000 }]);
    const row = rowOf(nothingUsed, { price_id: null, price_parts: parts });
    expect(repriced(row, () => undefined)).toBe(44);
    expect(billOf(row, new Map())).toMatchObject([{ kind: "share", count: 431, rate: 100_000 }]);
  });
});

test("the id of a price follows from all that it charges, and from nothing else", () => {
  const base: Price = { input: 1, cacheRead: 1, cacheWrite: 1, cacheWriteHour: 1, output: 1, characters: 0, search: 5 };
  const idOf = (price: Price, chosen = {}) =>
    cardId(cardJson(cardOf(price, { rates: price, factor: 1_000_000, ...chosen })));
  expect(idOf(base)).toBe(idOf({ ...base, modes: { flex: { ...base, output: 0 } }, regional: 1_100_000 }));
  const others = [idOf({ ...base, search: 6 }), idOf(base, { factor: 1_100_000 }), idOf(base, { mode: "flex" })];
  expect(new Set([idOf(base), ...others]).size).toBe(4);
  expect(idOf(base)).toMatch(/^prc_[\w-]{12}$/);
});
