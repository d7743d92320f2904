/** One curve: a gateway for each size, all of them asked in turn, round after round. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { wrk } from "../clients/wrk.ts";
import { freePort } from "../free-port.ts";
import { chatRequest, models } from "../payloads.ts";

import { startGateway, type UpstreamPorts } from "../servers/gateway.ts";
import { median } from "../statistics.ts";
import { openWithKeys } from "./data.ts";

export interface Size {
  /** Of what grows. */
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

export interface Point {
  readonly count: number;
  /** Microseconds of CPU a request. */
  readonly cpu: number;
  /** The same, as a part of the first point's, taken within rounds. */
  readonly ratio: number;
  /** Requests a second. */
  readonly rate: number;
  /** From the start of the process until it listens. */
  readonly startMs: number;
  /** In megabytes. */
  readonly memory: number;
}

const rounds = 5;
const seconds = 1.5;
const warmSeconds = 3;

export async function curveOf({ name, points }: Curve, context: CurveContext): Promise<Point[]> {
  const { folder, cache, upstreams } = context;
  const gateways = [];
  for (const size of points) {
    const own = join(folder, `${name}-${size.count}`);
    const secrets = await openWithKeys({ cache, folder: own, ...size });
    const port = await freePort();
    const begun = performance.now();
    const program = await startGateway({ folder: own, port, upstreams, moreModels: size.models });
    const startMs = performance.now() - begun;
    const body = chatRequest(models.chat, 1000);
    const requests = secrets.map((secret) => ({ headers: { authorization: `Bearer ${secret}` }, body }));
    const run = { port, path: "/v1/chat/completions", requests, connections: 32, folder };
    // Every key is asked with once before it counts.
    await wrk({ ...run, seconds: warmSeconds });
    gateways.push({ count: size.count, own, program, startMs, run, cpu: [] as number[], rate: [] as number[] });
  }
  for (let round = 0; round < rounds; round++) {
    for (const { program, run, cpu, rate } of gateways) {
      await wrk({ ...run, seconds: seconds / 4 });
      const before = program.cpu();
      const { requests, seconds: taken } = await wrk({ ...run, seconds });
      cpu.push((program.cpu() - before) / 1000 / requests);
      rate.push(requests / taken);
    }
  }
  const first = gateways[0]?.cpu ?? [];
  const told = gateways.map(({ count, program, startMs, cpu, rate }) => {
    const ratio = median(cpu.map((value, round) => value / (first[round] ?? Number.NaN)));
    return { count, cpu: median(cpu), ratio, rate: median(rate), startMs, memory: program.memory() / 1e6 };
  });
  for (const { program, own } of gateways) {
    await program.stop();
    rmSync(own, { recursive: true, force: true });
  }
  return told;
}
