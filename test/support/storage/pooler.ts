/** PgBouncer before a server, in transaction mode: each transaction may have another connection to the server. */
import { spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../../bench/free-port.ts";
import { unprivileged } from "./postgres.ts";

const program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].find((path) => existsSync(path));

export const hasPooler = program !== undefined;

export interface Pooler {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startPooler(serverPort: number): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-pooler-"));
  const user = unprivileged(folder);
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(join(folder, "users.txt"), '"postgres" ""\n');
  writeFileSync(
    file,
    `[databases]\n* = host=127.0.0.1 port=${serverPort}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}
auth_type = any\nauth_file = ${folder}/users.txt\npool_mode = transaction\ndefault_pool_size = 6\nunix_socket_dir =\n
* = user=postgres`
      .replace(/\n\* = user=postgres$/, "\n")
      .replace("* = host", "* = user=postgres host"),
  );
  for (const path of [file, join(folder, "users.txt")])
    if (user.uid !== undefined) chownSync(path, user.uid, user.gid ?? user.uid);
  const pooler = spawn(program as string, ["-q", file], { ...user, stdio: "ignore" });
  for (let tries = 0; !(await listens(port)); tries++) {
    if (tries > 200 || pooler.exitCode !== null) throw new Error("PgBouncer does not start");
    await delay(20);
  }
  return {
    port,
    async stop() {
      const gone = new Promise((resolve) => pooler.once("exit", resolve));
      pooler.kill("SIGKILL");
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}
