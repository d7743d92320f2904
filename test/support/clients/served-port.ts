/**
 * A port for connections of clients whose requests, deadlines and ends are the test's, and clients that say bytes and tell
 * what has come.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { createKeepAlive, type PlainAnswer } from "../../../src/http1/server/answer.ts";
import { ServedConnection } from "../../../src/http1/server/connection.ts";
import type { PlainRequest } from "../../../src/http1/server/request.ts";
import type { Timed } from "../../../src/runtime/time/deadlines.ts";

export interface Asked {
  readonly request: PlainRequest;
  readonly answer: PlainAnswer;
}

export interface ServedPort {
  /** Connects a client. */
  client(): Client;
  /** Resolves to the next request that nobody has had. */
  next(): Promise<Asked>;
  /** watched is what the deadlines are asked to watch. */
  readonly watched: ReadonlySet<Timed>;
  readonly connections: readonly ServedConnection[];
}

export interface Client {
  readonly socket: Socket;
  /** Resolves to all that has come, one byte a character, once it ends so. */
  until(end: string): Promise<string>;
  /** Resolves to all that has come when the server has closed the connection. */
  untilClosed(): Promise<string>;
}

/**
 * Serves a port until the test is over. `isServed`: or are requests for somebody else? `prepare` has each connection before it is
 * served.
 */
export async function startServedPort(
  handedOver: (socket: Socket) => void = () => {},
  isServed = true,
  prepare: (socket: Socket) => void = () => {},
): Promise<ServedPort> {
  const watched = new Set<Timed>();
  const deadlines = { watch: (one: Timed) => void watched.add(one), forget: (one: Timed) => void watched.delete(one) };
  const connections: ServedConnection[] = [];
  const asked: Asked[] = [];
  let wake = () => {};
  const serve = (request: PlainRequest) => {
    if (!isServed) return undefined;
    return (answer: PlainAnswer) => {
      asked.push({ request, answer });
      wake();
    };
  };
  const server = createServer((socket) => {
    prepare(socket);
    const options = { idleMs: 65_000, keepAlive: createKeepAlive(65_000), deadlines };
    connections.push(new ServedConnection(socket, { ...options, serve, onOver: () => {}, handOver: handedOver }));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const next = async () => {
    while (asked.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return asked.shift() as Asked;
  };
  return { client: () => connectClient(port), next, watched, connections };
}

/** connectClient connects a client to a port of this machine, until the test is over. */
export function connectClient(port: number): Client {
  const socket = connect(port, "127.0.0.1").setNoDelay();
  onTestFinished(() => void socket.destroy());
  let text = "";
  let look = () => {};
  socket.on("data", (bytes) => {
    text += bytes.toString("latin1");
    look();
  });
  socket.on("error", () => {});
  return {
    socket,
    until: (end) =>
      new Promise((resolve) => {
        look = () => {
          if (text.endsWith(end)) resolve(text);
        };
        look();
      }),
    async untilClosed() {
      if (!socket.closed) await once(socket, "close");
      return text;
    },
  };
}
