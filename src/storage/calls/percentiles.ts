/**
 * Percentiles of many values in little room: values are counted by bands, and a band stands for its middle, which is within 4 % of all
 * that it holds.
 */

/** Percentiles are in the unit of the values, mostly milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

/** A band ends 8 % above where it begins. */
const bandRatio = Math.log(1.08);

/** countIn counts a value in its band; nothing where it is undefined. */
export function countIn(bands: Map<number, number>, value: number | undefined): void {
  if (value === undefined) return;
  const band = bandOf(value);
  bands.set(band, (bands.get(band) ?? 0) + 1);
}

/** bandOf returns the band of a value; those of 0 and less share one. */
function bandOf(value: number): number {
  return value <= 0 ? -1 : Math.floor(Math.log(value) / bandRatio);
}

function middleOf(band: number): number {
  return band === -1 ? 0 : Math.round(Math.exp((band + 0.5) * bandRatio));
}

/** percentilesOf reads how many values each band holds; undefined for none. */
export function percentilesOf(bands: ReadonlyMap<number, number>): Percentiles | undefined {
  const sorted = [...bands].sort(([one], [other]) => one - other);
  const total = sorted.reduce((sum, [, values]) => sum + values, 0);
  if (total === 0) return undefined;
  const quantile = (share: number) => {
    let below = 0;
    for (const [band, values] of sorted) {
      below += values;
      if (below >= share * total) return middleOf(band);
    }
    return middleOf(sorted.at(-1)?.[0] ?? -1);
  };
  return { p50: quantile(0.5), p95: quantile(0.95) };
}
