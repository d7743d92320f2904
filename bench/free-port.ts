/** Finds free ports for programs that need one as an argument. */
import { once } from "node:events";
import { createServer } from "node:net";

/** freePort returns a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
