/**
 * Measures for how long another process, as a server, has not answered, by the time in which this process could have heard it. A process whose event loop
 * stalls, because it compiles or the machine is busy, hears nothing meanwhile, and the other is not at fault: a stall counts as one
 * short look, and what came during it is heard before the next one.
 */

/** The time between two looks, and the most that one counts; in milliseconds. */
const [lookMs, mostMs] = [50, 100];

export interface Silence {
  /** heard says that the other has answered. */
  heard(): void;
  /** Counts the time since the look before. */
  look(): void;
  /** Returns for how long the other has been silent, as of the last look; in milliseconds. */
  ms(): number;
}

/** createSilence measures for how long nothing was heard. `clock` is in milliseconds, and never goes back. */
export function createSilence(clock: () => number = () => performance.now()): Silence {
  let [silentMs, lookedAt] = [0, clock()];
  return {
    heard() {
      [silentMs, lookedAt] = [0, clock()];
    },
    look() {
      const now = clock();
      silentMs += Math.min(now - lookedAt, mostMs);
      lookedAt = now;
    },
    ms: () => silentMs,
  };
}

/** startLooking has a silence looked at again and again, until the returned function is called. */
export function startLooking(silence: Pick<Silence, "look">): () => void {
  const timer = setInterval(silence.look, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}
