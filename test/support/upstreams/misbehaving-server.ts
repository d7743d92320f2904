/**
 * A server on a bare socket that misbehaves by name. Each request has an id (`x-call`), which every honest answer says again;
 * what a misbehaviour leaves behind says another's, so that whoever takes it for an answer of its own is found out.
 *
 * `/bad` is answered by the misbehaviour, everything else honestly.
 */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export const another = "another's";

/** Writes an honest answer. */
export function answered(id: string, more = ""): string {
  return `HTTP/1.1 200 OK\r\nx-call: ${id}\r\n${more}content-length: ${id.length}\r\n\r\n${id}`;
}

export interface Bad {
  readonly socket: Socket;
  readonly id: string;
  /** Writes text of one byte a character, and resolves when it has gone; false where the client is gone. */
  write(text: string): Promise<boolean>;
}

export interface MisbehaviourOptions {
  /** Plays at the end of a request to `/bad`. */
  readonly play: (bad: Bad) => unknown;
  /** Plays as soon as the head is there. */
  readonly atHead?: boolean;
  /** Plays on each connection before anything has come. */
  readonly greet?: (socket: Socket) => void;
}

export interface MisbehavingServer {
  readonly origin: string;
  /** Connections that are open now. */
  open(): number;
  /** Reports whether something is being played still. */
  isPlaying(): boolean;
  close(): Promise<void>;
}

export async function startMisbehavingServer(options: MisbehaviourOptions): Promise<MisbehavingServer> {
  const sockets = new Set<Socket>();
  let playing = 0;
  const play = async (socket: Socket, id: string) => {
    playing++;
    try {
      await options.play({ socket, id, write: (text) => written(socket, text) });
    } finally {
      playing--;
    }
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket.setMaxListeners(0));
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    options.greet?.(socket);
    readRequests(socket, options.atHead ?? false, (path, id) => {
      if (path === "/bad") void play(socket, id);
      else socket.write(answered(id));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => sockets.size,
    isPlaying: () => playing > 0,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function written(socket: Socket, text: string): Promise<boolean> {
  if (socket.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    socket.once("close", () => resolve(false));
    socket.write(text, "latin1", (error) => resolve(!error));
  });
}

/** Tells of each request when it is there, or its head is. */
function readRequests(socket: Socket, atHead: boolean, tell: (path: string, id: string) => void): void {
  let held: Buffer = Buffer.alloc(0);
  /** passing is what is left of a body that nobody waits for. */
  let passing = 0;
  socket.on("data", (piece) => {
    const bytes = Buffer.from(piece as Buffer);
    const passed = Math.min(passing, bytes.length);
    passing -= passed;
    held = Buffer.concat([held, bytes.subarray(passed)]);
    for (;;) {
      const end = held.indexOf("\r\n\r\n");
      if (end === -1) return;
      const head = held.toString("latin1", 0, end);
      const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
      const to = end + 4 + length;
      if (held.length < to && !atHead) return;
      passing = Math.max(0, to - held.length);
      held = held.subarray(Math.min(to, held.length));
      tell(/ (\S+) /.exec(head)?.[1] ?? "", /x-call: (\S+)/.exec(head)?.[1] ?? "");
    }
  });
}

/** Waits a little on the server's side, where what follows is to come late. */
export const later = (): Promise<void> => delay(2);
