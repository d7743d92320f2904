/**
 * What usage costs: prices are in millionths of the unit per million tokens (or characters), and so is every sum until
 * its end. Rounding is up, once, to a millionth: nothing is ever free by being small.
 */
import type { Usage } from "../providers/provider.ts";

const million = 1_000_000;

/** All parts of a model's price. 0 is a price. */
export interface Price {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWriteHour: number;
  readonly output: number;
  /** Per million characters of speech input. */
  readonly characters: number;
}

const kinds = ["input", "cacheRead", "cacheWrite", "cacheWriteHour", "output", "characters"] as const;

/** What a call used, in parts that do not overlap; of speech, the characters of its input. */
export interface CallUsage extends Usage {
  readonly characters: number;
}

export const nothingUsed: CallUsage = {
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWriteHour: 0,
  output: 0,
  reasoning: 0,
  characters: 0,
};

/** Returns the cost in millionths of the unit. */
export function costOf(price: Price, used: CallUsage): number {
  const parts =
    used.input * price.input +
    used.cacheRead * price.cacheRead +
    used.cacheWrite * price.cacheWrite +
    used.cacheWriteHour * price.cacheWriteHour +
    used.output * price.output +
    used.characters * price.characters;
  // Counts and prices are whole and never negative: no part is larger than the sum, and where that is exact, all are.
  if (parts <= Number.MAX_SAFE_INTEGER) return millionthUp(parts);
  return millionthUpBig(kinds.reduce((sum, kind) => sum + product(used[kind], price[kind]), 0n));
}

/** Returns the most that so much input may cost, whichever kind it turns out to be, with so much output. */
export function worstCost(price: Price, input: number, characters: number, output: number): number {
  const { cacheRead, cacheWrite, cacheWriteHour } = price;
  const dearest = Math.max(price.input, cacheRead, cacheWrite, cacheWriteHour);
  const parts = input * dearest + characters * price.characters + output * price.output;
  if (parts <= Number.MAX_SAFE_INTEGER) return millionthUp(parts);
  return costOf({ ...price, input: dearest }, { ...nothingUsed, input, characters, output });
}

/** Returns a part of a cost, to a millionth of it: `share` is from 0 to 1. */
export function partOf(cost: number, share: number): number {
  return millionthUpBig(product(cost, Math.round(share * million)));
}

/** Returns how many output tokens this much money buys. Infinite where output costs nothing. */
export function outputFor(price: Price, money: number): number {
  return price.output === 0 ? Number.POSITIVE_INFINITY : Number(product(money, million) / BigInt(price.output));
}

export function isFree({ input, cacheRead, cacheWrite, cacheWriteHour, output, characters }: Price): boolean {
  return input + cacheRead + cacheWrite + cacheWriteHour + output + characters === 0;
}

/** Divides what a number counts exactly by a million, and rounds up: a quotient of numbers alone would round either way. */
function millionthUp(parts: number): number {
  const rest = parts % million;
  return (parts - rest) / million + (rest > 0 ? 1 : 0);
}

/** What cannot be counted exactly is as much as can. */
function millionthUpBig(parts: bigint): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Number((parts + BigInt(million - 1)) / BigInt(million)));
}

/** Exact, also where it is beyond what a number can count. */
function product(count: number, price: number): bigint {
  return BigInt(count) * BigInt(price);
}
