/**
 * Measures a process from outside, as its operator would: descriptors, memory and time from /proc, and everything that the
 * gateway itself counts as open from its port for metrics.
 */
import { readdirSync, readFileSync } from "node:fs";

/** What a process holds at a moment. */
export interface Held {
  readonly descriptors: number;
  /** Resident memory, in megabytes. */
  readonly rss: number;
}

export function heldBy(pid: number): Held {
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, rss: rssOf(pid) };
}

function rssOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}

const millisecondsPerTick = 10;

/** Returns the processor time that a process has used so far, in milliseconds. */
export function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * millisecondsPerTick;
}

/** Returns how long its main thread has been ready and had no core, in milliseconds; 0 where the system does not tell. */
export function waitedBy(pid: number): number {
  try {
    const [, nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return 0;
  }
}

const sampleMs = 50;

/** Watches a process. What it returns ends the watch and returns the most that was held at any sample. */
export function watchPeak(pid: number): () => Held {
  let peak = heldBy(pid);
  const sample = () => {
    try {
      const now = heldBy(pid);
      peak = { descriptors: Math.max(peak.descriptors, now.descriptors), rss: Math.max(peak.rss, now.rss) };
    } catch {
      clearInterval(timer); // It has ended.
    }
  };
  const timer = setInterval(sample, sampleMs);
  return () => {
    sample();
    clearInterval(timer);
    return peak;
  };
}

/**
 * `counted` lists the metrics that are zero where nothing is under way, summed over their labels. A gateway that lacks one
 * is not measured by it.
 */
const counted: readonly RegExp[] = [
  /^(?:model_)?gateway_requests_running$/,
  /^(?:model_)?gateway_upstream_(?:running|queued)$/,
  /^(?:model_)?gateway_holds$/,
  /^(?:model_)?gateway_held_units$/,
  /^(?:model_)?gateway_connections$/,
  /^(?:model_)?gateway_(?:http2_)?(?:streams|sessions)$/,
  /^(?:model_)?gateway_body_bytes$/,
];

/** Counts by the metric's name and its labels. */
export type Counts = ReadonlyMap<string, number>;

/** Bounds what hangs, and times nothing. */
const scrapeMs = 30_000;

/** Reads the counts that are to be zero. Throws where the gateway does not answer in time. */
export async function readCounts(metricsUrl: string): Promise<Counts> {
  const counts = new Map<string, number>();
  for (const [series, value] of await scrape(metricsUrl)) {
    const name = series.split("{", 1)[0] as string;
    if (counted.some((pattern) => pattern.test(name))) counts.set(series.replace(/^model_gateway_/, ""), value);
  }
  return counts;
}

/** Reads all series with their values. */
export async function scrape(metricsUrl: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(metricsUrl, { signal: AbortSignal.timeout(scrapeMs) })).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))] as const;
    }),
  );
}

/** Returns the counts that are not zero, as text. */
export function notZero(counts: Counts): string[] {
  return [...counts].filter(([, value]) => value !== 0).map(([name, value]) => `${name} ${value}`);
}

/** Returns the value below which this part of the samples lies. */
export function quantile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
