/**
 * A TCP proxy between a node and a server that it needs. It forwards, and breaks connections in the ways in which networks do: it resets
 * them, refuses new ones, or goes silent and holds back every byte, which then arrives late.
 *
 * Before Postgres it also reads the frames of the server, so that it can keep back notifications and nothing else, as a pooler does.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type Way = "forward" | "refuse" | "silent";

export interface TcpProxy {
  readonly port: number;
  /** Chooses what happens to all connections from now on. */
  set(way: Way): void;
  /** Resets all connections that are open. New ones are taken. Returns how many those were. */
  cut(): number;
  /** Keeps notifications of Postgres back, or lets them pass. */
  keepNotices(areKept: boolean): void;
  /** Holds silent for good those connections that listen for notifications now. Later ones pass. */
  silenceListeners(): void;
  close(): Promise<void>;
}

export interface ProxyOptions {
  readonly serverPort: number;
  /** Says that the server speaks Postgres's protocol, without TLS. */
  readonly isPostgres?: boolean;
}

interface Link {
  readonly near: Socket;
  readonly far: Socket;
  isListener: boolean;
  isSilent: boolean;
}

export async function startProxy({ serverPort, isPostgres = false }: ProxyOptions): Promise<TcpProxy> {
  const links = new Set<Link>();
  let way: Way = "forward";
  let areNoticesKept = false;

  function settle(link: Link): void {
    for (const socket of [link.near, link.far]) {
      if (way === "silent" || link.isSilent) socket.pause();
      else socket.resume();
    }
  }

  function reset(link: Link): void {
    links.delete(link);
    for (const socket of [link.near, link.far]) socket.resetAndDestroy();
  }

  function open(near: Socket): void {
    if (way === "refuse") {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ port: serverPort, host: "127.0.0.1", noDelay: true });
    const link: Link = { near, far, isListener: false, isSilent: false };
    links.add(link);
    near.setNoDelay();
    const frames = createFrames();
    near.on("data", (bytes: Buffer) => {
      far.write(bytes);
      if (isPostgres && bytes.includes("LISTEN model_gateway")) link.isListener = true;
    });
    far.on("data", (bytes: Buffer) => near.write(isPostgres ? frames.pass(bytes, areNoticesKept) : bytes));
    const pairs = [[near, far] as const, [far, near] as const];
    for (const [socket, other] of pairs) {
      socket.on("end", () => other.end());
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        links.delete(link);
        other.destroySoon();
      });
    }
    settle(link);
  }

  const server = createServer({ allowHalfOpen: true }, open);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      way = next;
      for (const link of [...links]) {
        if (way === "refuse") reset(link);
        else settle(link);
      }
    },
    cut() {
      const count = links.size;
      for (const link of [...links]) reset(link);
      return count;
    },
    keepNotices(areKept) {
      areNoticesKept = areKept;
    },
    silenceListeners() {
      for (const link of links) {
        link.isSilent ||= link.isListener;
        settle(link);
      }
    },
    async close() {
      for (const link of [...links]) reset(link);
      server.close();
      await once(server, "close");
    },
  };
}

const notification = "A".charCodeAt(0);

/** Cuts what Postgres sends into its frames: a letter, and a length of four bytes that counts itself. */
function createFrames() {
  let rest: Buffer = Buffer.alloc(0);
  return {
    /** Returns all frames that are whole by now, without notifications where they are kept back. */
    pass(bytes: Buffer, areKept: boolean): Buffer {
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      const passed: Buffer[] = [];
      let at = 0;
      while (rest.length - at >= 5) {
        const end = at + 1 + rest.readUInt32BE(at + 1);
        if (end > rest.length) break;
        if (!(areKept && rest[at] === notification)) passed.push(rest.subarray(at, end));
        at = end;
      }
      rest = rest.subarray(at);
      return Buffer.concat(passed);
    },
  };
}
