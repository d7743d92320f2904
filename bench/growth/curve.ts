/**
 * One curve: a gateway for each size, all measured in turn, round after round, while nothing else runs. Each is called
 * in two ways: by clients with a key each, as far as there are enough, and with up to ten thousand keys in turn on
 * whichever connection is free.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type WrkRun, wrk } from "../clients/wrk.ts";
import { freePort } from "../free-port.ts";
import { chatRequestsBy } from "../payloads.ts";
import type { Program } from "../processes.ts";
import { startGateway, type UpstreamPorts } from "../servers/gateway.ts";
import { median } from "../statistics.ts";
import { keysOfClients, openWithKeys } from "./data.ts";

export interface Size {
  /** count is the number of what grows. */
  readonly count: number;
  readonly accounts: number;
  readonly keys: number;
  readonly calls: number;
  readonly models: number;
}

export interface Curve {
  readonly name: string;
  readonly points: readonly Size[];
}

export interface CurveContext {
  readonly folder: string;
  readonly cache: string;
  readonly upstreams: UpstreamPorts;
}

/** Pattern is how a gateway is called. */
export type Pattern = "a key each" | "in turn";

/** Taken is the result of a pattern. */
export interface Taken {
  /** cpu is in microseconds for each request. */
  readonly cpu: number;
  /** ratio is the same relative to the first point, within each round. */
  readonly ratio: number;
}

export interface Point {
  readonly count: number;
  readonly taken: Readonly<Record<Pattern, Taken>>;
  /** startMs is the time from the start of the process until it listens. */
  readonly startMs: number;
  /** memory is in megabytes. */
  readonly memory: number;
}

const rounds = 5;
const seconds = 1.5;
const warmSeconds = 4;
const connections = 32;
const patterns = ["a key each", "in turn"] as const;

interface Measured {
  readonly count: number;
  readonly folder: string;
  readonly program: Program;
  readonly startMs: number;
  readonly runs: Readonly<Record<Pattern, Omit<WrkRun, "seconds">>>;
  /** cpu has a value for each round. */
  readonly cpu: Readonly<Record<Pattern, number[]>>;
}

export async function curveOf(curve: Curve, context: CurveContext): Promise<Point[]> {
  const gateways: Measured[] = [];
  for (const size of curve.points) {
    const made = await started(curve.name, size, context);
    for (const pattern of patterns) await wrk({ ...made.runs[pattern], seconds: warmSeconds });
    made.program.pause();
    gateways.push(made);
  }
  for (let round = 0; round < rounds; round++) for (const gateway of gateways) await measure(gateway);
  const told = gateways.map((gateway) => pointOf(gateway, gateways[0] ?? gateway));
  for (const { program, folder } of gateways) {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return told;
}

async function started(name: string, size: Size, { folder, cache, upstreams }: CurveContext): Promise<Measured> {
  const own = join(folder, `${name}-${size.count}`);
  const secrets = await openWithKeys({ cache, folder: own, ...size });
  const port = await freePort();
  const begun = performance.now();
  const program = await startGateway({ folder: own, port, upstreams, moreModels: size.models });
  const startMs = performance.now() - begun;
  const run = { port, path: "/v1/chat/completions", connections, folder };
  const runs = {
    "a key each": { ...run, requests: chatRequestsBy(keysOfClients(secrets, connections)), isOneEach: true },
    "in turn": { ...run, requests: chatRequestsBy(secrets) },
  };
  return { count: size.count, folder: own, program, startMs, runs, cpu: { "a key each": [], "in turn": [] } };
}

async function measure({ program, runs, cpu }: Measured): Promise<void> {
  program.resume();
  for (const pattern of patterns) {
    const run = runs[pattern];
    await wrk({ ...run, seconds: seconds / 4 });
    const before = program.cpu();
    const { requests } = await wrk({ ...run, seconds });
    cpu[pattern].push((program.cpu() - before) / 1000 / requests);
  }
  program.pause();
}

function pointOf({ count, program, startMs, cpu }: Measured, first: Measured): Point {
  const takenBy = (pattern: Pattern): Taken => ({
    cpu: median(cpu[pattern]),
    ratio: median(cpu[pattern].map((value, round) => value / (first.cpu[pattern][round] ?? Number.NaN))),
  });
  const taken = { "a key each": takenBy("a key each"), "in turn": takenBy("in turn") };
  return { count, taken, startMs, memory: program.memory() / 1e6 };
}
