/** Waits for a server for so long as it could have been heard (`runtime/ipc/silence.ts`). */
import { AwayError } from "./errors.ts";

/** The time between two looks, in milliseconds. */
const lookMs = 50;

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
