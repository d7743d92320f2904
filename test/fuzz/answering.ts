/** A server that answers request after request as it is told, in pieces, and a client before it. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { CreateClient, HttpClient, Outcome } from "../support/clients/http-clients.ts";

export interface Answering {
  /**
   * Has the client ask, and the server answer so. What it has not said when the client tells the end stands before the next
   * answer, where that goes by the same connection.
   */
  ask(pieces: readonly string[]): Promise<Outcome>;
  /** Ends all connections. One that ends may not be taken for the next case. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** Bounds what hangs, and times nothing: no answer lets its client wait. */
const hangMs = 60_000;
const timeouts = { connectMs: hangMs, firstByteMs: hangMs, idleMs: hangMs };
/** Who waits for more after so many turns of the event loop waits for the end of the connection. */
const patientTurns = 8;

export async function startAnswering(create: CreateClient): Promise<Answering> {
  const sockets = new Set<Socket>();
  const unsaid = new WeakMap<Socket, readonly string[]>();
  let onRequest: (socket: Socket) => void = () => {};
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    socket.on("data", () => onRequest(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = create(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, timeouts);
  const settle = async () => {
    for (const socket of sockets) socket.end();
    while (sockets.size > 0) await turn();
  };
  return {
    async ask(pieces) {
      const said = Promise.withResolvers<void>();
      let [isAsked, isOver] = [false, false];
      onRequest = (socket) => {
        isAsked = true;
        const before = unsaid.get(socket) ?? [];
        unsaid.delete(socket);
        void say(socket, before.concat(pieces), () => isOver).then((left) => {
          unsaid.set(socket, left);
          said.resolve();
        });
      };
      const outcome = await asked(client);
      isOver = true;
      // Where the client could not ask nothing is said.
      if (isAsked) await said.promise;
      for (let i = 0; i < 3; i++) await turn();
      return outcome;
    },
    settle,
    async close() {
      await settle();
      await client.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const asked = (client: HttpClient) => client.call({ path: "/x", headers: { "x-one": "1" } });

/** Returns what is left to say when the client has told the end. */
async function say(socket: Socket, pieces: readonly string[], isOver: () => boolean): Promise<readonly string[]> {
  for (const [i, piece] of pieces.entries()) {
    if (isOver()) return pieces.slice(i);
    socket.write(piece, "latin1");
    if (pieces.length > 1) for (let turns = 0; turns < 2; turns++) await turn();
  }
  for (let i = 0; i < patientTurns && !isOver(); i++) await turn();
  if (!isOver()) socket.end();
  return [];
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
