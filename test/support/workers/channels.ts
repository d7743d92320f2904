/** Two ends of a channel between processes, over a real socket. */
import { once } from "node:events";
import { createServer, connect as open, type Socket } from "node:net";
import { type Channel, createChannel } from "../../../src/runtime/ipc/channel.ts";

export interface Ends {
  /** That of the process which starts the other. */
  readonly parent: Channel;
  readonly child: Channel;
  /** parentSocket is what the parent reads from. */
  readonly parentSocket: Socket;
  /** Breaks the connection, as the death of the child does. */
  kill(): void;
}

export async function connectEnds(): Promise<Ends> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const childSocket = open(port, "127.0.0.1");
  const [parentSocket] = (await once(server, "connection")) as [Socket];
  server.close();
  return {
    parent: createChannel(parentSocket),
    child: createChannel(childSocket),
    parentSocket,
    kill: () => childSocket.resetAndDestroy(),
  };
}
