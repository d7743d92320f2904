/** Describes what is simulated: a fleet, its callers, and the machines below it. */
import type { CostSet } from "./costs.ts";

export interface Scenario {
  readonly nodes: number;
  readonly callsPerSecond: number;
  readonly keys: number;
  readonly accounts: number;
  /** spread is how calls are spread over accounts: all alike, or the account of rank n in proportion to 1/n. */
  readonly spread: "zipf" | "uniform";
  /** The part of calls whose accounts have too little for a lease. */
  readonly scarce: number;
  /** The part of these that one account makes. */
  readonly hotScarce: number;
  /** callSeconds is how long a call takes, in seconds, on average. */
  readonly callSeconds: number;
  /** A node's CPU a call, in microseconds. */
  readonly callCpu: number;
  /** hold is what a call reserves and what it costs, and what an ample account has, in millionths of the unit. */
  readonly hold: number;
  readonly cost: number;
  readonly balance: number;
  /** Over how many nodes the calls of one account come; 0: over all. */
  readonly reach: number;
  /** Changes a second that all nodes must see: new keys, recharges, settings. */
  readonly changes: number;
  /** forget is whether a change has nodes forget all keys that they know, or only those that it is of. */
  readonly forget: "all" | "changed";
  /** For how many milliseconds an idle lease is kept. */
  readonly leaseIdleMs: number;
  /** mergeRows is how many due rows one transaction merges, and how many leases one gives back, at most. */
  readonly mergeRows: number;
  readonly releaseRows: number;
  /** The least time between the beginnings of two transactions of a node, in milliseconds: fewer of them, with more in each. */
  readonly gatherMs: number;
  /** Rate buckets that a call asks: requests a minute, and tokens a minute where there are any (which take two asks). */
  readonly buckets: number;
  /** Postgres servers, each with a part of the accounts; their cores, their log's bytes a second, and a flush of it in microseconds. */
  readonly shards: number;
  readonly cores: number;
  /** The part of the cores that is for calls: vacuum, checkpoints, standbys and waiting for each other take the rest. It is assumed. */
  readonly coresPart: number;
  readonly logBytes: number;
  readonly flushUs: number;
  readonly redisShards: number;
  /** There and back between a node and Postgres, in microseconds. */
  readonly roundTripUs: number;
  readonly costs: CostSet;
  /** seconds is how long is simulated, in seconds. */
  readonly seconds: number;
  readonly seed: number;
}

/** An agent's short call that is not streamed, priced by the thousand tokens. */
const usual: Scenario = {
  ...{
    nodes: 3,
    callsPerSecond: 3_000,
    keys: 10_000,
    accounts: 1_000,
    spread: "zipf",
    scarce: 0.01,
    hotScarce: 0.05,
  },
  ...{ callSeconds: 2, callCpu: 90, hold: 20_000, cost: 5_000, balance: 100_000_000_000, reach: 0 },
  ...{
    changes: 1,
    forget: "changed",
    leaseIdleMs: 5_000,
    buckets: 1,
    mergeRows: 5_000,
    releaseRows: 1_000_000,
    gatherMs: 0,
  },
  ...{ shards: 1, cores: 16, coresPart: 0.5, logBytes: 500_000_000, flushUs: 300, redisShards: 1, roundTripUs: 200 },
  ...{ costs: "functions", seconds: 2, seed: 1 },
};

/** Cases by their names. */
export const cases: Readonly<Record<string, Scenario>> = {
  small: usual,
  medium: { ...usual, nodes: 10, callsPerSecond: 20_000, keys: 100_000, accounts: 10_000, changes: 5 },
  internet: {
    ...usual,
    ...{ nodes: 100, callsPerSecond: 1_000_000, keys: 10_000_000, accounts: 1_000_000, changes: 100 },
    ...{ cores: 32, logBytes: 1_000_000_000 },
  },
};

/** settings are what can be set by an option of the command line, with what it means. */
export const settings: Readonly<Partial<Record<keyof Scenario, string>>> = {
  nodes: "gateways",
  callsPerSecond: "calls a second that all of them get",
  keys: "API keys",
  accounts: "accounts that share the keys",
  spread: "zipf or uniform: how calls are spread over accounts",
  scarce: "the part of calls whose accounts have too little for a lease",
  hotScarce: "the part of these that one account makes",
  callSeconds: "how long a call takes",
  callCpu: "a node's CPU a call, µs: 42 to 90 for a short call, 28 more for each chunk that is streamed",
  hold: "what a call reserves, millionths of the unit",
  cost: "what a call costs, millionths of the unit",
  balance: "what an ample account has, millionths of the unit",
  reach: "over how many nodes the calls of one account come; 0: over all",
  changes: "changes a second that every node must see",
  forget: "all or changed: which known keys a change has nodes forget",
  leaseIdleMs: "how long an idle lease is kept, ms",
  mergeRows: "due rows that one transaction merges at most",
  releaseRows: "leases that one transaction gives back at most",
  gatherMs: "the least time between two transactions of a node, ms",
  buckets: "asks of rate buckets that a call makes: 1, or 3 with tokens a minute",
  shards: "Postgres servers, each with a part of the accounts",
  cores: "cores of each",
  coresPart: "the part of them that is for calls, and not for vacuum, checkpoints, standbys",
  logBytes: "bytes a second that its write-ahead log takes",
  flushUs: "how long a flush of the log takes, µs",
  redisShards: "Redis servers",
  roundTripUs: "there and back between a node and Postgres, µs",
  costs: "functions or spike: which measured costs",
  seconds: "how long is simulated",
  seed: "of the random numbers",
};

const words: Readonly<Partial<Record<keyof Scenario, readonly string[]>>> = {
  spread: ["zipf", "uniform"],
  forget: ["all", "changed"],
  costs: ["functions", "spike"],
};

/** atLeastOne are the settings that must be at least one; others must lie between 0 and 1. Everything else must be at least 0. */
const atLeastOne: ReadonlySet<string> = new Set([
  "nodes",
  "accounts",
  "keys",
  "shards",
  "redisShards",
  "cores",
  "hold",
  "mergeRows",
  "releaseRows",
]);
const wholes: ReadonlySet<string> = new Set([...atLeastOne, "reach", "seed"]);
const parts: ReadonlySet<string> = new Set(["scarce", "hotScarce", "coresPart"]);
const most: Readonly<Partial<Record<keyof Scenario, number>>> = {
  ...{ nodes: 10_000, callsPerSecond: 100_000_000, shards: 10_000, seconds: 60 },
};

/** Returns the scenario with settings as they were typed. Throws an Error that explains the mistake. */
export function withSettings(scenario: Scenario, given: Readonly<Record<string, string | undefined>>): Scenario {
  const changed: Record<string, string | number> = {};
  for (const [name, text] of Object.entries(given)) {
    if (text !== undefined) changed[name] = valueFrom(name as keyof Scenario, text);
  }
  return { ...scenario, ...changed };
}

function valueFrom(name: keyof Scenario, text: string): string | number {
  const choice = words[name];
  if (choice) {
    if (choice.includes(text)) return text;
    throw new Error(`--${name}: expected ${choice.join(" or ")}`);
  }
  const value = Number(text);
  const least = atLeastOne.has(name) ? 1 : 0;
  const upTo = parts.has(name) ? 1 : (most[name] ?? Number.MAX_SAFE_INTEGER);
  const isWhole = !wholes.has(name) || Number.isInteger(value);
  if (text.trim() !== "" && isWhole && value >= least && value <= upTo) return value;
  throw new Error(`--${name}: expected a ${wholes.has(name) ? "whole number" : "number"} from ${least} to ${upTo}`);
}
