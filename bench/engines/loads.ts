/**
 * The loads that compare engines: SQLite in one process, Postgres and Redis, several processes. The gateways take turns on each, and
 * only their own processes' CPU counts.
 */
import { atRate } from "../clients/latency.ts";
import { wrk } from "../clients/wrk.ts";
import { type Figures, percentiles } from "../figures.ts";
import type { Load } from "../loads.ts";
import { models } from "../payloads.ts";
import { askedOf, chat, type Sent } from "../sent.ts";
import { engineNames, type Target } from "../targets.ts";
import { countsOf } from "./counts.ts";

export const engineLoads: readonly Load[] = [
  full("256", "chat of 1 kB, 256 connections", chat(1000), 256),
  full("50-ms", "chat of 1 kB, an upstream that takes 50 ms, 1,000 connections", chat(1000, models.late), 1000),
  full("32", "chat of 1 kB, 32 connections", chat(1000), 32),
  rated("500-a-second", "500 requests/s, whatever the answers take", 500),
  rated("1000-a-second", "1,000 requests/s, whatever the answers take", 1000),
];

/** full asks as fast as answers come. */
function full(name: string, about: string, sent: Sent, connections: number): Load {
  return {
    ...{ name, about, targets: ["gateway", ...engineNames], sent, kind: "whole", slices: 1, lasting: 1 },
    async measure(target, { seconds, warmSeconds, folder }) {
      const { path, body, upstream } = sent;
      const requests = [{ headers: target.headers(upstream), body }];
      const run = { port: target.ports[upstream], path, requests, connections, folder };
      await wrk({ ...run, seconds: warmSeconds });
      const counts = await countsOf(target);
      const cpu = cpuOf(target);
      const result = await wrk({ ...run, seconds });
      const spent = cpu(result.requests);
      return { "requests/s": result.requests / result.seconds, ...spent, ...(await counts(result.requests)) };
    },
  };
}

/** rated asks at a fixed rate, at which no gateway is busy: what it takes longer is what it waits for. */
function rated(name: string, about: string, rate: number): Load {
  const sent = chat(1000);
  return {
    ...{ name, about, targets: ["gateway", "gateway-postgres"], sent, kind: "whole", slices: 1, lasting: 1 },
    async measure(target, { seconds, warmSeconds }) {
      await atRate(askedOf(target, sent), rate, warmSeconds);
      const counts = await countsOf(target);
      const times = await atRate(askedOf(target, sent), rate, seconds);
      return { ...percentiles(times), ...(await counts(times.length)) };
    },
  };
}

/**
 * cpuOf starts counting CPU. The returned function divides what was used by a number of calls: by all processes, and by the busiest,
 * which bounds how many calls all of them can serve.
 */
function cpuOf({ program }: Pick<Target, "program">): (calls: number) => Figures {
  const before = program?.cpus() ?? new Map<number, number>();
  return (calls) => {
    const spent = [...(program?.cpus() ?? [])].map(([pid, cpu]) => (cpu - (before.get(pid) ?? 0)) / 1000 / calls);
    return {
      "CPU µs/request": spent.reduce((a, b) => a + b, 0),
      "busiest process µs/request": Math.max(...spent),
    };
  };
}
