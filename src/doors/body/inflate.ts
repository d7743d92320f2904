/**
 * Decompresses bodies within the bounds of plain ones. Each piece is counted as it comes out, and decompression stops if the
 * result is too large, has no room, or is so much longer than its source that it must be a bomb. Data that is broken, cut off,
 * or followed by more is refused.
 *
 * zlib works outside the event loop, piece by piece. Of results that become long, only one at a time goes on, and it keeps its
 * lock until it has been read. So many at once take their memory and one processor in turn, and leave other calls time between
 * them. Short results take no lock, and a few of them are made at a time: fifty that begin in one turn of the event loop are a
 * tenth of a second for everybody else.
 */
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { cancelled, compressedTooWell, malformedBody, requestTooLarge } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { createDecompressor, type Decompressor, mostGrowth } from "../../runtime/content-codings.ts";
import type { BodyShare } from "./body-budget.ts";

/** The length of a piece, and of the longest short result. In bytes. */
const chunkSize = 65_536;

/**
 * mostAtOnce is how many results are made at a time that are not long yet: no more than zlib has threads, and one core is left to the
 * event loop.
 */
const mostAtOnce = Math.min(4, Math.max(1, availableParallelism() - 1));

/** The length that any body may become, however well it was compressed. In bytes. */
const alwaysAllowed = 1_048_576;

export interface Inflating {
  readonly coding: string;
  /** The most bytes of the result. */
  readonly maxBytes: number;
  readonly share: BodyShare;
  /** Fires when the client disconnects. */
  readonly signal: Signal;
}

export interface Inflated {
  readonly pieces: readonly Buffer[];
  /** Releases the lock: the pieces have been read. The signal releases it, too. */
  done(): void;
}

/** Inflate decompresses bytes. Throws a Refusal. */
export type Inflate = (bytes: Uint8Array, inflating: Inflating) => Promise<Inflated>;

export function createInflate(): Inflate {
  const [first, long] = [createSemaphore(mostAtOnce), createSemaphore(1)];
  return async (bytes, { coding, maxBytes, share, signal }) => {
    if (bytes.length === 0) return { pieces: [], done: () => {} };
    const begun = first.lock(signal);
    await begun.acquire();
    const stream = begin(coding, bytes, begun);
    const pieces: Buffer[] = [];
    const mostBytes = Math.max(alwaysAllowed, mostGrowth * bytes.length);
    let length = 0;
    const lock = long.lock(signal);
    // The iteration throws the error.
    stream.on("error", () => {}).end(bytes);
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        if (signal.aborted) throw cancelled();
        length += piece.length;
        if (length > maxBytes) throw requestTooLarge(maxBytes);
        if (length > mostBytes) throw compressedTooWell(mostGrowth);
        share.add(piece.length);
        pieces.push(piece);
        if (length < chunkSize) continue;
        begun.release();
        await lock.acquire();
      }
      if (stream.bytesWritten < bytes.length) throw malformedBody("more follows behind the end of what is compressed");
      return { pieces, done: lock.release };
    } catch (error) {
      lock.release();
      throw isOfZlib(error) ? malformedBody("it cannot be decompressed") : error;
    } finally {
      begun.release();
      if (!stream.closed) await once(stream.destroy(), "close");
    }
  };
}

/** begin releases the lock where it throws: a coding may be unknown, and no memory left for a decompressor. */
function begin(coding: string, bytes: Uint8Array, lock: Pick<Lock, "release">): Decompressor {
  try {
    const stream = createDecompressor(coding, bytes, chunkSize);
    if (stream) return stream;
    throw malformedBody(`the compression ${coding} is not known`);
  } catch (error) {
    lock.release();
    throw error;
  }
}

function isOfZlib(error: unknown): boolean {
  return /^(?:Z_|ZSTD_|ERR_)/.test(String((error as { readonly code?: unknown } | null)?.code));
}

/**
 * doneSince releases the lock of what was inflated after it has been read, and after other calls have had as much time as the reading took.
 * It began at `readAt`, by `performance.now()`.
 */
export function doneSince({ done }: Pick<Inflated, "done">, readAt: number): void {
  setImmediate(() => setTimeout(done, performance.now() - readAt));
}

/** Semaphore has at most some of its locks acquired at a time. The others wait in the order in which they asked. */
interface Semaphore {
  /** Returns a lock that is not acquired yet. The signal releases it. */
  lock(signal: Signal): Lock;
}

interface Lock {
  /** Resolves when the lock is acquired; at once if it is already. */
  acquire(): Promise<void>;
  /** Does nothing where the lock is not acquired. */
  release(): void;
}

/** createSemaphore returns a semaphore of which `most` locks are acquired at a time: with 1, a mutex. */
function createSemaphore(most: number): Semaphore {
  const holders = new Set<Lock>();
  const waiting: { readonly lock: Lock; readonly resolve: () => void }[] = [];
  return {
    lock(signal) {
      const lock: Lock = {
        async acquire() {
          if (holders.has(lock)) return;
          if (holders.size < most) holders.add(lock);
          else await new Promise<void>((resolve) => waiting.push({ lock, resolve }));
          if (signal.aborted) lock.release();
        },
        release() {
          if (!holders.delete(lock)) return;
          const next = waiting.shift();
          if (next) holders.add(next.lock);
          next?.resolve();
        },
      };
      signal.addEventListener("abort", lock.release, { once: true });
      return lock;
    },
  };
}
