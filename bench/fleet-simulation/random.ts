/** Seeded random numbers: the same seed gives the same run. */

export interface Random {
  /** Returns a number from 0 up to 1, without 1. */
  next(): number;
  /** Returns an exponentially distributed number with this mean. */
  exponential(mean: number): number;
  /** Returns how often something happens that is expected `mean` times. */
  poisson(mean: number): number;
}

/** Above this mean a Poisson number is taken from the normal distribution, which is then the same within a percent. */
const manyEnough = 60;

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // Mulberry32: 32 bits of state are enough for some million draws.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const exponential = (mean: number) => -mean * Math.log(1 - next());
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const poisson = (mean: number) => {
    if (mean > manyEnough) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal()));
    let count = 0;
    for (let left = exponential(1); left < mean; left += exponential(1)) count++;
    return count;
  };
  return { next, exponential, poisson };
}
