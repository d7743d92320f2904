/**
 * Cuts peers that stop reading: bytes wait for one, and it has acknowledged none for `stalledMs`. A peer that reads slowly is
 * served for as long as it reads.
 *
 * Node reports when the system has taken bytes, not when the peer has. The system holds up to some megabytes of a connection and
 * takes more only when a third of them is free, so to Node a slow reader looks like a stalled one. On Linux the system's tables
 * say how many bytes are unacknowledged. They are read only while a reader seems to stall. On other systems, only what the system
 * takes counts.
 */
import type { Socket } from "node:net";
import { portsOf, type UnacknowledgedBytes, unacknowledgedBytes } from "./unacknowledged-bytes.ts";

/** Reader is a destination of bytes: a connection, or a stream of one. */
export interface Reader {
  /** The connection below it. */
  readonly socket: Socket;
  /** Returns how many bytes wait to be taken; 0 where none do. */
  waiting(): number;
  /** Returns how many bytes have been taken so far. Unset where nothing counts them: then a shrinking `waiting` shows progress. */
  taken?(): number;
  /**
   * Returns a number that changes when the connection carries data of any stream; set for streams only. A stream whose connection
   * makes progress still has to take `minStreamBytes` in each `stalledMs`.
   */
  carried?(): number;
  /** Ends it. */
  cut(): void;
}

/** connectionReader returns the reader of a connection of HTTP/1.1. */
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
  /** cuts is how many have been cut so far. */
  readonly cuts: number;
  close(): void;
}

/** minStreamBytes is what a stream has to take in `stalledMs` while others of its connection make progress. In bytes. */
const minStreamBytes = 65_536;
/** checksPerStall is how many checks there are in each `stalledMs`. */
const checksPerStall = 8;

/** Mark is the state of a reader at the last check. Times are by `performance.now()`. */
interface Mark {
  waiting: number;
  taken: number;
  carried: number;
  /** Undefined until the system has been asked. */
  unacknowledged: number | undefined;
  /** takenAt is when the reader last took bytes of its own. */
  takenAt: number;
  /** movedAt is when the reader or its connection last made progress. */
  movedAt: number;
}

/** The watched readers. A reader that has nothing to take has no mark. */
type Marks = Map<Reader, Mark | undefined>;

export interface StalledReadersOptions {
  readonly stalledMs: number;
  /** Returns the unacknowledged bytes of connections. */
  readonly readTable?: () => Promise<UnacknowledgedBytes>;
}

export function createStalledReaders({
  stalledMs,
  readTable = unacknowledgedBytes,
}: StalledReadersOptions): StalledReaders {
  const marks: Marks = new Map();
  let cuts = 0;
  let isChecking = false;
  let checkedAt = performance.now();

  async function check(): Promise<void> {
    const now = performance.now();
    const suspects = suspectsIn(marks, now);
    // A process that was suspended has seen no peer take anything.
    const wasSuspended = now - checkedAt > stalledMs / 2;
    checkedAt = now;
    if (suspects.length === 0) return;
    const table = await readTable();
    for (const [reader, mark] of suspects) {
      const bytes = table.get(portsOf(reader.socket)) ?? 0;
      // Where nothing was unacknowledged, bytes that are now may answer a ping of a client that reads no stream.
      if (wasSuspended || (mark.unacknowledged && bytes !== mark.unacknowledged)) mark.movedAt = now;
      mark.unacknowledged = bytes;
      if (marks.get(reader) !== mark || !isStalled(reader, mark, now, stalledMs)) continue;
      marks.delete(reader);
      cuts++;
      reader.cut();
    }
  }

  const timer = setInterval(() => {
    if (isChecking) return;
    isChecking = true;
    void check().finally(() => {
      isChecking = false;
    });
  }, stalledMs / checksPerStall).unref();
  return {
    watch: (reader) => void marks.set(reader, undefined),
    forget: (reader) => void marks.delete(reader),
    get cuts() {
      return cuts;
    },
    close: () => clearInterval(timer),
  };
}

/** suspectsIn updates the marks. Returns the readers that have taken nothing since the last check, as far as Node knows. */
function suspectsIn(marks: Marks, now: number): [Reader, Mark][] {
  const suspects: [Reader, Mark][] = [];
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
    suspects.push([reader, mark]);
  }
  return suspects;
}

function isStalled(reader: Reader, { waiting, takenAt, movedAt }: Mark, now: number, stalledMs: number): boolean {
  if (now - movedAt >= stalledMs) return true;
  return reader.carried !== undefined && now - takenAt >= stalledMs * (1 + waiting / minStreamBytes);
}
