/**
 * Measures for how long a server has not answered, by the time in which this process could have heard it. A process whose event loop
 * stalls, because it compiles or the machine is busy, hears nothing meanwhile, and the server is not at fault: a stall counts as one
 * short look, and what came during it is heard before the next one.
 */
import { AwayError } from "./errors.ts";

/** The time between two looks, and the most that one counts; in milliseconds. */
const [lookMs, mostMs] = [50, 100];

export interface Silence {
  /** Says that the server has answered. */
  heard(): void;
  /** Counts the time since the look before. */
  look(): void;
  /** Returns for how long the server has been silent, as of the last look; in milliseconds. */
  ms(): number;
}

/** `clock` is in milliseconds, and never goes back. */
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

/** Looks again and again, until the returned function is called. */
export function startLooking(silence: Pick<Silence, "look">): () => void {
  const timer = setInterval(silence.look, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * within rejects with an AwayError where a promise takes longer than so many milliseconds, in which it could have been heard; sooner where
 * `isAway` reports that the server does not answer anybody.
 */
export async function within<T>(promise: Promise<T>, ms: number, isAway: () => boolean = () => false): Promise<T> {
  const timer = Promise.withResolvers<never>();
  let timeout: NodeJS.Timeout | undefined;
  const wait = (leftMs: number) => {
    const partMs = Math.min(leftMs, lookMs);
    const look = () => (leftMs > partMs && !isAway() ? wait(leftMs - partMs) : timer.reject(new AwayError()));
    timeout = setTimeout(look, partMs);
  };
  wait(Math.max(0, ms));
  try {
    return await Promise.race([promise, timer.promise]);
  } finally {
    clearTimeout(timeout);
  }
}
