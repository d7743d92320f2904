/**
 * The open connections of a listener: counted, watched for stalled readers, and bounded in number. A new connection beyond the
 * bound replaces the oldest idle one, or else the oldest on which nothing runs that a key was admitted for, or else the oldest whose
 * request still comes, and is closed itself if there is none. An idle or keyless one that has only just come, or been used, goes behind the
 * others of them: its request is on its way, and callers who come together must not push each other out while others hold what nobody pays for.
 */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { connectionReader, type StalledReaders } from "./stalled-readers.ts";

/** OpenConnection is the state of a connection that its protocol keeps up to date. */
export interface OpenConnection {
  /** `undecided` until its first bytes have shown the protocol. */
  protocol: "undecided" | "http1" | "http2" | "websocket";
  /** Reports whether nothing runs on it, so that closing it loses nothing. */
  isIdle: () => boolean;
  /** Reports whether nothing runs on it that a key was admitted for (`keyless-work.ts`). */
  isKeyless: () => boolean;
  /** Reports whether nothing runs on it but what is keyless, or still comes: an account must not keep others out by bodies that do not come. */
  isReceiving: () => boolean;
}

/** Use is when a connection was used last, as far as it was looked at: more bytes than at the last look are use between the two. */
interface Use {
  /** By `performance.now()`. */
  at: number;
  bytesRead: number;
}

interface Watched {
  readonly connection: OpenConnection;
  readonly use: Use;
}

/** Open are the open connections, oldest first. */
type Open = Map<Socket, Watched>;

/** ConnectionCounts counts the open connections by protocol, and the cuts since the start. */
export interface ConnectionCounts {
  readonly undecided: number;
  readonly http1: number;
  readonly http2: number;
  readonly websocket: number;
  /** Open streams of HTTP/2. */
  readonly streams: number;
  /** Peers cut so far because they stopped reading. */
  readonly stalled: number;
  /** Connections closed so far because there were too many. */
  readonly shed: number;
  /** Sessions of HTTP/2 cut so far as floods. */
  readonly floods: number;
}

export const nothingOpen: ConnectionCounts = {
  undecided: 0,
  http1: 0,
  http2: 0,
  websocket: 0,
  streams: 0,
  stalled: 0,
  shed: 0,
  floods: 0,
};

export interface Connections {
  add(socket: Socket): OpenConnection;
  counts(sessions: Pick<ConnectionCounts, "streams" | "floods">): ConnectionCounts;
  /** Closes the connections whose protocol is undecided. */
  endUndecided(): void;
}

/** The part of the process's open files that is kept for the database, its journal and upstreams, and the least number of them. */
const reservedShare = 0.25;
const minReserved = 64;
/** How long a connection has only just come or been used, in milliseconds. */
const freshMs = 1_000;

export function createConnections(
  max = Math.max(1, openFilesLimit() - Math.max(minReserved, openFilesLimit() * reservedShare)),
  readers: StalledReaders,
): Connections {
  const open: Open = new Map();
  let shed = 0;

  return {
    add(socket) {
      const isUndecided = () => connection.protocol === "undecided";
      const connection: OpenConnection = {
        protocol: "undecided",
        isIdle: isUndecided,
        isKeyless: isUndecided,
        isReceiving: isUndecided,
      };
      const now = performance.now();
      const reader = connectionReader(socket);
      if (open.size >= max) {
        shed++;
        if (!makeRoom(open, now)) socket.destroy();
      }
      open.set(socket, { connection, use: { at: now, bytesRead: 0 } });
      readers.watch(reader);
      socket.once("close", () => {
        open.delete(socket);
        readers.forget(reader);
      });
      return connection;
    },
    counts(sessions) {
      const counts = { ...nothingOpen, ...sessions, stalled: readers.cuts, shed };
      for (const { connection } of open.values()) counts[connection.protocol]++;
      return counts;
    },
    endUndecided() {
      for (const [socket, { connection }] of open) if (connection.protocol === "undecided") socket.destroy();
    },
  };
}

/** makeRoom closes one connection for a new one. Returns whether there was one that may be closed. */
function makeRoom(open: Open, now: number): boolean {
  const isSettled = (socket: Socket, use: Use) => now - lastUse(socket, use, now) >= freshMs;
  return (
    closeOldest(open, ({ connection, use }, socket) => connection.isIdle() && isSettled(socket, use)) ||
    closeOldest(open, ({ connection, use }, socket) => connection.isKeyless() && isSettled(socket, use)) ||
    closeOldest(open, ({ connection }) => connection.isKeyless() && !connection.isIdle()) ||
    closeOldest(open, ({ connection }) => connection.isIdle()) ||
    closeOldest(open, ({ connection }) => connection.isReceiving())
  );
}

/** closeOldest closes the oldest connection for which the test holds. Returns whether there was one. */
function closeOldest(open: Open, test: (watched: Watched, socket: Socket) => boolean): boolean {
  for (const [socket, watched] of open) {
    if (!test(watched, socket)) continue;
    open.delete(socket);
    socket.destroy();
    return true;
  }
  return false;
}

function lastUse(socket: Socket, use: Use, now: number): number {
  if (socket.bytesRead !== use.bytesRead) Object.assign(use, { at: now, bytesRead: socket.bytesRead });
  return use.at;
}

/** openFilesLimit returns how many files the process may have open; infinite where the system has no `/proc`. Linux: proc(5), `limits`. */
function openFilesLimit(): number {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
