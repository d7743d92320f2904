/** Says whether a fleet holds, what breaks first when more calls come, and how many Postgres servers it takes. */
import { nodeCosts, redisAskUs } from "./costs.ts";
import { type Simulated, simulateFleet, type Work } from "./fleet.ts";
import { flowsOf } from "./flows.ts";
import type { Scenario } from "./scenario.ts";

export interface Use {
  readonly name: string;
  /**
   * used is the share of the resource that is in use, from 0 to 1; above 1 the resource does not suffice. For a wait it is the wait,
   * divided by `longestWait`.
   */
  readonly used: number;
  /** most is the highest share with which the fleet holds. */
  readonly most: number;
}

/** most is the highest share of a resource: above it a peak has no room. */
const most = 0.7;
/** longestWait is the longest that 99 of 100 calls may wait for money, in microseconds. */
export const longestWait = 50_000;
/**
 * nearlyFull is the share of cores above which they are the cause of waits. Full cores alone are no fault: batches grow as a server
 * fills up.
 */
const nearlyFull = 0.9;

const nodeCore = "a node's core";

/** fewest is how many calls a percentile needs. */
const fewest = 100;

/** Returns what is used of each resource that bounds by itself, and of the time that calls may wait. */
export function usesOf(scenario: Scenario, simulated: Simulated): Use[] {
  const { used, flows, begin, end, hot } = simulated;
  const wait = Math.max(begin.percentile(0.99), end.percentile(0.99));
  const isFull = used.cores >= nearlyFull;
  const waiting = isFull ? `Postgres: cores, most by ${mostWork(simulated)}` : "waiting for money";
  // A server that falls behind never answers the calls that wait longest, and the percentile would leave them out.
  const others = (scenario.callsPerSecond * simulated.shard.part - flows.hot) * scenario.seconds;
  const isLost = others > fewest && begin.count() + end.count() < 1.8 * others;
  const uses = [
    { name: nodeCore, used: nodeUse(scenario, simulated), most },
    { name: "Postgres: its log", used: used.log, most },
    { name: "Redis", used: (flows.redisAsks * redisAskUs) / 1e6 / scenario.redisShards, most },
    { name: waiting, used: isLost ? Number.POSITIVE_INFINITY : wait / longestWait, most: 1 },
  ];
  const expected = 2 * flows.hot * scenario.seconds;
  if (expected < fewest) return uses;
  const isHotLost = hot.count() < 0.9 * expected - 3 * Math.sqrt(expected);
  const hotWait = isHotLost ? Number.POSITIVE_INFINITY : hot.percentile(0.99) / longestWait;
  // A full server makes all calls wait, and these no less: that is one bound.
  if (isFull) return uses.map((use) => (use.name === waiting ? { ...use, used: Math.max(use.used, hotWait) } : use));
  return [...uses, { name: "Postgres: the row of one account", used: hotWait, most: 1 }];
}

function nodeUse({ nodes, callsPerSecond, callCpu, shards }: Scenario, { batches, flows }: Simulated): number {
  const entries = 2 * flows.leased + 2 * flows.scarce + flows.opened + flows.grown;
  const transactions = (batches.write + batches.decide) * shards * nodeCosts.batch;
  const redis = flows.redisAsks * nodeCosts.redisAsk;
  return (callsPerSecond * callCpu + transactions + entries * nodeCosts.entry + redis) / nodes / 1e6;
}

/** worstOf returns the resource that is nearest to its bound, or furthest beyond it. */
export function worstOf(uses: readonly Use[]): Use {
  return uses.reduce((worst, use) => (use.used / use.most > worst.used / worst.most ? use : worst));
}

export const holds = (uses: readonly Use[]): boolean => uses.every(({ used, most: bound }) => used <= bound);

/** Returns the kind of work that takes most cores of Postgres. */
export function mostWork({ cores }: Simulated): Work {
  const [first] = Object.entries(cores).sort(([, one], [, other]) => other - one);
  return first?.[0] as Work;
}

export interface Break {
  /** callsPerSecond is the highest load that the fleet bears. */
  readonly callsPerSecond: number;
  /** what names the resource that breaks above that. */
  readonly what: string;
}

/** tryFor is how long each try is simulated, in seconds. */
const tryFor = 0.6;

/** Returns how many calls a second the fleet bears, and what breaks first. Keys and accounts stay as many as they are. */
export function breakOf(scenario: Scenario): Break {
  let [low, high] = [0, Number.POSITIVE_INFINITY];
  let calls = scenario.callsPerSecond;
  let what = "";
  for (let i = 0; i < 16 && high / Math.max(low, 1) > 1.05; i++) {
    const tried = { ...scenario, callsPerSecond: calls, seconds: tryFor };
    const broken = brokenBy(tried);
    if (broken === undefined) low = calls;
    else [high, what] = [calls, broken];
    if (low === 0) calls = high / 4;
    else calls = high === Number.POSITIVE_INFINITY ? low * 4 : Math.sqrt(low * high);
  }
  return { callsPerSecond: low, what };
}

/** brokenBy returns the name of the resource that breaks under the load; undefined if none does. */
function brokenBy(scenario: Scenario): string | undefined {
  const simulated = simulateFleet(scenario);
  const uses = usesOf(scenario, simulated);
  if (holds(uses)) return undefined;
  return worstOf(uses).name;
}

/** Needed is how many servers of each kind bear a load. `postgres` is undefined if no number does. */
export interface Needed {
  readonly nodes: number;
  readonly redis: number;
  readonly postgres: number | undefined;
}

/** The most Postgres servers that are tried. */
const maxShards = 512;

/** fittings is how often the numbers of nodes and of servers are fitted to each other: more nodes make smaller batches. */
const fittings = 3;

/** neededBy returns how many servers the scenario's load takes. */
export function neededBy(scenario: Scenario): Needed {
  const redis = Math.max(1, Math.ceil((flowsOf(scenario).redisAsks * redisAskUs) / 1e6 / most));
  const simulate = (tried: Scenario) => usesOf(tried, simulateFleet(tried));
  const nodeUseIn = (uses: readonly Use[]) => uses.find(({ name }) => name === nodeCore)?.used ?? 0;
  let needed: Needed = { nodes: scenario.nodes, redis, postgres: undefined };
  for (let i = 0; i < fittings; i++) {
    const { nodes } = needed;
    const over = { ...scenario, nodes, redisShards: redis, seconds: tryFor };
    const isBorne = (shards: number) => holds(simulate({ ...over, shards }).filter(({ name }) => name !== nodeCore));
    const postgres = leastThat(isBorne);
    const used = nodeUseIn(simulate({ ...over, shards: postgres ?? 1 }));
    needed = { redis, postgres, nodes: Math.ceil((nodes * used) / most) };
    if (needed.nodes === nodes) break;
  }
  return needed;
}

/** Returns the least number of servers that is borne, if more are, too. */
function leastThat(isBorne: (shards: number) => boolean): number | undefined {
  let high = 1;
  while (high <= maxShards && !isBorne(high)) high *= 2;
  if (high > maxShards) return undefined;
  let low = Math.floor(high / 2);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (isBorne(middle)) high = middle;
    else low = middle;
  }
  return high;
}
