/**
 * The connections to one server: as many as requests run there, each kept for the next as long as the server keeps it.
 *
 * Who asks gets the connection that was used last, so that those which a quiet hour does not need end by themselves. Requests
 * are sent at the end of the turn in which they were asked, one after another: a write to a server that sleeps wakes it, which
 * costs more than the write; and what has come meanwhile has been read then, so that no connection is taken which has ended.
 */
import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { Connection } from "./connection.ts";
import { createDeadlines } from "./deadlines.ts";
import { type Fields, writeFields } from "./fields.ts";
import type { PartTimeouts, Replies } from "./replies.ts";

/** A request. */
export interface Asking {
  readonly method: "GET" | "POST";
  /** With its query. */
  readonly path: string;
  readonly fields: Readonly<Fields>;
  readonly body?: Buffer;
}

export interface ConnectionPool {
  /** Sends a request. Throws TypeError for a path or a field's value that cannot be written; all else is told to `replies`. */
  send(asking: Asking, replies: Replies): void;
  /** Waits for the requests that run, and lets go of every connection. Whoever calls this sends no more. */
  close(): Promise<void>;
}

interface Queued {
  readonly head: string;
  readonly body: Buffer | undefined;
  readonly replies: Replies;
}

const notInPath = /[^\x21-\x7e]/;

/** `origin` is `http://…` or `https://…`. */
export function createConnectionPool(origin: string, timeouts: PartTimeouts): ConnectionPool {
  const { host } = new URL(origin);
  const open = createOpen(origin);
  const deadlines = createDeadlines();
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  let queued: Queued[] = [];
  let closing: PromiseWithResolvers<void> | undefined;

  function make(): Connection {
    const { socket, connected } = open();
    const connection = new Connection({ socket, timeouts, deadlines, onIdle, onClosed }, connected);
    all.add(connection);
    return connection;
  }

  function kept(): Connection | undefined {
    for (let connection = idle.pop(); connection; connection = idle.pop()) {
      if (connection.isKept()) return connection;
      connection.abort();
    }
    return undefined;
  }

  function sendAll(): void {
    const sending = queued;
    queued = [];
    for (const { head, body, replies } of sending) {
      if (!replies.isOver) (kept() ?? make()).send(head, body, replies);
    }
    endIfOver();
  }

  function onIdle(connection: Connection): void {
    if (closing) connection.abort();
    else idle.push(connection);
  }

  function onClosed(connection: Connection): void {
    if (!all.delete(connection)) return;
    const at = idle.indexOf(connection);
    if (at !== -1) idle.splice(at, 1);
    endIfOver();
  }

  function endIfOver(): void {
    if (all.size === 0 && queued.length === 0) closing?.resolve();
  }

  return {
    send({ method, path, fields, body }, replies) {
      if (notInPath.test(path)) throw new TypeError("the path has characters that none may have");
      const length = body === undefined ? "" : `content-length: ${body.length}\r\n`;
      const own = `host: ${host}\r\nconnection: keep-alive\r\n`;
      const head = `${method} ${path} HTTP/1.1\r\n${own}${writeFields(fields)}${length}\r\n`;
      if (queued.push({ head, body, replies }) === 1) setImmediate(sendAll);
    },
    close() {
      closing ??= Promise.withResolvers<void>();
      for (const connection of idle.splice(0)) connection.abort();
      endIfOver();
      return closing.promise;
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
  // A server of many names is told which is meant; an address is none (RFC 6066, section 3).
  const named = isIP(host) === 0 ? { servername: host } : {};
  const options = { ...common, ...named, port: Number(port || 443), ALPNProtocols: ["http/1.1"] };
  // A session that the server knows saves it, and us, a part of the handshake.
  let session: Buffer | undefined;
  return () => {
    const socket = connectSecurely({ ...options, ...(session ? { session } : {}) });
    socket.on("session", (ticket: Buffer) => {
      session = ticket;
    });
    return { socket, connected: "secureConnect" };
  };
}
