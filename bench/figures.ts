/** The figures of a target by name with unit: the same names in the table and in the JSON. */
import { percentile } from "./statistics.ts";
import type { Target } from "./targets.ts";

export type Figures = Readonly<Record<string, number>>;

/** percentiles returns the percentiles of times in milliseconds. */
export function percentiles(times: readonly number[]): Figures {
  return { "p50 ms": percentile(times, 0.5), "p99 ms": percentile(times, 0.99), "p99.9 ms": percentile(times, 0.999) };
}

/** cpuOf starts counting CPU. The returned function divides what was used by a number of calls. */
export function cpuOf({ program }: Target): (name: string, count: number) => Figures {
  if (!program) return () => ({});
  const before = program.cpu();
  return (name, count) => ({ [name]: (program.cpu() - before) / 1000 / count });
}

export function memoryOf({ program }: Target): Figures {
  return program ? { "memory MB": program.memory() / 1e6 } : {};
}
