/**
 * Cuts peers that stop reading: bytes wait for one, and for `stalledMs` it has acknowledged none. A peer that reads slowly is
 * served for as long as it reads.
 *
 * Node tells when the system has taken bytes, not when the peer has. The system holds up to some megabytes of a connection and
 * takes more only when a third of them is free, so from here a slow reader looks like one that has stalled. On Linux the
 * system's table of connections says how many bytes are unacknowledged. It is read only while something seems to stall; where
 * there is none, what the system takes is all that counts.
 */
import { createReadStream } from "node:fs";
import type { Socket } from "node:net";

/** Something that bytes are written to: a connection, or a stream of one. */
export interface Reader {
  /** The connection below it. */
  readonly socket: Socket;
  /** Returns how many bytes wait to be taken; 0 where none do. */
  waiting(): number;
  /** Returns how many have been taken so far. Absent where nobody counts: then fewer that wait say that some were taken. */
  taken?(): number;
  /**
   * Of a stream: another number says that its connection has carried data of some stream. A stream that lets others pass still
   * has to take `leastStreamBytes` in each `stalledMs`.
   */
  carried?(): number;
  /** Ends it. */
  cut(): void;
}

/** Returns what is written to a connection of HTTP/1.1. */
export function connectionReader(socket: Socket): Reader {
  return {
    socket,
    waiting: () => socket.writableLength,
    taken: () => socket.bytesWritten - socket.writableLength,
    cut: () => socket.destroy(),
  };
}

export interface StalledReaders {
  watch(reader: Reader): void;
  forget(reader: Reader): void;
  /** How many have been cut. */
  readonly cuts: number;
  close(): void;
}

/** What a stream is to take in `stalledMs` while others of its connection go on. In bytes. */
const leastStreamBytes = 65_536;
/** How often it looks in the time that a reader has. */
const looksPerStall = 8;

/** How a reader stood when it was looked at last. Moments are by `performance.now()`. */
interface Mark {
  waiting: number;
  taken: number;
  carried: number;
  /** Undefined until the system was asked. */
  unacknowledged: number | undefined;
  /** When bytes of its own were taken last. */
  takenAt: number;
  /** When it, or its connection, moved at all. */
  movedAt: number;
}

export interface StalledReadersOptions {
  readonly stalledMs: number;
  /** Returns the unacknowledged bytes of connections by their local and remote port. */
  readonly readTable?: () => Promise<ReadonlyMap<string, number>>;
}

export function createStalledReaders({
  stalledMs,
  readTable = unacknowledgedBytes,
}: StalledReadersOptions): StalledReaders {
  const marks = new Map<Reader, Mark | undefined>();
  const lookMs = stalledMs / looksPerStall;
  let cuts = 0;
  let isLooking = false;
  let lookedAt = performance.now();

  /** Marks what has moved since the last look. Returns those of which Node knows no move. */
  function suspects(now: number): [Reader, Mark][] {
    const found: [Reader, Mark][] = [];
    for (const [reader, mark] of marks) {
      const waiting = reader.waiting();
      if (waiting === 0) {
        if (mark) marks.set(reader, undefined);
        continue;
      }
      const taken = reader.taken?.() ?? 0;
      const carried = reader.carried?.() ?? 0;
      const hasTaken = !mark || (reader.taken ? taken !== mark.taken : waiting < mark.waiting);
      if (hasTaken) {
        marks.set(reader, { waiting, taken, carried, unacknowledged: undefined, takenAt: now, movedAt: now });
        continue;
      }
      mark.waiting = waiting;
      if (carried !== mark.carried) {
        mark.carried = carried;
        mark.movedAt = now;
      }
      found.push([reader, mark]);
    }
    return found;
  }

  function isStalled(reader: Reader, { waiting, takenAt, movedAt }: Mark, now: number): boolean {
    if (now - movedAt >= stalledMs) return true;
    return reader.carried !== undefined && now - takenAt >= stalledMs * (1 + waiting / leastStreamBytes);
  }

  async function look(): Promise<void> {
    const now = performance.now();
    const found = suspects(now);
    // A process that stood still has seen no peer take anything.
    const hasStoodStill = now - lookedAt > stalledMs / 2;
    lookedAt = now;
    if (found.length === 0) return;
    const table = await readTable();
    for (const [reader, mark] of found) {
      const bytes = table.get(portsOf(reader.socket)) ?? 0;
      // Where nothing was unacknowledged, what is now may answer a ping of a client that reads no stream.
      if (hasStoodStill || (mark.unacknowledged && bytes !== mark.unacknowledged)) mark.movedAt = now;
      mark.unacknowledged = bytes;
      if (marks.get(reader) !== mark || !isStalled(reader, mark, now)) continue;
      marks.delete(reader);
      cuts++;
      reader.cut();
    }
  }

  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
    });
  }, lookMs).unref();
  return {
    watch: (reader) => void marks.set(reader, undefined),
    forget: (reader) => void marks.delete(reader),
    get cuts() {
      return cuts;
    },
    close: () => clearInterval(timer),
  };
}

function portsOf({ localPort, remotePort }: Socket): string {
  return `${localPort} ${remotePort}`;
}

/** Linux: proc(5), `/proc/net/tcp`. Read in pieces, for it may list thousands of connections. */
const tables = ["/proc/net/tcp", "/proc/net/tcp6"];
const row = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/;

/** Two peers that have the same port at other addresses are told as one. */
export async function unacknowledgedBytes(): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const read = (line: string) => {
    const [, local = "", remote = "", queued = ""] = row.exec(line) ?? [];
    const bytes = Number.parseInt(queued, 16);
    if (!(bytes > 0)) return;
    const ports = `${Number.parseInt(local, 16)} ${Number.parseInt(remote, 16)}`;
    found.set(ports, (found.get(ports) ?? 0) + bytes);
  };
  for (const path of tables) {
    let rest = "";
    try {
      for await (const piece of createReadStream(path, { encoding: "latin1" })) {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) read(line);
      }
    } catch {
      // Other systems have no such table.
    }
  }
  return found;
}
