/** Free ports, for programs that take no port 0. */
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Ports below those that systems give to sockets that ask for any (from 32768 on at the lowest): nobody is given one between now and
 * its use.
 */
const [lowest, count] = [20_000, 12_000];

/** freePort returns a port of the loopback address on which nothing listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * count);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const taken = once(server, "error").then(() => false);
  const listening = once(server, "listening").then(() => true);
  server.listen(port, "127.0.0.1");
  const isOurs = await Promise.race([taken, listening]);
  if (!isOurs) return false;
  server.close();
  await once(server, "close");
  return true;
}
