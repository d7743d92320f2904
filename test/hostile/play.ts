/** Plays a row before the canary, and measures what the gateway held before, at its peak, and after it. */
import { setTimeout as delay } from "node:timers/promises";
import type { CanaryReport } from "./canary.ts";
import type { GatewayProcess } from "./gateway.ts";
import { collectGarbage } from "./inspector.ts";
import { cpuOf, type Held, heldBy, notZero, quantile, readCounts, waitedBy, watchPeak } from "./measure.ts";
import type { Outcome, Row, Stage } from "./row.ts";
import { calledOf, dropGateway, readyGateway, type Theatre } from "./theatre.ts";

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
  /** How long the gateway was ready and had no core, in milliseconds. */
  readonly waitedMs: number;
  readonly seconds: number;
  /** Counts that are not zero after it. */
  readonly left: readonly string[];
}

export interface Latency {
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** The slowest hundredth, less what the gateway waited for a core meanwhile. */
  readonly own: number;
  /** The slowest hundredth of the same calls of the upstream itself. */
  readonly direct: number;
  readonly errors: readonly string[];
  readonly lateMs: number;
}

const longestMs = 15_000;
/** How long the canary is watched from the beginning of an attack at least. */
const leastMs = 1_500;
const quietMs = 600;
const firstQuietMs = 2_000;
/** How long what an attack has begun may go on after it. */
const settledMs = 9_000;
/** Five to seven seconds after its last work the gateway collects its garbage, and a second later it gives back what is free. */
const givenBackMs = 12_000;
const pollMs = 100;
const growthByDefault = 512;
/** What may be left of memory: a tenth, and a little of a small process. */
const memoryPart = 1.1;
const memorySlack = 16;
/** The database's files, and a socket that is just being closed. */
const descriptorSlack = 6;

const late = "canary p99";

export async function play(row: Row, theatre: Theatre): Promise<Played> {
  const gateway = await readyGateway(row, theatre);
  const { canary, quiet: known } = theatre;
  const base = await settle(gateway, theatre, undefined);
  await canary.call(calledOf(gateway, theatre.calm));
  await delay(known.samples.length === 0 ? firstQuietMs : quietMs);
  const quiet = await canary.report();
  known.samples.push(...quiet.samples);
  known.own.push(...quiet.own);
  known.direct.push(...quiet.direct);
  const before = await warm(row, theatre, gateway, base);
  await canary.report();
  const endWatch = watchPeak(gateway.pid);
  const [cpuBefore, waitedBefore] = [cpuOf(gateway.pid), waitedBy(gateway.pid)];
  const attackAt = performance.now();
  const outcome = await run(row, stageOf(theatre, gateway, 1));
  const seconds = (performance.now() - attackAt) / 1000;
  // An attack that is over at once may still cost, and a hundredth needs many samples.
  await delay(Math.max(0, leastMs - seconds * 1000));
  const attacked = await canary.pause();
  const peak = endWatch();
  const cpuMs = gateway.isAlive() ? cpuOf(gateway.pid) - cpuBefore : Number.NaN;
  const waitedMs = waitedBy(gateway.pid) - waitedBefore;
  const { held, left, isCollected } = await settle(gateway, theatre, before);
  const played = {
    ...{ row, told: outcome.told, before, peak, after: held, isCollected, cpuMs, waitedMs, seconds, left },
    quiet: latencyOf({ ...quiet, ...known }),
    attacked: latencyOf(attacked),
  };
  const faults = [...outcome.faults, ...boundsMissed(played, gateway, theatre.slowerMs)];
  // What one attack has left must not be another's.
  if (faults.length > 0) await dropGateway(theatre);
  return { ...played, faults };
}

/** AtRest is the resident memory of the gateway before its first attack, and after all of them, in megabytes. */
export interface AtRest {
  readonly before: number;
  readonly after: number;
  readonly isCollected: boolean;
  readonly isFreed: boolean;
}

/**
 * atRest waits until the last gateway has given back what its attacks have left. Each row begins with what the one before may have left, so
 * that their sum could grow unseen. Undefined where no gateway runs.
 */
export async function atRest(theatre: Theatre): Promise<AtRest | undefined> {
  const { gateway, normal } = theatre;
  if (!gateway?.isAlive()) return undefined;
  const before = { rss: normal, descriptors: Number.POSITIVE_INFINITY };
  const { held, isCollected } = await settle(gateway, theatre, before);
  return { before: normal, after: held.rss, isCollected, isFreed: isFreed(held, before) };
}

function stageOf({ calm, wild, ms, patienceMs }: Theatre, gateway: GatewayProcess, share: number): Stage {
  const signal = AbortSignal.timeout(Math.max(longestMs, patienceMs));
  return { gateway, calm, wild, share, ms: ms * share, patienceMs, signal };
}

/** Makes a small attack first, and returns what is held then or was before, whichever is more. */
async function warm(row: Row, theatre: Theatre, gateway: GatewayProcess, base: Settled): Promise<Held> {
  const share = row.warm ?? 0.1;
  // A full collection makes a heap smaller than calls then need.
  const held = { ...base.held, rss: Math.max(base.held.rss, theatre.normal) };
  if (share === 0) return held;
  await run(row, stageOf(theatre, gateway, share));
  await delay(pollMs);
  return gateway.isAlive() ? { ...held, rss: Math.max(held.rss, heldBy(gateway.pid).rss) } : held;
}

async function run(row: Row, stage: Stage): Promise<Outcome> {
  const { signal } = stage;
  const unended = new Promise<Outcome>((resolve) => {
    const told = { told: "", faults: [`the attack did not end in ${longestMs / 1000} s`] };
    signal.addEventListener("abort", () => setTimeout(resolve, 2_000, told), { once: true });
  });
  const failed = (error: unknown) => ({ told: "", faults: [`the harness failed: ${(error as Error).message}`] });
  return Promise.race([row.run(stage).catch(failed), unended]);
}

interface Settled {
  readonly held: Held;
  readonly left: readonly string[];
  readonly isCollected: boolean;
}

/**
 * Waits until nothing is under way and what was held before is free again, for some seconds. Where memory alone is
 * missing the gateway is left alone, for it collects its garbage once nobody asks it anything; where that does not
 * suffice, a full collection is asked for: garbage that nobody has needed the room of is no leak.
 */
async function settle(gateway: GatewayProcess, theatre: Theatre, before: Held | undefined): Promise<Settled> {
  const end = performance.now() + Math.max(settledMs, theatre.patienceMs);
  let settled: Settled;
  do {
    settled = await look(gateway, theatre);
    if (settled.left.length === 0 && (!before || isBack(settled.held, before))) break;
    await delay(pollMs);
  } while (performance.now() < end && gateway.isAlive());
  if (!before || settled.left.length > 0) return settled;
  const last = performance.now() + givenBackMs;
  while (performance.now() < last && gateway.isAlive() && !isFreed(heldBy(gateway.pid), before)) await delay(pollMs);
  settled = await look(gateway, theatre);
  if (isFreed(settled.held, before) || !gateway.isAlive()) return settled;
  await collectGarbage(gateway.pid, gateway.errors);
  await delay(pollMs);
  const { held, left } = await look(gateway, theatre);
  // The inspector has descriptors of its own.
  return { held: { ...held, descriptors: settled.held.descriptors }, left, isCollected: true };
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

function latencyOf({ samples, own, direct, errors, lateMs }: CanaryReport): Latency {
  const [p50, p99] = [quantile(samples, 0.5), quantile(samples, 0.99)];
  return {
    calls: samples.length,
    p50,
    p99,
    max: Math.max(0, ...samples),
    own: quantile(own, 0.99),
    direct: quantile(direct, 0.99),
    errors,
    lateMs,
  };
}

type Measured = Omit<Played, "faults">;

function boundsMissed(played: Measured, gateway: GatewayProcess, slowerMs: number): string[] {
  const { row, before, peak, after, quiet, attacked, left } = played;
  const { growth = growthByDefault } = row;
  const missed: string[] = [];
  if (!gateway.isAlive()) missed.push(`the gateway ended: ${gateway.errors().slice(-300)}`);
  // By so much calls are slower that never see the gateway: others use the machine.
  const machine = Math.max(0, attacked.direct - quiet.direct);
  if (attacked.own > quiet.own + slowerMs + machine) {
    const [before, by] = [quiet.own.toFixed(0), machine.toFixed(0)];
    missed.push(`${late} ${attacked.own.toFixed(0)} ms, quiet ${before} ms, ${by} ms of it the machine's`);
  }
  if (attacked.errors.length > 0) missed.push(`canary errors: ${attacked.errors.length}, as "${attacked.errors[0]}"`);
  if (peak.rss - before.rss > growth) missed.push(`memory grew by ${(peak.rss - before.rss).toFixed(0)} MB`);
  if (!isFreed(after, before)) missed.push(`${after.rss.toFixed(0)} MB resident, before ${before.rss.toFixed(0)}`);
  if (!isBack(after, before)) missed.push(`${after.descriptors} descriptors, before ${before.descriptors}`);
  if (left.length > 0) missed.push(`not zero: ${left.join(", ")}`);
  return missed;
}
