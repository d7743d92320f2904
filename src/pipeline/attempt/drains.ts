/**
 * Draining: after its caller has disconnected, a stream is read on to the usage that its upstream reports at the end, so that
 * disconnecting just before the bill is not free. Before the first content nothing is drained, and the upstream request is
 * aborted at once.
 *
 * Drained frames pass the meter and are discarded. Draining is bounded in time and in bytes; until it ends, the call keeps
 * its hold and its place in the upstream's queue. The reader of the frames is released at once, so that no response stays in
 * memory and no slow reader delays the upstream. Where no usage arrives in time, reasoning that was never sent is estimated
 * from the time before the first content.
 */

/** DrainedStream is a stream that can be drained. */
export interface DrainedStream {
  /** Stops draining, and aborts the upstream request. */
  cut(): void;
}

/** Drains are the streams of this process that are being drained. */
export interface Drains {
  /** Returns how many milliseconds a stream that begins now may be drained; 0: not at all. */
  lastsMs(): number;
  add(stream: DrainedStream): void;
  delete(stream: DrainedStream): void;
  count(): number;
  /** Takes bytes from the rate that all drains share. Returns a promise for when more may be read; undefined: at once. */
  paced(bytes: number): Promise<void> | undefined;
  /** Cuts all drains in `delayMs` milliseconds, later ones too. Resolves when none is left. */
  close(delayMs: number): Promise<void>;
}

/**
 * The rate of all drains together, in bytes a second, and how much of it may be used at once. A model generates some tens of
 * kilobytes a second; the bound keeps a client that disconnects from hundreds of faster streams from blocking the process.
 */
const bytesPerSecond = 8 * 1024 * 1024;
const burstBytes = 1024 * 1024;

/**
 * createDrains creates what reads streams on for callers that disconnected. `settings` returns how long a stream that begins now may be
 * drained.
 */
export function createDrains(settings: () => { readonly disconnectDrainMs: number }): Drains {
  const streams = new Set<DrainedStream>();
  let room = burstBytes;
  let roomAt = performance.now();
  let closesAt = Number.POSITIVE_INFINITY;
  let onNone = () => {};
  return {
    lastsMs: () => Math.max(0, Math.min(settings().disconnectDrainMs, closesAt - performance.now())),
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
    async close(delayMs) {
      closesAt = performance.now() + delayMs;
      if (streams.size === 0) return;
      const none = new Promise<void>((resolve) => (onNone = resolve));
      const deadline = setTimeout(() => {
        for (const stream of [...streams]) stream.cut();
      }, delayMs);
      await none;
      clearTimeout(deadline);
    },
  };
}
