/** What the fleet plays on: Postgres, Redis, an upstream, accounts, and three gateways, each behind proxies of its own. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Storage } from "../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../src/storage/storage-on-postgres.ts";
import { temporaryFolder } from "../support/command.ts";
import { hasRedis, type RedisServer, redisKinds, startRedis } from "../support/redis/server.ts";
import { postgresPrograms, startPostgres } from "../support/storage/postgres.ts";
import { type FleetAccount, fastFrom, fastPerMinute, openAccounts, slowPerMinute } from "./accounts.ts";
import { createHistory, type History } from "./history.ts";
import { createNode, type FleetNode } from "./node.ts";
import { nodeCount } from "./plan.ts";
import { type FleetUpstream, mostOutput, prices, startFleetUpstream } from "./upstream.ts";

export interface Stage {
  readonly upstream: FleetUpstream;
  readonly redis: RedisServer;
  /** The database's address without a proxy. */
  readonly databaseUrl: string;
  /** The database, reached without a proxy. */
  readonly storage: Storage;
  readonly accounts: readonly FleetAccount[];
  readonly nodes: readonly FleetNode[];
  readonly history: History;
  /** The path of gateway.yaml. */
  readonly config: string;
  readonly operatorKey: string;
  close(): Promise<void>;
}

const operatorKey = "operator-key-of-the-whole-fleet-1234567890";

/** Says what this machine lacks for it; undefined where it lacks nothing. */
export function missing(): string | undefined {
  if (!postgresPrograms) return "PostgreSQL (its programs below /usr/lib/postgresql)";
  return redisKinds.some((kind) => hasRedis[kind]) ? undefined : "redis-server or valkey-server";
}

export async function setStage(): Promise<Stage> {
  const folder = await temporaryFolder();
  const upstream = await startFleetUpstream();
  const postgres = await startPostgres(["shared_buffers = 64MB", "max_connections = 100"]);
  const redis = await startRedis(hasRedis.redis ? "redis" : "valkey");
  const databaseUrl = await postgres.createDatabase();
  const config = join(folder.path, "gateway.yaml");
  await writeFile(config, configuration(upstream.baseUrl));
  const storage = await openStorageOnPostgres({
    ...{ url: databaseUrl, dataDir: join(folder.path, "test"), poolSize: 4, version: "test", isSynced: false },
    onError: () => {},
  });
  const accounts = await openAccounts(storage);
  const history = createHistory();
  const servers = { postgres: postgres.port, redis: redis.port };
  const database = new URL(databaseUrl).pathname.slice(1);
  const nodes = await Promise.all(
    Array.from({ length: nodeCount }, (_, number) =>
      createNode({ number, servers, database, config, folder: folder.path, history }),
    ),
  );
  return {
    ...{ upstream, redis, databaseUrl, storage, accounts, nodes, history, config, operatorKey },
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      await storage.close();
      await postgres.stop();
      await redis.kill();
      await upstream.close();
      await folder.remove();
    },
  };
}

function configuration(baseUrl: string): string {
  const model = (id: "chat" | "embeddings", kind: string, more: object) => {
    const targets = [{ upstream: "far", model: id }];
    return { id, family: "fleet", kind, price: prices[id], targets, ...more };
  };
  const settings = {
    operator_key: operatorKey,
    embedded_models: false,
    drain_seconds: 10,
    tiers: [
      { name: "Slow", recharge: "0", requests_per_minute: slowPerMinute },
      { name: "Fast", recharge: fastFrom, requests_per_minute: fastPerMinute },
    ],
    redis: { nodes: nodeCount },
    retries: { attempts: 1 },
    upstreams: [{ name: "far", kind: "openai", base_url: baseUrl, api_key: "k" }],
    models: [model("chat", "chat", { max_output_tokens: mostOutput }), model("embeddings", "embedding", {})],
  };
  // JSON is YAML.
  return JSON.stringify(settings);
}
