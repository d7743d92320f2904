/** Puts the limiters together: over Redis where it is configured, over their owner where there are workers, else in memory. */
import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { ratesUnavailable } from "../call/refusals.ts";
import type { Config, RedisConfig } from "../config/shape.ts";
import type { Slices } from "../limits/contract.ts";
import { createKeyPlaces, type KeyPlaces } from "../limits/key-places.ts";
import type { DecisionCounts } from "../limits/leased-limiter.ts";
import type { Limiter } from "../limits/limiter.ts";
import { createMemoryLimiter } from "../limits/memory.ts";
import { createPlaces, type PlaceKeeper, type Places } from "../limits/places.ts";
import { newId } from "../runtime/ids.ts";
import type { Link } from "../runtime/ipc/link.ts";
import type { RedisGauges } from "../telemetry/gauges/redis.ts";

export interface Limits {
  /** rates limits how often accounts may call. */
  readonly rates: Limiter;
  /** Attempts to sign in. */
  readonly attempts: Limiter;
  /** Wrong credentials. */
  readonly guesses: Limiter;
  /** Returns the places of an upstream that gateways, or workers, share. Undefined where there is one process. */
  readonly sharedPlaces: ((name: string, places: number) => Places) | undefined;
  /** The calls that keys have running. */
  readonly keyPlaces: KeyPlaces;
  /** Undefined without Redis. */
  readonly redis: RedisGauges | undefined;
  /** Gives back what this node has of shared rates. */
  close(): Promise<void>;
}

export interface LimitsParts {
  readonly config: Pick<Config, "redis">;
  readonly log: Pick<Logger, "info" | "warn">;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Undefined for a gateway of one process. */
  readonly worker?: WorkerPlace | undefined;
}

/** WorkerPlace is a worker's place among those of a machine. */
export interface WorkerPlace {
  /** From 1 on. */
  readonly number: number;
  /** count is how many workers there are. */
  readonly count: number;
  /** Leads to their owner. */
  readonly link: Link;
}

/** Of how many addresses, and neighbourhoods, failed credentials are counted. */
const mostGuessing = 100_000;

/** startLimits starts the limiters. Resolves when Redis has answered or failed to: the first calls are limited as all others. */
export function startLimits(parts: LimitsParts): Promise<Limits> | Limits {
  const { config, clock, worker } = parts;
  if (config.redis) return startOverRedis(parts, config.redis);
  if (worker) return startOverOwner(worker);
  return {
    rates: createMemoryLimiter(clock),
    attempts: createMemoryLimiter(clock),
    guesses: createMemoryLimiter(clock, mostGuessing),
    sharedPlaces: undefined,
    keyPlaces: createKeyPlaces(),
    redis: undefined,
    close: async () => {},
  };
}

/** The client library is loaded only here. */
async function startOverRedis({ log, clock }: LimitsParts, config: RedisConfig): Promise<Limits> {
  const [{ createRedisSlices }, limiters] = await Promise.all([
    import("../limits/redis/slices.ts"),
    import("../limits/leased-limiter.ts"),
  ]);
  const { url, whenAway } = config;
  const redis = addressOf(url);
  const awayWords = `Redis is away: ${whenAway === "refuse" ? "calls are refused" : "rates are divided by the nodes"}`;
  const slices = createRedisSlices({
    ...config,
    node: newId("nod", clock()),
    onAway: ({ cause, nodes }) => log.warn({ redis, cause, nodes }, awayWords),
    onBack: (ms, nodes) => log.info({ redis, away_ms: Math.round(ms), nodes }, "Redis is back: rates are shared again"),
  });
  await slices.firstTried;
  if (!slices.isAway()) log.info({ redis, nodes: slices.nodes() }, "rates are shared over Redis");
  const counts: DecisionCounts = { slice: 0, asked: 0, away: 0 };
  const whenRefused = whenAway === "refuse" ? ratesUnavailable : undefined;
  const shared = shareLimits(limiters, { slices, places: slices.places, counts, whenAway: whenRefused });
  return {
    ...shared,
    redis: { isUp: () => !slices.isAway(), nodes: slices.nodes, counts: slices.counts, decisions: () => counts },
    async close() {
      await shared.close();
      await slices.close();
    },
  };
}

/** The workers of a machine share what their owner keeps. */
async function startOverOwner({ link, count }: WorkerPlace): Promise<Limits> {
  const [{ askOwner }, limiters] = await Promise.all([
    import("../limits/owner/ask-owner.ts"),
    import("../limits/leased-limiter.ts"),
  ]);
  return shareLimits(limiters, { ...askOwner(link, count), whenAway: undefined });
}

interface SharedLimits {
  readonly slices: Slices;
  readonly places: PlaceKeeper;
  readonly counts?: DecisionCounts;
  /** Makes what calls fail with while slices are away; undefined: rates are divided then. */
  readonly whenAway: (() => Error) | undefined;
}

/** shareLimits puts the limiters over slices and places that several processes share. */
function shareLimits(
  { createLeasedLimiter }: typeof import("../limits/leased-limiter.ts"),
  { places: keeper, whenAway, ...shared }: SharedLimits,
): Limits {
  const rates = createLeasedLimiter({ ...shared, nameOf: (id) => `rate:${id}`, whenAway });
  const attempts = createLeasedLimiter({ ...shared, nameOf: hidden("sign-in") });
  const guesses = createLeasedLimiter({ ...shared, nameOf: hidden("guess") });
  const open: Places[] = [];
  const keyPlaces = createKeyPlaces({ keeper, whenAway });
  return {
    ...{ rates, attempts, guesses, keyPlaces, redis: undefined },
    sharedPlaces(name, places) {
      const made = createPlaces(keeper, name, places);
      open.push(made);
      return made;
    },
    async close() {
      for (const limiter of [rates, attempts, guesses, keyPlaces, ...open]) limiter.close();
    },
  };
}

/** Names buckets by a hash: e-mail addresses and addresses of networks stay here. */
function hidden(kind: string): (id: string) => string {
  return (id) => `${kind}:${createHash("sha256").update(id).digest("base64url").slice(0, 22)}`;
}

/** addressOf returns what may be printed of a URL: neither user nor password. */
function addressOf(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
