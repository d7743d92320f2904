/** Two ends of a channel between processes, over a real socket. */
import { once } from "node:events";
import { createServer, connect as open, type Socket } from "node:net";
import { type Channel, createChannel } from "../../../src/runtime/ipc/channel.ts";
import { createLink, type Link } from "../../../src/runtime/ipc/link.ts";

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
  const [parentSocket, childSocket] = await socketPair();
  return {
    parent: createChannel(parentSocket),
    child: createChannel(childSocket),
    parentSocket,
    kill: () => childSocket.resetAndDestroy(),
  };
}

/** A worker's link, and the other end of it. */
export interface Linked {
  readonly link: Link;
  /** The owner's end; another once it was connected again. */
  parent(): Channel;
  /** Has `serve` answer at the other end from now on. The one before is as it is. */
  connect(serve: (channel: Channel) => void): Promise<void>;
  /** Breaks the connection, as the death of either side does. */
  kill(): Promise<void>;
}

export function createLinked(): Linked {
  const link = createLink();
  let parent: Channel;
  let child: Socket;
  return {
    link,
    parent: () => parent,
    async connect(serve) {
      const [parentSocket, childSocket] = await socketPair();
      child = childSocket;
      parent = createChannel(parentSocket);
      serve(parent);
      link.connect(childSocket);
    },
    async kill() {
      child.resetAndDestroy();
      await parent.closed;
    },
  };
}

async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const childSocket = open(port, "127.0.0.1");
  const [parentSocket] = (await once(server, "connection")) as [Socket];
  server.close();
  return [parentSocket, childSocket];
}
