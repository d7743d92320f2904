/**
 * Connects to a server, over TCP or TLS.
 *
 * What is read goes into one piece of memory that all connections share, and is copied from there into as much as it takes:
 * for a read of its own Node takes 64 kB each time, which the collector has to give back, and a chunk of a stream fills
 * hardly any of it.
 */
import { connect, isIP, type OnReadOpts } from "node:net";
import { type ConnectionOptions, connect as connectSecurely } from "node:tls";
import type { Open } from "./connection.ts";

/** How long a connection must be silent before the system asks whether the other side is still there. */
const probeMs = 60_000;
const readAtOnce = 65_536;
/** What is read less than that shares a piece of memory with more that is: Node keeps one for such. */
const short = 4_096;
/** Nobody keeps it: what is read is copied before anything else is. */
const shared = Buffer.allocUnsafeSlow(readAtOnce);

/** Node documents `onread` for TLS, too; its types do not know it there. */
type ReadOptions = ConnectionOptions & { readonly onread: OnReadOpts };

/** `origin` is `http://…` or `https://…`. */
export function createOpen(origin: string): Open {
  const { protocol, hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const common = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeMs };
  if (protocol === "http:") {
    const options = { ...common, port: Number(port || 80) };
    return (onData) => ({ socket: connect({ ...options, onread: readBy(onData) }), connected: "connect" });
  }
  // A server of many names is told which is meant; an address is none (RFC 6066, section 3).
  const named = isIP(host) === 0 ? { servername: host } : {};
  const options = { ...common, ...named, port: Number(port || 443), ALPNProtocols: ["http/1.1"] };
  // A session that the server knows saves it, and us, a part of the handshake.
  let session: Buffer | undefined;
  return (onData) => {
    const all: ReadOptions = { ...options, ...(session ? { session } : {}), onread: readBy(onData) };
    const socket = connectSecurely(all);
    socket.on("session", (ticket: Buffer) => {
      session = ticket;
    });
    return { socket, connected: "secureConnect" };
  };
}

function readBy(onData: (bytes: Buffer) => void): OnReadOpts {
  const callback = (length: number) => {
    const bytes = length < short ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);
    shared.copy(bytes, 0, 0, length);
    onData(bytes);
    return true;
  };
  return { buffer: shared, callback };
}
