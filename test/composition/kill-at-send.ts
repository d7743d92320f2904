/**
 * Preloaded into a gateway: kills its process at the moment when so many requests have gone out to an upstream (`KILL_PORT`, `KILL_AT`),
 * right behind the system call that sends the last of them. With `KILL_ALL` it kills the process that started it, and all that that has
 * started, before: the owner of a worker reads nothing any more.
 */
import { execFileSync } from "node:child_process";
import { Socket } from "node:net";

const port = Number(process.env.KILL_PORT);
let left = Number(process.env.KILL_AT);

function killAll(): void {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).split("\n");
  const pids = rows.map((row) => row.trim().split(/\s+/).map(Number));
  const others = pids.flatMap(([pid = 0, parent]) => (parent === process.ppid && pid !== process.pid ? [pid] : []));
  for (const pid of [process.ppid, ...others]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // One that has ended, as `ps` itself.
    }
  }
}

type Write = (this: Socket, ...of: unknown[]) => unknown;
const sockets = Socket.prototype as unknown as Record<"_write" | "_writev", Write>;

for (const name of ["_write", "_writev"] as const) {
  const write = sockets[name];
  sockets[name] = function (...of) {
    const written = write.apply(this, of);
    if (this.remotePort === port && !this.connecting && --left === 0) {
      if (process.env.KILL_ALL) killAll();
      process.kill(process.pid, "SIGKILL");
    }
    return written;
  };
}
