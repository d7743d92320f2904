/**
 * The open connections of a listener: counted, watched for readers that stall, and bounded. Where a new one would be one too
 * many, the oldest that is idle is closed; where none is idle, the new one is.
 */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { connectionReader, type StalledReaders } from "./stalled-readers.ts";

/** An open connection, and what is known of it. */
export interface OpenConnection {
  /** `undecided`: its first bytes have not told yet. */
  protocol: "undecided" | "http1" | "http2" | "websocket";
  /** Whether it may be closed without a loss: nothing runs on it. */
  isIdle: () => boolean;
}

/** What is open at a moment. */
export interface ConnectionCounts {
  readonly undecided: number;
  readonly http1: number;
  readonly http2: number;
  readonly websocket: number;
  /** Streams of HTTP/2. */
  readonly streams: number;
  /** How many peers have been cut so far because they stopped reading. */
  readonly stalled: number;
  /** How many connections have been closed so far because there were too many. */
  readonly shed: number;
  /** How many sessions of HTTP/2 have been cut so far because they sent what no stream needs. */
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
  /** Ends those whose first bytes have not told what they are. */
  endUndecided(): void;
}

/** How many files a process has open besides its clients' connections: the database, its journal, upstreams. At least this part. */
const reservedShare = 0.25;
const leastReserved = 64;

export function createConnections(
  most = Math.max(1, openFilesLimit() - Math.max(leastReserved, openFilesLimit() * reservedShare)),
  readers: StalledReaders,
): Connections {
  /** In the order in which they came. */
  const open = new Map<Socket, OpenConnection>();
  let shed = 0;

  function makeRoom(): void {
    for (const [socket, { isIdle }] of open) {
      if (!isIdle()) continue;
      open.delete(socket);
      socket.destroy();
      return;
    }
  }

  return {
    add(socket) {
      const connection: OpenConnection = { protocol: "undecided", isIdle: () => connection.protocol === "undecided" };
      const reader = connectionReader(socket);
      if (open.size >= most) {
        shed++;
        makeRoom();
        if (open.size >= most) socket.destroy();
      }
      open.set(socket, connection);
      readers.watch(reader);
      socket.once("close", () => {
        open.delete(socket);
        readers.forget(reader);
      });
      return connection;
    },
    counts(sessions) {
      const counts = { ...nothingOpen, ...sessions, stalled: readers.cuts, shed };
      for (const { protocol } of open.values()) counts[protocol]++;
      return counts;
    },
    endUndecided() {
      for (const [socket, { protocol }] of open) if (protocol === "undecided") socket.destroy();
    },
  };
}

/** Returns how many files the process may have open; infinite where the system does not say. Linux: proc(5), `limits`. */
function openFilesLimit(): number {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
