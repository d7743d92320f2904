/**
 * The connections to one server: as many as requests run there, each kept for the next as long as the server keeps it.
 *
 * Who asks gets the connection that was used last, so that those which a quiet hour does not need end by themselves. Requests
 * are sent at the end of the turn in which they were asked, one after another: a write to a server that sleeps wakes it, which
 * costs more than the write; and what has come meanwhile has been read then, so that no connection is taken which has ended.
 */
import { Connection } from "./connection.ts";
import { createDeadlines } from "./deadlines.ts";
import { type Fields, writeFields } from "./fields.ts";
import { createOpen } from "./open.ts";
import type { PartTimeouts, Replies } from "./replies.ts";

/** A request to the server. */
export interface UpstreamRequest {
  readonly method: "GET" | "POST";
  /** With its query. */
  readonly path: string;
  /** Lines of fields that many requests have, written before (`writeFields`). */
  readonly common?: string | undefined;
  readonly fields: Readonly<Fields>;
  readonly body?: Buffer | undefined;
}

export interface ConnectionPool {
  /** Sends a request. Throws TypeError for a path or a field's value that cannot be written; all else is told to `replies`. */
  send(request: UpstreamRequest, replies: Replies): void;
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
  const own = `host: ${host}\r\nconnection: keep-alive\r\n`;
  const open = createOpen(origin);
  const deadlines = createDeadlines();
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  let queued: Queued[] = [];
  let closing: PromiseWithResolvers<void> | undefined;

  function make(): Connection {
    const connection = new Connection({ open, timeouts, deadlines, onIdle, onClosed });
    all.add(connection);
    return connection;
  }

  function kept(now: number): Connection | undefined {
    for (let connection = idle.pop(); connection; connection = idle.pop()) {
      if (connection.isKeptAt(now)) return connection;
      connection.abort();
    }
    return undefined;
  }

  function sendAll(): void {
    const sending = queued;
    queued = [];
    const now = performance.now();
    for (const { head, body, replies } of sending) {
      if (!replies.isOver) (kept(now) ?? make()).send(head, body, replies);
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

  /** How the request before began: most begin alike. */
  let begun = { method: "", path: "", common: "", text: "" };

  function beginningOf({ method, path, common = "" }: UpstreamRequest): string {
    if (path === begun.path && method === begun.method && common === begun.common) return begun.text;
    if (notInPath.test(path)) throw new TypeError("the path has characters that none may have");
    const text = [method, " ", path, " HTTP/1.1\r\n", own, common].join("");
    begun = { method, path, common, text };
    return text;
  }

  return {
    send(request, replies) {
      const { fields, body } = request;
      const length = body === undefined ? "" : `content-length: ${body.length}\r\n`;
      const head = `${beginningOf(request)}${writeFields(fields)}${length}\r\n`;
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
