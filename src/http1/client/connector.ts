/** Connects to a server, over TCP or TLS. */
import { connect, isIP, type OnReadOpts, type Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { lookupElsewhere } from "../../runtime/net/metadata-addresses.ts";
import { sharedOnRead } from "../read-buffer.ts";

/** Opens a connection to the server. `onData` is called with what the server sends. */
export type Connector = (onData: (bytes: Buffer) => void) => {
  readonly socket: Socket;
  /** The event that the socket emits when it is connected. */
  readonly connected: "connect" | "secureConnect";
};

/** probeMs is how long a connection must be silent before the system probes whether the other side is still there. */
const probeMs = 60_000;

/** Node documents `onread` for TLS, too; its types leave it out there. */
type TlsOptions = ConnectionOptions & { readonly onread: OnReadOpts };

/** createConnector creates a connector for `origin`, `http://…` or `https://…`. */
export function createConnector(origin: string): Connector {
  const { protocol, hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const common = { host, lookup: lookupElsewhere, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeMs };
  if (protocol === "http:") {
    const options = { ...common, port: Number(port || 80) };
    return (onData) => ({ socket: connect({ ...options, onread: sharedOnRead(onData) }), connected: "connect" });
  }
  // Loading TLS takes 10 ms, and many upstreams are on the same machine or network.
  const { connect: connectSecurely } = process.getBuiltinModule("node:tls");
  // An address is no server name (RFC 6066, section 3).
  const named = isIP(host) === 0 ? { servername: host } : {};
  const options = { ...common, ...named, port: Number(port || 443), ALPNProtocols: ["http/1.1"] };
  // Resuming a session that the server remembers saves both sides a part of the handshake.
  let session: Buffer | undefined;
  return (onData) => {
    const all: TlsOptions = { ...options, ...(session ? { session } : {}), onread: sharedOnRead(onData) };
    const socket = connectSecurely(all);
    socket.on("session", (ticket: Buffer) => {
      session = ticket;
    });
    return { socket, connected: "secureConnect" };
  };
}
