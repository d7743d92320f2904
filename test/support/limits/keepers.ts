/**
 * Opens what keeps rates and places for several gateways: memory, Redis and Valkey. Tests of the contracts `Slices` and `PlaceKeeper` run
 * on each of `keepers`; whoever adds another that keeps them adds it there.
 */
import type { Slices } from "../../../src/limits/contract.ts";
import { createMemorySlices } from "../../../src/limits/memory.ts";
import { createMemoryPlaces } from "../../../src/limits/place-shares.ts";
import type { PlaceKeeper } from "../../../src/limits/places.ts";
import { createRedisSlices, type RedisSlices } from "../../../src/limits/redis/slices.ts";
import { hasRedis, type RedisKind, type RedisServer, redisKinds, startRedis } from "../redis/server.ts";

/** Kept is what one gateway sees of a keeper. */
export interface Kept {
  readonly slices: Slices;
  readonly places: PlaceKeeper;
}

export interface Keeper {
  readonly name: string;
  /** False where this machine lacks its program. */
  readonly isThere: boolean;
  /** Starts it for a test file. */
  start(): Promise<void>;
  /** Returns empty buckets and free places, as so many gateways see them. */
  open(count: number): Promise<readonly Kept[]>;
  /** Has these gateways leave. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

export const keepers: readonly Keeper[] = [inMemory(), ...redisKinds.map(inRedis)];

function inMemory(): Keeper {
  const nothing = async () => {};
  const clock = () => performance.now();
  return {
    ...{ name: "memory", isThere: true, start: nothing, close: nothing, stop: nothing },
    async open(count) {
      const slices = createMemorySlices(clock, () => count);
      const places = createMemoryPlaces(clock, () => count);
      return Array.from({ length: count }, (_, i) => ({ slices, places: places.of(`node ${i}`) }));
    },
  };
}

function inRedis(kind: RedisKind): Keeper {
  let server: RedisServer;
  let opened: RedisSlices[] = [];
  let count = 0;
  return {
    name: kind,
    isThere: hasRedis[kind],
    async start() {
      server = await startRedis(kind);
    },
    async open(nodes) {
      const prefix = `test-${++count}:`;
      const rest = { assumedNodes: 1, connectMs: 2_000, isCluster: false, timeoutMs: 5_000, onAway() {}, onBack() {} };
      opened = Array.from({ length: nodes }, (_, i) =>
        createRedisSlices({ url: server.url, prefix, node: `node ${i}`, ...rest }),
      );
      await Promise.all(opened.map(({ firstTried }) => firstTried));
      return opened.map((slices) => ({ slices, places: slices.places }));
    },
    async close() {
      await Promise.all(opened.splice(0).map((one) => one.close()));
    },
    stop: () => server.kill(),
  };
}
