/**
 * What usage costs: prices are in millionths of the unit per million tokens (or characters), and so is every sum until
 * its end. Rounding is up, once, to a millionth: nothing is ever free by being small.
 */
import type { Usage } from "../providers/provider.ts";

const million = 1_000_000;

/** What a million of each kind costs. 0 is a price. */
export interface Rates {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWriteHour: number;
  readonly output: number;
  /** Per million characters of speech input. */
  readonly characters: number;
  /** Of the input that is sound, or pictures; unset: what `input` is. */
  readonly inputAudio?: number | undefined;
  readonly inputImage?: number | undefined;
  /** Of the output that is sound; unset: what `output` is. */
  readonly outputAudio?: number | undefined;
}

/** The rates of a call whose prompt has more than so many tokens, its cache among them: all of the call has them. */
export interface Band extends Rates {
  readonly above: number;
}

/** Rates, and those of long prompts by their bounds, ascending. */
export interface RateCard extends Rates {
  readonly long?: readonly Band[] | undefined;
}

/** The ways of being served that have rates of their own. */
export const modes = ["priority", "fast", "flex", "batch"] as const;
export type Mode = (typeof modes)[number];

/** All parts of a model's price. What is unset has no price. */
export interface Price extends RateCard {
  /** By the way in which a call is served. */
  readonly modes?: { readonly [mode in Mode]?: RateCard } | undefined;
  /** What all of it is multiplied by where a call is computed in a region, in millionths. */
  readonly regional?: number | undefined;
  /** A search of the web. */
  readonly search?: number | undefined;
  /** A request to an upstream, beside what it uses. */
  readonly request?: number | undefined;
}

export const kinds = ["input", "cacheRead", "cacheWrite", "cacheWriteHour", "output", "characters"] as const;
/** What is counted in another kind, and costs what that does where it has no rate of its own. */
export const rareKinds = [
  ["inputAudio", "input"],
  ["inputImage", "input"],
  ["outputAudio", "output"],
] as const;

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

/** Returns the cost in millionths of the unit, by rates for each kind of token. */
export function costOf(price: Rates, used: CallUsage): number {
  const parts =
    used.input * price.input +
    used.cacheRead * price.cacheRead +
    used.cacheWrite * price.cacheWrite +
    used.cacheWriteHour * price.cacheWriteHour +
    used.output * price.output +
    used.characters * price.characters;
  // Counts and prices are whole and never negative: no part is larger than the sum, and where that is exact, all are.
  if (parts <= Number.MAX_SAFE_INTEGER) return millionthUp(parts);
  return millionthUpBig(sumOfKinds(price, used));
}

/** What one request to an upstream used, and what it is charged by. */
export interface Charged {
  readonly used: CallUsage;
  readonly rates: Rates;
  /** What all of it is multiplied by, in millionths. */
  readonly factor: number;
}

/** Returns what several requests cost together, searches and requests among it, in millionths of the unit: rounded once. */
export function costOfAll(
  { search = 0, request = 0 }: Pick<Price, "search" | "request">,
  all: readonly Charged[],
): number {
  let sum = 0n;
  for (const { used, rates, factor } of all) {
    const fees = product(used.searches ?? 0, search) + BigInt(request);
    sum += (partsOf(rates, used) + fees * BigInt(million)) * BigInt(factor);
  }
  const scale = BigInt(million) * BigInt(million);
  return Math.min(Number.MAX_SAFE_INTEGER, Number((sum + scale - 1n) / scale));
}

/** Returns what was used at these rates, in millionths of a millionth. */
function partsOf(rates: Rates, used: CallUsage): bigint {
  let sum = sumOfKinds(rates, used);
  // They are parts of what has been counted already.
  for (const [kind, as] of rareKinds) sum += product(used[kind] ?? 0, (rates[kind] ?? rates[as]) - rates[as]);
  return sum < 0n ? 0n : sum;
}

function sumOfKinds(rates: Rates, used: CallUsage): bigint {
  return kinds.reduce((sum, kind) => sum + product(used[kind], rates[kind]), 0n);
}

/** Returns the most that so much input may cost, whichever kind it turns out to be, with so much output. */
export function worstCost(price: Rates, input: number, characters: number, output: number): number {
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
export function outputFor(price: Rates, money: number): number {
  return price.output === 0 ? Number.POSITIVE_INFINITY : Number(product(money, million) / BigInt(price.output));
}

/** Whether nothing of it costs anything, in whichever way a call is served. */
export function isFree(price: Price): boolean {
  const { input, cacheRead, cacheWrite, cacheWriteHour, output, characters, search = 0, request = 0 } = price;
  if (input + cacheRead + cacheWrite + cacheWriteHour + output + characters + search + request > 0) return false;
  const { long, modes: others, inputAudio = 0, inputImage = 0, outputAudio = 0 } = price;
  if (inputAudio + inputImage + outputAudio > 0) return false;
  const cards = [...(long ?? []), ...Object.values(others ?? {})];
  return cards.every((card) => isFree(card));
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
