/** What is done to the fleet and when: the same for the same seed and length. */
import { pick, randomOf } from "../support/run/random.ts";

export type Server = "postgres" | "redis";

export type Deed =
  | { readonly kind: "kill"; readonly node: number }
  | { readonly kind: "pause"; readonly node: number; readonly ms: number }
  /** Connections are reset, and new ones are taken. */
  | { readonly kind: "cut"; readonly server: Server; readonly nodes: readonly number[] }
  /** The server cannot be reached. */
  | {
      readonly kind: "away";
      readonly server: Server;
      readonly nodes: readonly number[];
      readonly way: "refuse" | "silent";
      readonly ms: number;
    }
  /** Notifications are kept back while all else passes, or the connection that listens for them is held silent. */
  | { readonly kind: "notices"; readonly way: "kept" | "silent"; readonly ms: number };

export interface Planned {
  /** Milliseconds from the beginning of the load. */
  readonly at: number;
  readonly deed: Deed;
}

export interface Plan {
  readonly planned: readonly Planned[];
  /** How long a node is paused, and a server is away from all, in milliseconds. */
  readonly pauseMs: number;
  readonly awayMs: number;
}

export const nodeCount = 3;
const all = [0, 1, 2];
const killEveryMs = 10_000;
/** From this length of troubles on the long troubles have the length that they are stated with. */
const wholeMs = 210_000;

/** Nothing is done in the last part of a run, which shows how it is without trouble. */
const quietPart = 0.2;
const mostQuietMs = 30_000;

export function makePlan(seconds: number, seed: number): Plan {
  const ms = seconds * 1000 - Math.min(mostQuietMs, seconds * 1000 * quietPart);
  const random = randomOf(seed);
  const oneOf = <T>(list: readonly T[]): T => pick(list, random);
  const between = (least: number, most: number) => Math.round(least + random() * (most - least));
  const isWhole = ms >= wholeMs;
  const [pauseMs, awayMs] = isWhole ? [100_000, 20_000] : [ms / 5, ms / 8];
  const long = longTroubles(ms, pauseMs, awayMs, oneOf(all));
  const paused = long.filter(({ deed }) => deed.kind === "pause");
  const planned: Planned[] = [...long];
  const isPaused = (node: number, at: number) =>
    paused.some(
      ({ at: from, deed }) =>
        deed.kind === "pause" && deed.node === node && at < from + deed.ms + 2000 && at > from - 2000,
    );
  for (let at = killEveryMs; at < ms; at += killEveryMs) {
    const moment = at + between(-800, 800);
    planned.push({ at: moment, deed: { kind: "kill", node: oneOf(all.filter((node) => !isPaused(node, moment))) } });
  }
  const isLong = (server: Server, at: number) =>
    long.some(
      ({ at: from, deed }) =>
        deed.kind === "away" && deed.server === server && at > from - 4000 && at < from + deed.ms + 4000,
    );
  for (let at = 3000; at < ms - 1000; at += between(3000, 5000)) {
    const server = oneOf<Server>(["postgres", "redis"]);
    const nodes = random() < 0.3 ? all : [oneOf(all)];
    const shape = random();
    const away = {
      kind: "away",
      server,
      nodes,
      way: oneOf(["refuse", "silent"] as const),
      ms: between(200, 2500),
    } as const;
    if (!isLong(server, at)) planned.push({ at, deed: shape < 0.5 ? { kind: "cut", server, nodes } : away });
  }
  for (let at = 6000, n = 0; at < ms - 4000; at += 15_000, n++)
    planned.push({ at, deed: { kind: "notices", way: n % 2 === 0 ? "kept" : "silent", ms: 6000 } });
  return { planned: planned.sort((one, other) => one.at - other.at), pauseMs, awayMs };
}

/** The pause, and both servers away, one after another. In a long run both servers are away once more, in the other way. */
function longTroubles(ms: number, pauseMs: number, awayMs: number, node: number): Planned[] {
  const away = (server: Server, at: number, way: "refuse" | "silent"): Planned => ({
    at,
    deed: { kind: "away", server, nodes: all, way, ms: awayMs },
  });
  const pausedAt = ms * 0.12;
  const after = pausedAt + pauseMs + 0.05 * ms;
  const step = Math.max(0.1 * ms, awayMs + 6000);
  const first = [away("redis", after, "refuse"), away("postgres", after + step, "silent")];
  const isTwice = after + 4 * step < ms;
  const second = [away("redis", after + 2 * step, "silent"), away("postgres", after + 3 * step, "refuse")];
  return [{ at: pausedAt, deed: { kind: "pause", node, ms: pauseMs } }, ...first, ...(isTwice ? second : [])];
}
