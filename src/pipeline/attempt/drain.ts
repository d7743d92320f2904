/**
 * Reads a stream on after its caller has left, to the usage that its upstream tells at the end: leaving just before the bill is
 * not free. Before the first content nothing is read on, and the upstream is broken off at once.
 *
 * What is read on passes the meter and is thrown away. It is bounded in time and in bytes, and then broken off; the call's hold
 * and its place in the upstream's queue stay until then. Whoever takes the frames is let go of at once, so that no response is
 * kept and no slow reader holds the upstream up. Where no usage is told in time, reasoning that nobody saw is estimated from
 * the time before the first content.
 */
import type { CallRecord } from "../../call/call-record.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { Deferred, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { UpstreamStream } from "./upstream-stream.ts";

/** The streams of this process that are read on. */
export interface Drains {
  /** How long one that begins now may be read on, in milliseconds; 0: not at all. */
  lastsMs(): number;
  add(stream: UpstreamStream): void;
  delete(stream: UpstreamStream): void;
  /** How many there are. */
  count(): number;
  /** Takes so many bytes of what all of them are read at. What is returned is there when more may be read. */
  paced(bytes: number): Promise<void> | undefined;
  /** Bounds all of them, and those that begin later, to so many milliseconds from now. Resolves when there are none. */
  close(ms: number): Promise<void>;
}

/**
 * How much of all streams is read on in a second, and at once, in bytes: a model puts out some tens of kilobytes a second, and
 * nobody who leaves a hundred streams of an upstream that is quicker may keep the process from its callers.
 */
const bytesPerSecond = 8 * 1024 * 1024;
const burstBytes = 1024 * 1024;

/** `ms` is how long each may be read on. */
export function createDrains(ms: number): Drains {
  const streams = new Set<UpstreamStream>();
  let room = burstBytes;
  let roomAt = performance.now();
  let closesAt = Number.POSITIVE_INFINITY;
  let onNone = () => {};
  return {
    lastsMs: () => Math.max(0, Math.min(ms, closesAt - performance.now())),
    add: (stream) => void streams.add(stream),
    delete(stream) {
      if (streams.delete(stream) && streams.size === 0) onNone();
    },
    count: () => streams.size,
    paced(bytes) {
      const now = performance.now();
      room = Math.min(burstBytes, room + ((now - roomAt) / 1000) * bytesPerSecond) - bytes;
      roomAt = now;
      if (room >= 0) return undefined;
      const waitMs = (-room / bytesPerSecond) * 1000;
      return new Promise((resolve) => setTimeout(resolve, waitMs).unref());
    },
    async close(within) {
      closesAt = performance.now() + within;
      if (streams.size === 0) return;
      const none = new Promise<void>((resolve) => (onNone = resolve));
      const late = setTimeout(() => {
        for (const stream of [...streams]) stream.cut();
      }, within);
      await none;
      clearTimeout(late);
    },
  };
}

/** The streams that one call reads: one, or one for each of its prompts. */
export class CallStreams {
  readonly drains: Drains;
  /** Fires when the caller leaves. */
  readonly caller: Signal;
  readonly #record: CallRecord;
  /** Made anew with each: a list that grows in place keeps room for sixteen more. */
  #reading: readonly UpstreamStream[] = [];
  #draining = 0;
  #drained: Deferred<void> | undefined;

  constructor(drains: Drains, { record, signal }: { readonly record: CallRecord; readonly signal: Signal }) {
    this.drains = drains;
    this.caller = signal;
    this.#record = record;
  }

  /** Whether any is read on. */
  isDraining(): boolean {
    return this.#draining > 0;
  }

  /** Says that the caller takes no more. What is returned is there when no stream is read on. */
  left(): MaybePromise<void> {
    for (const stream of this.#reading) stream.leave();
    if (this.#draining === 0) return undefined;
    this.#drained ??= new Deferred<void>();
    return this.#drained;
  }

  /** Says that the call failed while its caller was there: nothing is read on for that. */
  failed(): void {
    for (const stream of this.#reading) stream.cut();
  }

  readingBegan(stream: UpstreamStream): void {
    this.#reading = [...this.#reading, stream];
  }

  readingEnded(stream: UpstreamStream): void {
    this.#reading = this.#reading.filter((one) => one !== stream);
  }

  drainBegan(stream: UpstreamStream): void {
    this.#draining++;
    this.drains.add(stream);
  }

  drainEnded(stream: UpstreamStream, ms: number): void {
    this.#record.drainedMs = Math.max(this.#record.drainedMs ?? 0, ms);
    this.drains.delete(stream);
    if (--this.#draining === 0) this.#drained?.resolve();
  }
}
