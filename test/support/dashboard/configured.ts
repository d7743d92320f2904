/**
 * An empty install as an operator starts it: no file, a database of its own, and what its pages store in force at once. Several nodes may
 * stand over one database, and share a clock that a test moves.
 */
import { pino } from "pino";
import { openSource } from "../../../src/commands/serving/configuration-source.ts";
import { followConfiguration } from "../../../src/commands/serving/follow-configuration.ts";
import { startGateway } from "../../../src/composition/gateway.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { createDiscovery } from "../../../src/config/discovery/discover.ts";
import { createLiveConfig, withOperational } from "../../../src/config/live/live-config.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { environment } from "../environment.ts";
import { newTestDatabase, type TestDatabase } from "../storage/test-database.ts";

export interface Node {
  readonly rootUrl: string;
  readonly storage: Storage;
  close(): Promise<void>;
}

export interface Install {
  readonly database: TestDatabase;
  /** start starts a node. */
  start(): Promise<Node>;
  close(): Promise<void>;
}

/** newInstall makes a database; its nodes go by `clock`. */
export async function newInstall(clock: () => number): Promise<Install> {
  const database = await newTestDatabase();
  const nodes: Node[] = [];
  return {
    database,
    async start() {
      const node = await startNode(database, clock);
      nodes.push(node);
      return node;
    },
    async close() {
      for (const node of nodes) await node.close();
      await database.remove();
    },
  };
}

async function startNode(database: TestDatabase, clock: () => number): Promise<Node> {
  const storage = await database.open();
  const log = pino({ level: "silent" });
  const adapt = (config: ReturnType<typeof loadConfig>) => ({
    ...config,
    ...{ port: 0, dataDir: database.dataDir, metrics: undefined, drainMs: 2000 },
  });
  const base = adapt(loadConfig(undefined, environment));
  const throwing = {
    error({ err }: { readonly err: unknown }) {
      throw err;
    },
  };
  const source = openSource({ config: base, storage, file: undefined, environment, log: throwing });
  const config = adapt(await source.load());
  const discovery = createDiscovery(config, { log });
  const live = createLiveConfig({ ...config, models: await discovery.begin() });
  const gateway = await startGateway({ live, source, storage, log, clock, random: () => 0 });
  discovery.follow((models) => live.replace({ ...live.current(), models }));
  const following = followConfiguration({
    ...{ config, file: undefined, source, adapt, log },
    take(next) {
      const { models, commit } = discovery.prepare(withOperational(live.current(), next));
      live.replace({ ...next, models });
      commit();
    },
  });
  return {
    rootUrl: `http://127.0.0.1:${gateway.port}`,
    storage,
    async close() {
      following.close();
      discovery.close();
      await gateway.close();
      source.close();
      await storage.close();
    },
  };
}
