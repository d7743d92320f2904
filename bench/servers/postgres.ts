/**
 * A Postgres of the bench's own, as `initdb` sets it up: each commit is on the disk before it is answered (`fsync`, `synchronous_commit`
 * on, which the gateway leaves alone). It runs on the load's core, for its cost is not the gateway's.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { postgresPrograms, query, unprivileged } from "../../test/support/storage/postgres.ts";
import { freePort } from "../free-port.ts";
import { otherCore, start } from "../processes.ts";

export const postgresMissing = "Postgres is not installed: `apt-get install postgresql`";

/** startPostgresServer starts a server in the run's folder, with an empty database and more settings, and returns the database's URL. */
export async function startPostgresServer(folder: string, more: readonly string[] = []): Promise<string> {
  if (!postgresPrograms) throw new Error(postgresMissing);
  const own = join(folder, "postgres");
  mkdirSync(own);
  // The server refuses to run as root, and its user has to reach the folder.
  chmodSync(folder, 0o711);
  const user = unprivileged(own);
  const data = join(own, "data");
  const set = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync"];
  execFileSync(join(postgresPrograms, "initdb"), ["-D", data, ...set], { ...user, stdio: "ignore" });
  const port = await freePort();
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", `unix_socket_directories=${own}`, ...more];
  const command = [join(postgresPrograms, "postgres"), "-D", data, ...settings.flatMap((one) => ["-c", one])];
  writeFileSync(join(folder, "postgres.log"), "");
  await start({
    ...{ command: command as [string, ...string[]], core: otherCore, port, log: join(folder, "postgres.log"), user },
    // It ends without waiting for those who are connected.
    stopSignal: "SIGINT",
  });
  const admin = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await untilAnswered(() => query(admin, "CREATE DATABASE bench"));
  return `postgres://postgres@127.0.0.1:${port}/bench`;
}

/** untilAnswered repeats what a server that has just begun to listen may still refuse. */
async function untilAnswered(ask: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await ask();
      return;
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
