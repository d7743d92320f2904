/** Chance that can be repeated. */

/** Random returns a number from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** randomOf makes the same numbers of the same seed. Source: Mulberry32, by T. Ettinger. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** pick returns one of the list, which has at least one. */
export function pick<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random() * list.length)] as T;
}
