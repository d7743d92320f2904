/**
 * The connections to one server: as many as requests run there, each kept for the next as long as the server keeps it.
 *
 * Who asks gets the connection that was used last, so that those which a quiet hour does not need end by themselves.
 */
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { Connection, type Limits, type Replies } from "./connection.ts";
import { createDeadlines } from "./deadlines.ts";
import { type Fields, writeFields } from "./fields.ts";

export interface Asking {
  readonly method: "GET" | "POST";
  /** With its query. */
  readonly path: string;
  readonly fields: Readonly<Fields>;
  readonly body?: Buffer;
}

export interface ConnectionPool {
  /** Sends a request. Throws TypeError for fields that cannot be written; all else is told to `replies`. */
  send(asking: Asking, replies: Replies): void;
  /** Takes no more requests, waits for those that run, and lets go of every connection. */
  close(): Promise<void>;
}

/** `origin` is `http://…` or `https://…`. */
export function createConnectionPool(origin: string, limits: Limits): ConnectionPool {
  const { host } = new URL(origin);
  const open = createOpen(origin);
  const deadlines = createDeadlines();
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  let closing: (() => void) | undefined;

  function make(): Connection {
    const { socket, connected } = open();
    const connection = new Connection({ socket, limits, deadlines, onIdle, onClosed }, connected);
    all.add(connection);
    return connection;
  }

  function onIdle(connection: Connection): void {
    if (closing) connection.abort();
    else idle.push(connection);
  }

  function onClosed(connection: Connection): void {
    if (!all.delete(connection)) return;
    const at = idle.indexOf(connection);
    if (at !== -1) idle.splice(at, 1);
    if (all.size === 0) closing?.();
  }

  return {
    send({ method, path, fields, body }, replies) {
      const length = body === undefined ? "" : `content-length: ${body.length}\r\n`;
      const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${writeFields(fields)}${length}\r\n`;
      const connection = idle.pop() ?? make();
      connection.send(head, body, replies);
    },
    close() {
      return new Promise((resolve) => {
        closing = resolve;
        if (all.size === 0) resolve();
        for (const connection of idle.splice(0)) connection.abort();
      });
    },
  };
}

/** How long a connection must be silent before the system asks whether the other side is still there. */
const probeMs = 60_000;

type Open = () => { readonly socket: Socket; readonly connected: "connect" | "secureConnect" };

function createOpen(origin: string): Open {
  const { protocol, hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const common = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeMs };
  if (protocol === "http:") {
    const options = { ...common, port: Number(port || 80) };
    return () => ({ socket: connect(options), connected: "connect" });
  }
  // A session that the server knows saves it, and us, a part of the handshake.
  let session: Buffer | undefined;
  const options = { ...common, port: Number(port || 443), ALPNProtocols: ["http/1.1"] };
  return () => {
    const socket = connectSecurely({ ...options, ...(session ? { session } : {}) });
    socket.on("session", (ticket: Buffer) => (session = ticket));
    return { socket, connected: "secureConnect" };
  };
}
