/**
 * A gateway as operators run it, on a free port and with a database of its own, for one test file. Closed, it is searched for
 * what it must not leave behind.
 */
import { pino } from "pino";
import { type Activity, type Counts, type Gateway, startGateway } from "../../src/composition/gateway.ts";
import { type Config, loadConfig, type ModelConfig, type UpstreamConfig } from "../../src/config/config.ts";
import { createLiveConfig, type ReplaceableConfig } from "../../src/config/live/live-config.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { MemoryRoom } from "../../src/runtime/memory/memory-room.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import type { Storage } from "../../src/storage/storage.ts";
import { eventually } from "./eventually.ts";
import { expectNothingLeft, remember } from "./left-behind.ts";
import "./overhear.ts";
import { environment } from "./environment.ts";
import { limitsOfTest } from "./redis/test-limits.ts";
import { newTestDatabase, type TestDatabase } from "./storage/test-database.ts";

export interface TestGateway {
  readonly rootUrl: string;
  readonly baseUrl: string;
  readonly port: number;
  /** metricsPort is where metrics are read; undefined where they are not. */
  readonly metricsPort: number | undefined;
  readonly apiKey: string;
  readonly keyId: string;
  readonly accountId: string;
  readonly storage: Storage;
  readonly database: TestDatabase;
  /** Returns what is open and under way. */
  readonly counts: () => Counts;
  readonly holds: () => Promise<number>;
  readonly activity: () => Activity;
  /** The configuration in force, which a test may replace. */
  readonly live: ReplaceableConfig;
  /** Replaces the models alone. */
  readonly serveModels: (models: Config["models"]) => void;
  /** Returns what was logged so far, one JSON line each. */
  readonly logged: () => string;
  /**
   * Waits until nothing is under way any more, and fails where something stays. `running`: ends what still is. `broken`: the
   * test has closed the database, and nobody can tell. `look` is run when the gateway is closed, and its storage is not yet.
   */
  close(what?: "running" | "broken", look?: () => Promise<unknown>): Promise<void>;
}

/** The moment at which every test gateway stands still, so that two of them answer alike. */
export const now = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Returns a clock that is a second later at each look, so that no number of calls in a row uses a rate up. */
export function hurriedClock(): () => number {
  let time = now;
  return () => {
    time += 1_000;
    return time;
  };
}

/**
 * One attempt a call, and no target is left alone: what an upstream does is what its caller sees. Metrics are at a free port,
 * for who wants to read them. The test's account, which is the first, pays as any other does.
 */
const once: Pick<Config, "retries" | "breaker" | "metrics" | "unpriced"> = {
  retries: { attempts: 1, share: 0 },
  breaker: { failures: Number.MAX_SAFE_INTEGER, openMs: 1 },
  metrics: { host: "127.0.0.1", port: 0, isAsked: true },
  unpriced: { isFreeForFirst: false, price: undefined },
};

/** AccountInit is how the test's account stands. Unless a test says otherwise it is of the fastest tier, and billed afterwards. */
export interface AccountInit {
  readonly postpaid?: boolean;
  /** recharge is what was recharged, in millionths of the unit. */
  readonly recharge?: number;
  /** grant is what was granted, in millionths of the unit. */
  readonly grant?: number;
  /** Caps what the key may spend, in millionths of the unit. */
  readonly creditLimit?: number;
  readonly models?: readonly string[];
  readonly admin?: boolean;
  /** Without one time stands still. Given one, also `() => now`, rates are in memory, and exact, whatever `TEST_LIMITS` says. */
  readonly clock?: () => number;
  /** Tells whether there is memory for long requests. Default: by this machine's. */
  readonly memory?: MemoryRoom;
}

/** defaults are what no file and no variable changes; the catalogue is read once. */
const defaults = loadConfig(undefined, environment);

export async function startTestGateway(
  overrides: Partial<Config> = {},
  { postpaid = true, recharge = 300_000_000, grant = 0, ...init }: AccountInit = {},
): Promise<TestGateway> {
  const database = await newTestDatabase();
  const { dataDir } = database;
  // The clock of a server can be neither moved nor stopped.
  const redis = init.clock ? undefined : limitsOfTest();
  const config: Config = { ...defaults, port: 0, dataDir, redis, drainMs: 2000, ...once, ...overrides };
  const storage = await database.open();
  const accountId = newId("acc");
  await storage.accounts.insert({ id: accountId, name: "test", created_at: now, postpaid: postpaid ? 1 : 0 });
  await record(storage, accountId, 1, recharge);
  await record(storage, accountId, 3, grant);
  const { clock = () => now, admin = false, creditLimit, models, memory } = init;
  const permissions = models && JSON.stringify(models);
  const named = { accountId, name: "test", admin, now };
  const issued = await issueKey(storage.keys, { ...named, creditLimit, models: permissions });
  rememberSecrets(config);
  let logged = "";
  const log = pino(
    { level: "debug" },
    {
      write(line: string) {
        logged += line;
      },
    },
  );
  const live = createLiveConfig(config);
  const gateway = await startGateway({ live, storage, log, clock, memory, random: () => 0 });
  const rootUrl = `http://127.0.0.1:${gateway.port}`;
  return {
    rootUrl,
    baseUrl: `${rootUrl}/v1`,
    port: gateway.port,
    metricsPort: gateway.metricsPort,
    apiKey: issued.secret,
    keyId: issued.key.id,
    accountId,
    storage,
    database,
    counts: gateway.counts,
    holds: gateway.holds,
    activity: gateway.activity,
    live,
    serveModels: (models) => live.replace({ ...live.current(), models }),
    logged: () => logged,
    async close(what, look) {
      if (what === undefined) await expectNothingRunning(gateway);
      // Draining begins at once; what metrics tell is read meanwhile, for they are there until its end.
      const scraping = metricsAt(gateway.metricsPort).catch(() => "");
      await gateway.close();
      const metrics = await scraping;
      await eventually(async () => {
        if (what === "broken") return;
        const { stalled, shed, floods, ended, ...left } = gateway.counts();
        expectAllZero({ ...left, holds: await gateway.holds() });
      });
      await look?.();
      await storage.close();
      try {
        await expectNothingLeft({ log: logged, metrics, database });
      } finally {
        await database.remove();
      }
    },
  };
}

/**
 * Whatever a test has done: once its calls are over nothing of them is held. What its clients have left a moment ago is waited
 * for, and what a test leaves running on purpose says so.
 */
async function expectNothingRunning({ counts, holds }: Gateway): Promise<void> {
  await eventually(async () => {
    const { undecided, http1, http2, stalled, shed, floods, ended, ...running } = counts();
    expectAllZero({ ...running, holds: await holds() });
  });
}

function expectAllZero(counts: Readonly<Record<string, number>>): void {
  const left = Object.entries(counts).filter(([, count]) => count !== 0);
  if (left.length > 0) throw new Error(`a test has left behind: ${JSON.stringify(Object.fromEntries(left))}`);
}

/** Remembers what the configuration holds that nobody may read anywhere else. */
function rememberSecrets({ upstreams, operatorKey = "", telemetry, redis }: Config): void {
  const others = [...Object.values(telemetry?.headers ?? {}), redis ? new URL(redis.url).password : ""];
  for (const secret of [...upstreams.map(({ api_key = "" }) => api_key), operatorKey, ...others]) {
    remember("a credential", secret);
  }
}

async function metricsAt(port: number | undefined): Promise<string> {
  return port === undefined ? "" : (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

async function record({ entries }: Storage, accountId: string, kind: 1 | 3, amount: number): Promise<void> {
  if (amount > 0) await entries.record({ id: newId("led"), accountId, kind, amount, note: null, now });
}

/** ServedConfig is what is served, and from where. */
export type ServedConfig = Pick<Config, "upstreams" | "models" | "embeddedModels">;

/** Configuration that serves `embedded-chat` of another gateway, under the same name. */
export function behind(upstream: Pick<TestGateway, "baseUrl" | "apiKey">): ServedConfig {
  return upstreamAt(upstream.baseUrl, upstream.apiKey);
}

/** The same, of a gateway that is asked for responses alone. */
export function behindResponses(upstream: Pick<TestGateway, "baseUrl" | "apiKey">): ServedConfig {
  return withProfile(behind(upstream), {
    operations: { responses: "/responses" },
    responses_items: "any",
    reasoning_items: "either",
    tools: ["function", "custom"],
    developer: "kept",
    system: "anywhere",
    efforts: ["low", "medium", "high"],
  });
}

/** withProfile returns the same configuration, whose upstreams are described by a profile. */
export function withProfile(config: ServedConfig, profile: UpstreamConfig["profile"]): ServedConfig {
  return { ...config, upstreams: config.upstreams.map((one) => ({ ...one, profile })) };
}

/** modelAt returns a chat model at an upstream, where it has the same name unless another is given. */
export function modelAt(upstream: string, id: string, name = id, more: Partial<ModelConfig> = {}): ModelConfig {
  const targets = [{ upstream, model: name, priority: 0, weight: 1 }];
  return { id, aliases: [], family: "f", kind: "chat", targets, ...more };
}

/** Configuration that serves `embedded-chat` from an OpenAI-compatible address, by the name that it has there. */
export function upstreamAt(base_url: string, api_key = "upstream-key", model = "embedded-chat"): ServedConfig {
  const far = { family: "embedded", completions: "native" } as const;
  return {
    upstreams: [{ name: "far", kind: "openai", base_url, api_key }],
    models: [modelAt("far", "embedded-chat", model, far)],
    embeddedModels: false,
  };
}

/** Configuration that serves `embedded-chat` of another gateway by its Messages API, under the same name. */
export function behindAnthropic(upstream: Pick<TestGateway, "baseUrl" | "apiKey">): ServedConfig {
  return anthropicUpstreamAt(upstream.baseUrl, upstream.apiKey);
}

/** Configuration that serves `embedded-chat` from an address that speaks Anthropic's API. */
export function anthropicUpstreamAt(base_url: string, api_key = "upstream-key", model?: string): ServedConfig {
  return {
    ...upstreamAt(base_url, api_key, model),
    upstreams: [{ name: "far", kind: "anthropic", base_url, api_key }],
  };
}

/** The same configuration, serving `embedded-embedding` from the same upstream besides. */
export function withEmbeddings(config: ServedConfig): ServedConfig {
  const name = "embedded-embedding";
  return {
    ...config,
    models: [...config.models, modelAt("far", name, name, { family: "embedded", kind: "embedding" })],
  };
}
