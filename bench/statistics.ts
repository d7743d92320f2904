/** Medians and percentiles. */

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value that this part of all is at most, by the nearest rank. NaN of nothing. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(part * sorted.length) - 1))] ?? Number.NaN;
}
