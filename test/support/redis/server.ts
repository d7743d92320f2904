/** Real servers of Redis and Valkey, on a free port, without a file: each test that needs one starts its own. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient } from "@redis/client";
import { freePort } from "../../../bench/free-port.ts";
import { eventually } from "../eventually.ts";

export const redisKinds = ["redis", "valkey"] as const;
export type RedisKind = (typeof redisKinds)[number];

/** Says which of them this machine has. */
export const hasRedis: Readonly<Record<RedisKind, boolean>> = {
  redis: spawnSync("redis-server", ["--version"]).status === 0,
  valkey: spawnSync("valkey-server", ["--version"]).status === 0,
};

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Stops answering, and goes on, as a machine that hangs does. */
  pause(): void;
  resume(): void;
  /** Ends it at once. */
  kill(): Promise<void>;
  /** Starts another on the same port, which knows nothing of the first. */
  restart(): Promise<void>;
}

export async function startRedis(kind: RedisKind, more: readonly string[] = [], port?: number): Promise<RedisServer> {
  const at = port ?? (await freePort());
  let server = await launch(kind, at, more);
  return {
    port: at,
    url: `redis://127.0.0.1:${at}`,
    pause: () => void server.kill("SIGSTOP"),
    resume: () => void server.kill("SIGCONT"),
    kill: () => end(server),
    async restart() {
      await end(server);
      server = await launch(kind, at, more);
    },
  };
}

/** Returns the arguments of a server that is a node of a cluster. Its other port would be far above the first, and there may be none. */
export async function clusterNode(file: string): Promise<string[]> {
  return ["--cluster-enabled", "yes", "--cluster-config-file", file, "--cluster-port", String(await freePort())];
}

/** Starts a cluster of two nodes, each with half of the keys, and returns them when both know it. */
export async function startCluster(kind: RedisKind, folder: string): Promise<readonly [RedisServer, RedisServer]> {
  const start = async (name: string) => startRedis(kind, await clusterNode(join(folder, `${name}.conf`)));
  const nodes = [await start("one"), await start("other")] as const;
  const clients = await Promise.all(nodes.map(({ url }) => createClient({ url }).connect()));
  const [one, other] = clients as [(typeof clients)[0], (typeof clients)[0]];
  await one?.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "8191"]);
  await other?.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "8192", "16383"]);
  const bus = (await other?.sendCommand<string[]>(["CONFIG", "GET", "cluster-port"])) as unknown as {
    "cluster-port": string;
  };
  await one?.sendCommand(["CLUSTER", "MEET", "127.0.0.1", String(nodes[1].port), bus["cluster-port"]]);
  await eventually(async () => {
    for (const client of clients) {
      const info = await client.sendCommand<string>(["CLUSTER", "INFO"]);
      if (!info.includes("cluster_state:ok")) throw new Error(info);
    }
  }, 30_000);
  for (const client of clients) client.destroy();
  return nodes;
}

async function launch(kind: RedisKind, port: number, more: readonly string[]): Promise<ChildProcess> {
  const plain = more.includes("--port") ? [] : ["--port", String(port)];
  const args = [...plain, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", tmpdir(), ...more];
  const server = spawn(`${kind}-server`, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: server.stdout as NonNullable<ChildProcess["stdout"]> });
  const said: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  lines.on("line", (line) => {
    said.push(line);
    if (/Ready to accept connections/.test(line)) resolve();
  });
  server.once("exit", () => reject(new Error(`${kind}-server has ended: ${said.join("\n")}`)));
  await promise;
  return server;
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "exit");
  server.kill("SIGKILL");
  await ended;
}
