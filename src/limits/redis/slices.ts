/**
 * Slices of buckets in Redis or Valkey: one key a bucket, and one script a question, so that a cluster takes them, too. All asks of
 * a turn go out together. What Redis forgets (FLUSHALL, a restart without data, keys that it evicts) is full again.
 */
import type { Ask, Slice, Slices, Unused } from "../contract.ts";
import type { PlaceKeeper } from "../places.ts";
import { type Connection, type ConnectionOptions, createConnection, within } from "./connection.ts";
import { createRedisPlaces } from "./places.ts";
import { takeScript } from "./scripts.ts";

export interface RedisSlicesOptions extends Omit<ConnectionOptions, "nodesKey"> {
  /** prefix is what every key begins with. */
  readonly prefix: string;
}

/** RedisCounts are totals since the start. */
export interface RedisCounts {
  readonly roundTrips: number;
  /** Seconds that answered round trips took, together. */
  readonly roundTripSeconds: number;
  readonly timeouts: number;
  readonly failures: number;
}

export interface RedisSlices extends Slices, Pick<Connection, "firstTried" | "close"> {
  counts(): RedisCounts;
  /** The places of upstreams, as this node sees them. */
  readonly places: PlaceKeeper;
}

/** The most buckets that are remembered with what is to be given back to them. */
const mostOwed = 10_000;

export function createRedisSlices({ prefix, ...options }: RedisSlicesOptions): RedisSlices {
  const connection = createConnection({ ...options, nodesKey: `${prefix}nodes` });
  const owed = createOwed();
  const trips = createTrips();

  async function ask({ id, rate, least, need, spare, drawn }: Ask): Promise<Slice> {
    const args = [rate.capacity, rate.windowMs, least, need, spare, drawn];
    const [units, parts] = (await connection.run(takeScript, `${prefix}${id}`, args)) as [number, number];
    return { units, parts };
  }

  /** Undoes what was granted, where the asks counted for nothing. */
  function undo(asks: readonly Ask[], outcomes: readonly PromiseSettledResult<Slice>[]): void {
    for (const [i, outcome] of outcomes.entries()) {
      const { id, rate, drawn } = asks[i] as Ask;
      if (outcome.status === "fulfilled") giveBack(id, rate, outcome.value.units + drawn);
    }
  }

  /** Gives back once. It may have counted where no answer came: it is not repeated, so that a bucket never has more than it should. */
  function giveBack(id: string, rate: Ask["rate"], units: number): void {
    if (units === 0) return;
    if (!connection.isAway()) void ask({ id, rate, least: 0, need: 0, spare: 0, drawn: -units }).catch(() => {});
    else owed.add({ id, rate, units });
  }

  async function take(asks: readonly Ask[]): Promise<readonly Slice[]> {
    const begunAt = performance.now();
    const settled = Promise.allSettled(asks.map(ask));
    try {
      const outcomes = await within(options.timeoutMs, settled);
      trips.count(performance.now() - begunAt);
      const refused = outcomes.find(({ status }) => status === "rejected");
      if (refused) throw (refused as PromiseRejectedResult).reason;
      for (const { id, rate, units } of owed.take()) giveBack(id, rate, units);
      return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<Slice>).value);
    } catch (error) {
      connection.failed(error);
      void settled.then((outcomes) => undo(asks, outcomes));
      throw error;
    }
  }

  return {
    take,
    places: createRedisPlaces(connection, { ...options, prefix }, trips.count),
    giveBack(unused) {
      for (const { id, rate, units } of unused) giveBack(id, rate, units);
    },
    isAway: connection.isAway,
    nodes: connection.nodes,
    firstTried: connection.firstTried,
    counts: () => ({ ...trips.counts(), ...connection.counts }),
    close: connection.close,
  };
}

/** Counts answers, and how long they took. */
function createTrips() {
  let [roundTrips, ms] = [0, 0];
  return {
    count(tookMs: number): void {
      roundTrips++;
      ms += tookMs;
    },
    counts: () => ({ roundTrips, roundTripSeconds: ms / 1000 }),
  };
}

/** Remembers what is to be given back once Redis is back. */
function createOwed() {
  let owed = new Map<string, Unused>();
  return {
    add({ id, rate, units }: Unused): void {
      const before = owed.get(id);
      if (before || owed.size < mostOwed) owed.set(id, { id, rate, units: units + (before?.units ?? 0) });
    },
    /** Returns all of it, and forgets it. */
    take(): readonly Unused[] {
      if (owed.size === 0) return [];
      const all = [...owed.values()];
      owed = new Map();
      return all;
    },
  };
}
