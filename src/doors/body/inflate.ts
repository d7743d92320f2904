/**
 * Decompresses bodies within the bounds of plain ones. Each piece is counted as it comes out, and decompression stops if the
 * result is too large, has no room, or is so much longer than its source that it must be a bomb. Data that is broken, cut off,
 * or followed by more is refused.
 *
 * zlib works outside the event loop, piece by piece. Of results that become long, only one at a time goes on, and it keeps its
 * lock until it has been read. So many at once take their memory and one processor in turn, and leave other calls time between
 * them. Short results take no lock.
 */
import { once } from "node:events";
import { cancelled, compressedTooWell, malformedBody, requestTooLarge } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { createDecompressor, mostGrowth } from "../../runtime/content-codings.ts";
import type { BodyShare } from "./body-budget.ts";

/** The length of a piece, and of the longest short result. In bytes. */
const chunkSize = 65_536;

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
  const mutex = createMutex();
  return async (bytes, { coding, maxBytes, share, signal }) => {
    if (bytes.length === 0) return { pieces: [], done: () => {} };
    const stream = createDecompressor(coding, bytes, chunkSize);
    if (!stream) throw malformedBody(`the compression ${coding} is not known`);
    const pieces: Buffer[] = [];
    const mostBytes = Math.max(alwaysAllowed, mostGrowth * bytes.length);
    let length = 0;
    const lock = mutex.lock(signal);
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
        if (length >= chunkSize) await lock.acquire();
      }
      if (stream.bytesWritten < bytes.length) throw malformedBody("more follows behind the end of what is compressed");
      return { pieces, done: lock.release };
    } catch (error) {
      lock.release();
      throw isOfZlib(error) ? malformedBody("it cannot be decompressed") : error;
    } finally {
      if (!stream.closed) await once(stream.destroy(), "close");
    }
  };
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

/** Mutex has at most one lock acquired at a time. The others wait in the order in which they asked. */
interface Mutex {
  /** Returns a lock that is not acquired yet. The signal releases it. */
  lock(signal: Signal): Lock;
}

interface Lock {
  /** Resolves when the lock is acquired; at once if it is already. */
  acquire(): Promise<void>;
  /** Does nothing where the lock is not acquired. */
  release(): void;
}

function createMutex(): Mutex {
  let holder: Lock | undefined;
  const waiting: { readonly lock: Lock; readonly resolve: () => void }[] = [];
  return {
    lock(signal) {
      const lock: Lock = {
        async acquire() {
          if (holder === lock) return;
          if (holder) await new Promise<void>((resolve) => waiting.push({ lock, resolve }));
          else holder = lock;
          if (signal.aborted) lock.release();
        },
        release() {
          if (holder !== lock) return;
          const next = waiting.shift();
          holder = next?.lock;
          next?.resolve();
        },
      };
      signal.addEventListener("abort", lock.release, { once: true });
      return lock;
    },
  };
}
