/** A gateway of the fleet: the real command, behind proxies to Postgres and Redis, started again by itself whenever it has ended. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../bench/free-port.ts";
import { Running, starter, type Variables } from "../support/command.ts";
import { startProxy, type TcpProxy } from "../support/upstreams/tcp-proxy.ts";
import type { History } from "./history.ts";

export interface FleetNode {
  readonly number: number;
  readonly rootUrl: string;
  readonly postgres: TcpProxy;
  readonly redis: TcpProxy;
  /** How often it has begun to serve: names which of its processes answered. */
  readonly starts: readonly number[];
  /** Kills it. It is started again at once. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  isPaused(): boolean;
  /** Starts it, and keeps it running. Resolves when it serves. */
  start(): Promise<void>;
  /** Ends it in good order. Returns its exit code; null where it had to be killed. */
  stop(): Promise<number | null>;
  /** What its processes have logged. */
  logged(): string;
  close(): Promise<void>;
}

export interface NodeOptions {
  readonly number: number;
  /** The ports of the servers. */
  readonly servers: { readonly postgres: number; readonly redis: number };
  readonly database: string;
  readonly config: string;
  readonly folder: string;
  readonly history: History;
}

/** How long a supervisor waits before it starts one again that could not start, and for how long the first start is tried; in milliseconds. */
const [againMs, mostMs] = [300, 90_000];

/** How long one may take to end in good order, in milliseconds. */
const stopMs = 60_000;

export async function createNode({
  number,
  servers,
  database,
  config,
  folder,
  history,
}: NodeOptions): Promise<FleetNode> {
  const postgres = await startProxy({ serverPort: servers.postgres, isPostgres: true });
  const redis = await startProxy({ serverPort: servers.redis });
  const port = await freePort();
  const dataDir = join(folder, `node-${number}`);
  await mkdir(dataDir);
  const env: Variables = {
    PORT: String(port),
    DATA_DIR: dataDir,
    LOG_LEVEL: "warn",
    DATABASE_URL: `postgres://postgres@127.0.0.1:${postgres.port}/${database}`,
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
  };
  const starts: number[] = [];
  const ended: Running[] = [];
  let running: Running | undefined;
  let [isStopping, isPaused] = [true, false];
  let endDown = () => {};

  async function launch(): Promise<void> {
    for (const until = performance.now() + mostMs; !isStopping; ) {
      // With the Node that the project pins `starter` is the gateway itself, and a signal reaches it.
      const process = new Running(globalThis.process.execPath, [starter, "serve", "--config", config], env);
      running = process;
      try {
        await process.shows(/serves at (\S+)/);
        starts.push(performance.now());
        endDown();
        void process.ended.then(() => restart(process));
        return;
      } catch (error) {
        ended.push(process);
        if (starts.length === 0 && performance.now() > until) throw error;
        await delay(againMs);
      }
    }
  }

  function restart(process: Running): void {
    ended.push(process);
    if (isStopping || process !== running) return;
    void down();
  }

  function down(): Promise<void> {
    endDown = history.begin("down", number);
    return launch();
  }

  return {
    number,
    rootUrl: `http://127.0.0.1:${port}`,
    ...{ postgres, redis, starts },
    async kill() {
      await running?.stop("SIGKILL");
    },
    pause() {
      isPaused = running?.child.kill("SIGSTOP") ?? false;
    },
    resume() {
      running?.child.kill("SIGCONT");
      isPaused = false;
    },
    isPaused: () => isPaused,
    async start() {
      isStopping = false;
      await down();
    },
    async stop() {
      isStopping = true;
      const late = setTimeout(() => running?.child.kill("SIGKILL"), stopMs);
      const code = (await running?.stop("SIGTERM"))?.code ?? null;
      clearTimeout(late);
      history.begin("down", number);
      return code;
    },
    logged: () => [...ended, ...(running ? [running] : [])].map(({ stdout, stderr }) => `${stdout}${stderr}`).join(""),
    async close() {
      isStopping = true;
      running?.child.kill("SIGCONT");
      await running?.stop("SIGKILL");
      await Promise.all([postgres.close(), redis.close()]);
    },
  };
}
