/** A streaming replica of a server of Postgres for tests. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../bench/free-port.ts";
import { eventually } from "../eventually.ts";
import { type PostgresServer, postgresPrograms, query, unprivileged } from "./postgres.ts";

export interface PostgresReplica {
  /** Returns where it has what is at an address of the primary. */
  urlOf(primary: string): string;
  start(): Promise<void>;
  /** Ends it as a crash would; `start` begins it again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export async function startReplica(primary: PostgresServer): Promise<PostgresReplica> {
  const bin = postgresPrograms as string;
  const folder = mkdtempSync(join(tmpdir(), "gateway-replica-"));
  const user = unprivileged(folder);
  const data = join(folder, "data");
  const from = ["-h", "127.0.0.1", "-p", String(primary.port), "-U", "postgres"];
  execFileSync(join(bin, "pg_basebackup"), ["-D", data, ...from, "-R", "-c", "fast", "-X", "stream"], user);
  const port = await freePort();
  appendFileSync(join(data, "postgresql.auto.conf"), `port = ${port}\nunix_socket_directories = '${folder}'\n`);
  let server: ReturnType<typeof spawn> | undefined;

  async function crash(): Promise<void> {
    const ended = server;
    server = undefined;
    if (!ended || ended.exitCode !== null) return;
    const gone = once(ended, "exit");
    ended.kill("SIGQUIT");
    await gone;
  }

  const replica: PostgresReplica = {
    urlOf: (url) => url.replace(`:${primary.port}/`, `:${port}/`),
    async start() {
      server = spawn(join(bin, "postgres"), ["-D", data], { ...user, stdio: "ignore" });
      await eventually(() => query(`postgres://postgres@127.0.0.1:${port}/postgres`, "SELECT 1"));
    },
    crash,
    async stop() {
      await crash();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await replica.start();
  return replica;
}
