/**
 * Computes what usage costs. Prices are in millionths of the unit per million tokens (or characters), and so is every sum until
 * the end: it is rounded up once, to a millionth, so that no usage is free for being small.
 */
import { kinds, type Price, type Rates, rareKinds } from "../call/price.ts";
import { type CallUsage, nothingUsed } from "../call/usage.ts";
import type { PriceCard } from "./price-card.ts";

const million = 1_000_000;

/** costOf returns the cost in millionths of the unit, by the rate of each kind of token. */
export function costOf(price: Rates, used: CallUsage): number {
  const parts =
    used.input * price.input +
    used.cacheRead * price.cacheRead +
    used.cacheWrite * price.cacheWrite +
    used.cacheWriteHour * price.cacheWriteHour +
    used.output * price.output +
    used.characters * price.characters;
  // Counts and prices are whole numbers, never negative: no part is larger than the sum. Where that is exact, all parts are.
  if (parts <= Number.MAX_SAFE_INTEGER) return millionthUp(parts);
  return millionthUpBig(sumOfKinds(price, used));
}

/** ChargedUsage is what requests to upstreams used that are charged by the same card. */
export interface ChargedUsage {
  readonly used: CallUsage;
  readonly card: PriceCard;
  /** requests is how many requests they are. */
  readonly requests: number;
}

/** costOfAll returns what several requests cost together, with fees for searches and requests, in millionths of the unit; rounded once. */
export function costOfAll(all: readonly ChargedUsage[]): number {
  let sum = 0n;
  for (const { used, card, requests } of all) {
    const { search = 0, request = 0, factor = million } = card;
    const fees = product(used.searches ?? 0, search) + product(requests, request);
    sum += (partsOf(card, used) + fees * BigInt(million)) * BigInt(factor);
  }
  const scale = BigInt(million) * BigInt(million);
  return Math.min(Number.MAX_SAFE_INTEGER, Number((sum + scale - 1n) / scale));
}

/** partsOf returns the cost of usage at these rates, in millionths of a millionth. */
function partsOf(rates: Rates, used: CallUsage): bigint {
  let sum = sumOfKinds(rates, used);
  // They are parts of kinds that are summed already: only the difference of the rates is added.
  for (const [kind, as] of rareKinds) sum += product(used[kind] ?? 0, (rates[kind] ?? rates[as]) - rates[as]);
  return sum < 0n ? 0n : sum;
}

function sumOfKinds(rates: Rates, used: CallUsage): bigint {
  return kinds.reduce((sum, kind) => sum + product(used[kind], rates[kind]), 0n);
}

/** worstCost returns the most that so much input may cost, of whatever kind it is, with so much output. */
export function worstCost(price: Rates, input: number, characters: number, output: number): number {
  const { cacheRead, cacheWrite, cacheWriteHour } = price;
  const dearest = Math.max(price.input, cacheRead, cacheWrite, cacheWriteHour);
  const parts = input * dearest + characters * price.characters + output * price.output;
  if (parts <= Number.MAX_SAFE_INTEGER) return millionthUp(parts);
  return costOf({ ...price, input: dearest }, { ...nothingUsed, input, characters, output });
}

/** millionthsOf returns a share, from 0 to 1, in millionths. */
export function millionthsOf(share: number): number {
  return Math.round(share * million);
}

/** shareOf returns a part of a cost, rounded up. `share` is in millionths. */
export function shareOf(cost: number, share: number): number {
  return millionthUpBig(product(cost, share));
}

/** outputFor returns how many output tokens an amount of money buys; infinite where output costs nothing. */
export function outputFor(price: Rates, money: number): number {
  return price.output === 0 ? Number.POSITIVE_INFINITY : Number(product(money, million) / BigInt(price.output));
}

/** isFree reports whether no call costs anything, however it is served. */
export function isFree(price: Price): boolean {
  const { input, cacheRead, cacheWrite, cacheWriteHour, output, characters, search = 0, request = 0 } = price;
  if (input + cacheRead + cacheWrite + cacheWriteHour + output + characters + search + request > 0) return false;
  const { long, modes: others, inputAudio = 0, inputImage = 0, outputAudio = 0 } = price;
  if (inputAudio + inputImage + outputAudio > 0) return false;
  const cards = [...(long ?? []), ...Object.values(others ?? {})];
  return cards.every((card) => isFree(card));
}

/** millionthUp divides a safe integer by a million, and rounds up. The quotient of the numbers themselves might round either way. */
function millionthUp(parts: number): number {
  const rest = parts % million;
  return (parts - rest) / million + (rest > 0 ? 1 : 0);
}

/** millionthUpBig divides by a million, and rounds up, to the largest safe integer at most. */
function millionthUpBig(parts: bigint): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Number((parts + BigInt(million - 1)) / BigInt(million)));
}

/** product returns a product exactly, also where it is beyond the safe integers. */
function product(count: number, price: number): bigint {
  return BigInt(count) * BigInt(price);
}
