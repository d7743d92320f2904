/**
 * Tells whether there is memory for more bytes of long requests and answers, so that the system does not end a process in a small container for
 * want of it. V8 collects what long bodies leave behind by the size of its heap, and knows nothing of what the container has.
 */
import { trimHeap } from "./c-heap.ts";
import { collectOnce } from "./collect.ts";

export interface MemoryRoom {
  /**
   * Reports whether `more` bytes may come to the `held` bytes of requests and answers in memory. It may collect garbage, at most once a second:
   * a pause of a tenth of a second or so, where the system would end the process otherwise.
   */
  hasRoom(held: number, more: number): boolean;
  /** How long what has come already waits for memory, in milliseconds. Default: 30 s. */
  readonly waitMs?: number;
}

export interface MemoryRoomOptions {
  /** The memory of the machine or the container, in bytes. */
  readonly totalBytes: number;
  /** Returns how many of these bytes are left. */
  readonly availableBytes: () => number;
  /** Told how many are left when that is too little, at most once a minute. */
  readonly onShort: (availableBytes: number) => void;
  /** Collects what is garbage, and gives it back to the system. */
  readonly collect?: () => void;
  /** The time in milliseconds, of any beginning. */
  readonly clock?: () => number;
}

/**
 * memoryOfByte is how many bytes of memory a byte of a long request or answer takes: as it came, as text, as values, as what is sent on, and
 * what is garbage of these before V8 has collected it.
 */
const memoryOfByte = 8;
/** keptShare is the part of the memory that is left free: what comes meanwhile needs some, too. */
const keptShare = 0.05;
/** lookBytes is how many bytes come between two looks: a look takes some ten microseconds or more. */
const lookBytes = 2 ** 20;
const betweenCollectionsMs = 1_000;
const betweenReportsMs = 60_000;

export function createMemoryRoom({
  totalBytes,
  availableBytes,
  onShort,
  collect = collectAndTrim,
  clock = () => performance.now(),
}: MemoryRoomOptions): MemoryRoom {
  const kept = totalBytes * keptShare;
  let unseen = lookBytes;
  let isShort = false;
  let [collectedAt, reportedAt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];

  const fits = (bytes: number) => memoryOfByte * bytes <= availableBytes() - kept;

  function look(bytes: number): boolean {
    if (fits(bytes)) return true;
    const now = clock();
    if (now - collectedAt < betweenCollectionsMs) return false;
    collect();
    // By the time after it, for a pause that is as long as what lies between would leave no time for calls.
    collectedAt = clock();
    if (fits(bytes)) return true;
    if (now - reportedAt >= betweenReportsMs) {
      reportedAt = now;
      onShort(availableBytes());
    }
    return false;
  }

  return {
    hasRoom(held, more) {
      unseen += more;
      if (!isShort && unseen < lookBytes) return true;
      unseen = 0;
      isShort = !look(held + more);
      return !isShort;
    },
  };
}

function collectAndTrim(): void {
  collectOnce();
  trimHeap();
}
