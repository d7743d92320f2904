/** Connects to a server, over TCP or TLS. */
import { connect, isIP, type OnReadOpts } from "node:net";
import { type ConnectionOptions, connect as connectSecurely } from "node:tls";
import { sharedOnRead } from "../read-buffer.ts";
import type { Open } from "./connection.ts";

/** How long a connection must be silent before the system asks whether the other side is still there. */
const probeMs = 60_000;

/** Node documents `onread` for TLS, too; its types do not know it there. */
type ReadOptions = ConnectionOptions & { readonly onread: OnReadOpts };

/** `origin` is `http://…` or `https://…`. */
export function createOpen(origin: string): Open {
  const { protocol, hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const common = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeMs };
  if (protocol === "http:") {
    const options = { ...common, port: Number(port || 80) };
    return (onData) => ({ socket: connect({ ...options, onread: sharedOnRead(onData) }), connected: "connect" });
  }
  // A server of many names is told which is meant; an address is none (RFC 6066, section 3).
  const named = isIP(host) === 0 ? { servername: host } : {};
  const options = { ...common, ...named, port: Number(port || 443), ALPNProtocols: ["http/1.1"] };
  // A session that the server knows saves it, and us, a part of the handshake.
  let session: Buffer | undefined;
  return (onData) => {
    const all: ReadOptions = { ...options, ...(session ? { session } : {}), onread: sharedOnRead(onData) };
    const socket = connectSecurely(all);
    socket.on("session", (ticket: Buffer) => {
      session = ticket;
    });
    return { socket, connected: "secureConnect" };
  };
}
