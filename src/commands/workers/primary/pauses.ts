/** Says how long a process that ended waits before it is started again: not at all, unless it keeps ending soon after its start. */

/** A process that lived for longer, in milliseconds, has started well. */
const wellMs = 10_000;
const firstPauseMs = 500;

/**
 * createPauses returns a function that is called at each end, with how long the process lived, and returns the pause in milliseconds,
 * `maxPauseMs` at most.
 */
export function createPauses(maxPauseMs = 30_000): (livedMs: number) => number {
  let ends = 0;
  return (livedMs) => {
    ends = livedMs >= wellMs ? 1 : ends + 1;
    return ends === 1 ? 0 : Math.min(maxPauseMs, firstPauseMs * 2 ** (ends - 2));
  };
}
