/**
 * The connections to one server: as many as requests run there, each kept for the next as long as the server keeps it.
 *
 * Who asks gets the connection that was used last, so that those which a quiet hour does not need end by themselves. Requests
 * are sent at the end of the turn in which they were asked, one after another: a write to a server that sleeps wakes it, which
 * costs more than the write; and what has come meanwhile has been read then, so that no connection is taken which has ended.
 * For the same reason a connection rests until the turn after its answer: what follows that unasked shows meanwhile, and ends it.
 */

import { createDeadlines } from "../../runtime/deadlines.ts";
import { writeFields } from "../fields.ts";
import { type Body, byteLength } from "../write-message.ts";
import { Connection } from "./connection.ts";
import type { PhaseTimeouts, ReplyHandler, UpstreamClient, UpstreamRequest } from "./contract.ts";
import { createOpen } from "./open.ts";
import { checkPath } from "./request-target.ts";

interface Queued {
  readonly head: string;
  readonly body: Body | undefined;
  readonly replies: ReplyHandler;
}

/** `origin` is `http://…` or `https://…`. A reply's head that comes again is not read again where `remembersHeads` says so. */
export function createConnectionPool(origin: string, timeouts: PhaseTimeouts, remembersHeads = true): UpstreamClient {
  const { host } = new URL(origin);
  const own = `host: ${host}\r\nconnection: keep-alive\r\n`;
  const open = createOpen(origin);
  const deadlines = createDeadlines();
  const idle: Connection[] = [];
  /** Those whose answers ended in this turn. */
  let resting: Connection[] = [];
  const all = new Set<Connection>();
  let queued: Queued[] = [];
  let isTurnEndAwaited = false;
  let closing: PromiseWithResolvers<void> | undefined;

  function make(): Connection {
    const connection = new Connection({ open, timeouts, deadlines, onIdle, onClosed, remembersHeads });
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

  function awaitTurnEnd(): void {
    if (isTurnEndAwaited) return;
    isTurnEndAwaited = true;
    setImmediate(endTurn);
  }

  /** Sends what was asked for in this turn. What a resting connection could take waits for it, which is quicker than another. */
  function endTurn(): void {
    isTurnEndAwaited = false;
    const sending = queued;
    queued = [];
    const now = performance.now();
    for (const one of sending) {
      if (one.replies.isCancelled) continue;
      const connection = kept(now);
      if (connection) connection.send(one.head, one.body, one.replies);
      else if (queued.length < resting.length) queued.push(one);
      else make().send(one.head, one.body, one.replies);
    }
    const rested = resting;
    resting = [];
    for (const connection of rested) {
      if (connection.isWritten) idle.push(connection);
      else connection.abort();
    }
    if (queued.length > 0) awaitTurnEnd();
    endIfOver();
  }

  function onIdle(connection: Connection): void {
    if (closing) return void connection.abort();
    resting.push(connection);
    awaitTurnEnd();
  }

  function onClosed(connection: Connection): void {
    if (!all.delete(connection)) return;
    for (const list of [idle, resting]) {
      const at = list.indexOf(connection);
      if (at !== -1) list.splice(at, 1);
    }
    endIfOver();
  }

  function endIfOver(): void {
    if (all.size === 0 && queued.length === 0) closing?.resolve();
  }

  /** How the request before began: most begin alike. */
  let begun = { method: "", path: "", common: "", text: "" };

  function beginningOf({ method, path, common = "" }: UpstreamRequest): string {
    if (path === begun.path && method === begun.method && common === begun.common) return begun.text;
    checkPath(path);
    const text = [method, " ", path, " HTTP/1.1\r\n", own, common].join("");
    begun = { method, path, common, text };
    return text;
  }

  return {
    send(request, replies) {
      const { fields, body } = request;
      const length = body === undefined ? "" : `content-length: ${byteLength(body)}\r\n`;
      const head = `${beginningOf(request)}${writeFields(fields)}${length}\r\n`;
      queued.push({ head, body, replies });
      awaitTurnEnd();
    },
    close() {
      closing ??= Promise.withResolvers<void>();
      for (const connection of [...idle, ...resting]) connection.abort();
      endIfOver();
      return closing.promise;
    },
  };
}
