/** Plays a row before the canary, and measures what the gateway held before, at its peak, and after it. */
import { setTimeout as delay } from "node:timers/promises";
import type { Canary, CanaryReport } from "./canary.ts";
import { type GatewayProcess, startGateway } from "./gateway.ts";
import { collectGarbage } from "./inspector.ts";
import { cpuOf, type Held, heldBy, notZero, quantile, readCounts, watchPeak } from "./measure.ts";
import type { Outcome, Row, Stage } from "./row.ts";
import type { Upstream } from "./upstream.ts";

export interface Played {
  readonly row: Row;
  readonly told: string;
  readonly faults: readonly string[];
  readonly before: Held;
  readonly peak: Held;
  readonly after: Held;
  /** Whether memory was back only after a full collection had been asked for. */
  readonly isCollected: boolean;
  readonly quiet: Latency;
  readonly attacked: Latency;
  readonly cpuMs: number;
  readonly seconds: number;
  /** Counts that are not zero after it. */
  readonly left: readonly string[];
}

export interface Latency {
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly errors: readonly string[];
  readonly lateMs: number;
}

/** What all rows play on. The gateway is a new one after a row that failed. */
export interface Theatre {
  readonly canary: Canary;
  readonly calm: Upstream;
  readonly wild: Upstream;
  /** How long attacks last that are bounded by time alone, in milliseconds. */
  readonly ms: number;
  gateway?: GatewayProcess | undefined;
  openFiles?: number | undefined;
  /** What the canary saw while nothing else happened at this gateway. */
  quiet: number[];
}

const longestMs = 15_000;
const quietMs = 600;
const firstQuietMs = 2_000;
const warmMs = 3_000;
const settledMs = 4_000;
const pollMs = 100;
const growthByDefault = 512;
/** How much slower the canary's slowest hundredth may be, in milliseconds. */
const slowerMs = 100;
/** What may be left of memory: a tenth, and a little of a small process. */
const memoryPart = 1.1;
const memorySlack = 16;
/** The database's files, and a socket that is just being closed. */
const descriptorSlack = 6;

export async function play(row: Row, theatre: Theatre): Promise<Played> {
  const gateway = await readyGateway(row, theatre);
  const { canary, quiet: known } = theatre;
  const { port, keys } = gateway;
  const base = await settle(gateway, theatre, undefined);
  await canary.call(port, keys.canary);
  await delay(known.length === 0 ? firstQuietMs : quietMs);
  const quiet = await canary.report();
  known.push(...quiet.samples);
  const before = await warm(row, theatre, gateway, base);
  await canary.report();
  const [endWatch, cpuBefore] = [watchPeak(gateway.pid), cpuOf(gateway.pid)];
  const attackAt = performance.now();
  const outcome = await run(row, stageOf(theatre, gateway, 1));
  const seconds = (performance.now() - attackAt) / 1000;
  const attacked = await canary.pause();
  const peak = endWatch();
  const cpuMs = gateway.isAlive() ? cpuOf(gateway.pid) - cpuBefore : Number.NaN;
  const { held, left, isCollected } = await settle(gateway, theatre, before);
  const played = {
    ...{ row, told: outcome.told, before, peak, after: held, isCollected, cpuMs, seconds, left },
    quiet: latencyOf({ ...quiet, samples: known }),
    attacked: latencyOf(attacked),
  };
  const faults = [...outcome.faults, ...boundsMissed(played, gateway)];
  // What one attack has left must not be another's.
  if (faults.length > 0) await dropGateway(theatre);
  return { ...played, faults };
}

async function readyGateway({ openFiles }: Row, theatre: Theatre): Promise<GatewayProcess> {
  if (!theatre.gateway || theatre.openFiles !== openFiles) {
    await dropGateway(theatre);
    const { calm, wild, canary } = theatre;
    const gateway = await startGateway({ calm: calm.port, wild: wild.port, openFiles });
    [theatre.gateway, theatre.openFiles, theatre.quiet] = [gateway, openFiles, []];
    // What a new process does once is not an attack's: it compiles, and its heap grows.
    await canary.call(gateway.port, gateway.keys.canary);
    await delay(warmMs);
    await canary.pause();
  }
  return theatre.gateway as GatewayProcess;
}

export async function dropGateway(theatre: Theatre): Promise<void> {
  await theatre.gateway?.close();
  theatre.gateway = undefined;
}

function stageOf({ calm, wild, ms }: Theatre, gateway: GatewayProcess, share: number): Stage {
  return { gateway, calm, wild, share, ms: ms * share, signal: AbortSignal.timeout(longestMs) };
}

/** Makes a small attack first, and returns what is held then or was before, whichever is more. */
async function warm(row: Row, theatre: Theatre, gateway: GatewayProcess, base: Settled): Promise<Held> {
  const share = row.warm ?? 0.1;
  if (share === 0) return base.held;
  await run(row, stageOf(theatre, gateway, share));
  await delay(pollMs);
  if (!gateway.isAlive()) return base.held;
  return { ...base.held, rss: Math.max(base.held.rss, heldBy(gateway.pid).rss) };
}

async function run(row: Row, stage: Stage): Promise<Outcome> {
  const { signal } = stage;
  const late = new Promise<Outcome>((resolve) => {
    const told = { told: "", faults: [`the attack did not end in ${longestMs / 1000} s`] };
    signal.addEventListener("abort", () => setTimeout(resolve, 2_000, told), { once: true });
  });
  const failed = (error: unknown) => ({ told: "", faults: [`the harness failed: ${(error as Error).message}`] });
  return Promise.race([row.run(stage).catch(failed), late]);
}

interface Settled {
  readonly held: Held;
  readonly left: readonly string[];
  readonly isCollected: boolean;
}

/**
 * Waits until nothing is under way and what was held before is free again, for some seconds. Where memory alone is
 * missing, a full collection is asked for: garbage that nobody has needed the room of is no leak.
 */
async function settle(gateway: GatewayProcess, theatre: Theatre, before: Held | undefined): Promise<Settled> {
  const end = performance.now() + settledMs;
  let settled: Settled;
  do {
    settled = await look(gateway, theatre);
    if (settled.left.length === 0 && (!before || (isBack(settled.held, before) && isFreed(settled.held, before)))) {
      return settled;
    }
    await delay(pollMs);
  } while (performance.now() < end && gateway.isAlive());
  if (!before || isFreed(settled.held, before) || !gateway.isAlive()) return settled;
  await collectGarbage(gateway.pid, gateway.errors);
  await delay(pollMs);
  return { ...(await look(gateway, theatre)), isCollected: true };
}

async function look({ pid, metricsUrl, isAlive }: GatewayProcess, { calm, wild }: Theatre): Promise<Settled> {
  if (!isAlive()) return { held: { descriptors: 0, rss: 0 }, left: ["the gateway has ended"], isCollected: false };
  const left = await readCounts(metricsUrl).then(notZero, () => ["its metrics do not answer"]);
  const { descriptors, rss } = heldBy(pid);
  // Connections to upstreams are kept, and are not the attack's.
  const kept = (await calm.seen()).open + (await wild.seen()).open;
  return { held: { descriptors: descriptors - kept, rss }, left, isCollected: false };
}

const isBack = (now: Held, before: Held) => now.descriptors <= before.descriptors + descriptorSlack;
const isFreed = (now: Held, before: Held) => now.rss <= before.rss * memoryPart + memorySlack;

function latencyOf({ samples, errors, lateMs }: CanaryReport): Latency {
  const [p50, p99] = [quantile(samples, 0.5), quantile(samples, 0.99)];
  return { calls: samples.length, p50, p99, max: Math.max(0, ...samples), errors, lateMs };
}

type Measured = Omit<Played, "faults">;

function boundsMissed(played: Measured, gateway: GatewayProcess): string[] {
  const { row, before, peak, after, quiet, attacked, left } = played;
  const { growth = growthByDefault } = row;
  const missed: string[] = [];
  if (!gateway.isAlive()) missed.push(`the gateway ended: ${gateway.errors().slice(-300)}`);
  if (attacked.p99 > quiet.p99 + slowerMs) {
    missed.push(`canary p99 ${attacked.p99.toFixed(0)} ms, quiet ${quiet.p99.toFixed(0)} ms`);
  }
  if (attacked.errors.length > 0) missed.push(`canary errors: ${attacked.errors.length}, as "${attacked.errors[0]}"`);
  if (peak.rss - before.rss > growth) missed.push(`memory grew by ${(peak.rss - before.rss).toFixed(0)} MB`);
  if (!isFreed(after, before)) missed.push(`${after.rss.toFixed(0)} MB resident, before ${before.rss.toFixed(0)}`);
  if (!isBack(after, before)) missed.push(`${after.descriptors} descriptors, before ${before.descriptors}`);
  if (left.length > 0) missed.push(`not zero: ${left.join(", ")}`);
  return missed;
}
