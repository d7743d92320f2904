/** Puts the limiters together: over Redis where it is configured, else in memory. */
import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { ratesUnavailable } from "../call/refusals.ts";
import type { Config, RedisConfig } from "../config/shape.ts";
import type { DecisionCounts } from "../limits/leased-limiter.ts";
import type { Limiter } from "../limits/limiter.ts";
import { createMemoryLimiter } from "../limits/memory.ts";
import type { Places } from "../limits/places.ts";
import { newId } from "../runtime/ids.ts";
import type { RedisGauges } from "../telemetry/gauges/redis.ts";

export interface Limits {
  /** What accounts may call. */
  readonly rates: Limiter;
  /** Attempts to sign in. */
  readonly attempts: Limiter;
  /** Wrong credentials. */
  readonly guesses: Limiter;
  /** Returns the places of an upstream that gateways share. Undefined without Redis. */
  readonly sharedPlaces: ((name: string, places: number) => Places) | undefined;
  /** Undefined without Redis. */
  readonly redis: RedisGauges | undefined;
  /** Gives back what this node has of shared rates. */
  close(): Promise<void>;
}

export interface LimitsParts {
  readonly config: Pick<Config, "redis">;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Of how many addresses, and neighbourhoods, failed credentials are counted. */
const mostGuessing = 100_000;

/** Starts the limiters. Resolves when Redis has answered or failed to: the first calls are limited as all others. */
export function startLimits(parts: LimitsParts): Promise<Limits> | Limits {
  const { config, clock } = parts;
  if (config.redis) return startShared(parts, config.redis);
  return {
    rates: createMemoryLimiter(clock),
    attempts: createMemoryLimiter(clock),
    guesses: createMemoryLimiter(clock, mostGuessing),
    sharedPlaces: undefined,
    redis: undefined,
    close: async () => {},
  };
}

/** The client library is loaded only here. */
async function startShared({ log, clock }: LimitsParts, config: RedisConfig): Promise<Limits> {
  const [{ createRedisSlices }, { createLeasedLimiter }, { createPlaces }] = await Promise.all([
    import("../limits/redis/slices.ts"),
    import("../limits/leased-limiter.ts"),
    import("../limits/places.ts"),
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
  const shared = { slices, counts };
  const rates = createLeasedLimiter({
    ...shared,
    nameOf: (id) => `rate:${id}`,
    whenAway: whenAway === "refuse" ? ratesUnavailable : undefined,
  });
  const attempts = createLeasedLimiter({ ...shared, nameOf: hidden("sign-in") });
  const guesses = createLeasedLimiter({ ...shared, nameOf: hidden("guess") });
  const open: Places[] = [];
  return {
    ...{ rates, attempts, guesses },
    sharedPlaces(name, places) {
      const shared = createPlaces(slices.places, name, places);
      open.push(shared);
      return shared;
    },
    redis: { isUp: () => !slices.isAway(), nodes: slices.nodes, counts: slices.counts, decisions: () => counts },
    async close() {
      for (const limiter of [rates, attempts, guesses, ...open]) limiter.close();
      await slices.close();
    },
  };
}

/** Names buckets by a hash: e-mail addresses and addresses of networks stay here. */
function hidden(kind: string): (id: string) => string {
  return (id) => `${kind}:${createHash("sha256").update(id).digest("base64url").slice(0, 22)}`;
}

/** Returns what may be printed of a URL: neither user nor password. */
function addressOf(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
