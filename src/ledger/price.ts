/**
 * What usage costs: prices are in millionths of the unit per million tokens (or characters), and so is every sum until
 * its end. Rounding is up, once, to a millionth: nothing is ever free by being small.
 */
import type { Usage } from "../providers/provider.ts";

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
    product(used.input, price.input) +
    product(used.cacheRead, price.cacheRead) +
    product(used.cacheWrite, price.cacheWrite) +
    product(used.cacheWriteHour, price.cacheWriteHour) +
    product(used.output, price.output) +
    product(used.characters, price.characters);
  return Number((parts + 999_999n) / 1_000_000n);
}

/** Returns a part of a cost, to a millionth of it: `share` is from 0 to 1. */
export function partOf(cost: number, share: number): number {
  return Number((product(cost, Math.round(share * 1_000_000)) + 999_999n) / 1_000_000n);
}

/** Returns how many output tokens this much money buys. Infinite where output costs nothing. */
export function outputFor(price: Price, money: number): number {
  return price.output === 0 ? Number.POSITIVE_INFINITY : Number((BigInt(money) * 1_000_000n) / BigInt(price.output));
}

export function isFree({ input, cacheRead, cacheWrite, cacheWriteHour, output, characters }: Price): boolean {
  return input + cacheRead + cacheWrite + cacheWriteHour + output + characters === 0;
}

/** The highest price that a token of input may have. */
export function dearestInput({ input, cacheRead, cacheWrite, cacheWriteHour }: Price): number {
  return Math.max(input, cacheRead, cacheWrite, cacheWriteHour);
}

/** Exact, also where it is beyond what a number can count. */
function product(count: number, price: number): bigint {
  return BigInt(count) * BigInt(price);
}
