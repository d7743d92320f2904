/**
 * Tells whether another process still answers. A machine that slept has all answers late at once: so what counts is how often one was
 * missed, and not for how long.
 */

/** pingMs is how often a process is asked, in milliseconds, and how often in a row it may not answer. */
export const pingMs = 5_000;
const maxMissed = 6;

/** createPings returns a function that asks, and reports whether enough of what it asked before was answered. */
export function createPings(ask: () => PromiseLike<unknown>): () => boolean {
  let missed = 0;
  const answered = () => {
    missed = 0;
  };
  return () => {
    missed++;
    ask().then(answered, () => {});
    return missed <= maxMissed;
  };
}
