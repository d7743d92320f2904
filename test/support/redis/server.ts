/** Real servers of Redis and Valkey, on a free port, without a file: each test that needs one starts its own. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";

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

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
