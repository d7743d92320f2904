/**
 * Preloaded into a gateway: kills its process at the moment when so many requests have gone out to an upstream (`KILL_PORT`, `KILL_AT`),
 * right behind the system call that sends the last of them.
 */
import { Socket } from "node:net";

const port = Number(process.env.KILL_PORT);
let left = Number(process.env.KILL_AT);

type Write = (this: Socket, ...of: unknown[]) => unknown;
const sockets = Socket.prototype as unknown as Record<"_write" | "_writev", Write>;

for (const name of ["_write", "_writev"] as const) {
  const write = sockets[name];
  sockets[name] = function (...of) {
    const written = write.apply(this, of);
    if (this.remotePort === port && !this.connecting && --left === 0) process.kill(process.pid, "SIGKILL");
    return written;
  };
}
