/** A sequence of random numbers that is the same whenever it begins with the same seed. */

export interface Random {
  /** Returns a number from 0 on and below 1. */
  next(): number;
  /** Returns a whole number from `least` to `most`. */
  whole(least: number, most: number): number;
  /** Reports whether something happens that happens with this share, 0 to 1. */
  happens(share: number): boolean;
  /** Returns a number around `median`, seldom far above it: as sizes and durations are spread. `spread` 0 returns the median. */
  around(median: number, spread: number): number;
  /** Chooses one by its weight. There must be one. */
  choose<T extends { readonly weight: number }>(among: readonly T[]): T;
}

/** createRandom makes the sequence. Source: mulberry32, a generator with 32 bits of state. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    whole: (least, most) => least + Math.floor(next() * (most - least + 1)),
    happens: (share) => next() < share,
    around: (median, spread) => median * Math.exp(normal(next) * spread),
    choose(among) {
      let rest = next() * among.reduce((sum, { weight }) => sum + weight, 0);
      for (const one of among) {
        rest -= one.weight;
        if (rest < 0) return one;
      }
      return among.at(-1) as (typeof among)[number];
    },
  };
}

/** normal returns a normally distributed number. Source: the method of Box and Muller. */
function normal(next: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
}
