/**
 * Decompresses what a caller has compressed, within the bounds of what may be sent plain: each piece is counted as it comes out,
 * and nothing more is made of what is too large or has no room, or of a long body that was compressed too well to be meant.
 * What is broken, cut off, or goes on behind its end is refused.
 *
 * It is done outside the event loop, by pieces. Of what becomes long one is gone on with at a time, until it has been read: so many
 * at once take their memory one after the other, and one processor, and leave others time between them. What stays short waits for
 * nobody.
 */
import { once } from "node:events";
import { cancelled, compressedTooWell, malformedBody, requestTooLarge } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { createDecompressor, mostGrowth } from "../../runtime/content-codings.ts";
import type { BodyShare } from "./body-budget.ts";

/** The length of a piece, and of what is short. In bytes. */
const chunkSize = 65_536;

/** What a body may always become, however well it was compressed. */
const freeBytes = 1_048_576;

export interface Inflating {
  readonly coding: string;
  /** The most bytes that it may become. */
  readonly maxBytes: number;
  readonly share: BodyShare;
  /** Fires when the caller goes away. */
  readonly signal: Signal;
}

export interface Inflated {
  readonly pieces: readonly Buffer[];
  /** Says that they have been read, and lets the next go on. So does the signal. */
  done(): void;
}

/** Returns what the bytes become. Throws a Refusal. */
export type Inflate = (bytes: Uint8Array, inflating: Inflating) => Promise<Inflated>;

export function createInflate(): Inflate {
  const line = createLine();
  return async (bytes, { coding, maxBytes, share, signal }) => {
    if (bytes.length === 0) return { pieces: [], done: () => {} };
    const stream = createDecompressor(coding, bytes, chunkSize);
    if (!stream) throw malformedBody(`the compression ${coding} is not known`);
    const pieces: Buffer[] = [];
    const mostBytes = Math.max(freeBytes, mostGrowth * bytes.length);
    let length = 0;
    const place = line.place(signal);
    // What it fails by is thrown by the iteration.
    stream.on("error", () => {}).end(bytes);
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        if (signal.aborted) throw cancelled();
        length += piece.length;
        if (length > maxBytes) throw requestTooLarge(maxBytes);
        if (length > mostBytes) throw compressedTooWell(mostGrowth);
        share.add(piece.length);
        pieces.push(piece);
        if (length >= chunkSize) await place.enter();
      }
      if (stream.bytesWritten < bytes.length) throw malformedBody("more follows behind the end of what is compressed");
      return { pieces, done: place.leave };
    } catch (error) {
      place.leave();
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
 * Lets the next go on once what was inflated has been read: that is worked on before anybody else has a turn, and then the others
 * have as long as it took since `readAt`, by `performance.now()`.
 */
export function doneSince({ done }: Pick<Inflated, "done">, readAt: number): void {
  setImmediate(() => setTimeout(done, performance.now() - readAt));
}

/** One is at its head; the others wait. */
interface Line {
  /** Returns a place that is left when the signal fires, at the latest. */
  place(signal: Signal): Place;
}

interface Place {
  /** Waits until it is at the head, where it is not. */
  enter(): Promise<void>;
  leave(): void;
}

function createLine(): Line {
  let head: Place | undefined;
  const waiting: { readonly place: Place; readonly goOn: () => void }[] = [];
  return {
    place(signal) {
      const place: Place = {
        async enter() {
          if (head === place) return;
          if (head) await new Promise<void>((goOn) => waiting.push({ place, goOn }));
          else head = place;
          if (signal.aborted) place.leave();
        },
        leave() {
          if (head !== place) return;
          const next = waiting.shift();
          head = next?.place;
          next?.goOn();
        },
      };
      signal.addEventListener("abort", place.leave, { once: true });
      return place;
    },
  };
}
