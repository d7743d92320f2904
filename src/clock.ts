/**
 * The clock of calls: it is looked at once in a turn of the event loop, which is over where immediates run. A call asks for the
 * time some fifteen times on its way (what that costs: docs/speed.md).
 *
 * What it tells is never older than a turn, and work within one takes no time by it. Who must know whether the process itself has
 * stood still looks at `Date.now`.
 */

/** Returns a clock that tells milliseconds since 1970. */
export function createTurnClock(): () => number {
  let now: number | undefined;
  const pass = () => {
    now = undefined;
  };
  return () => {
    if (now === undefined) {
      now = Date.now();
      // While an immediate is due the event loop does not sleep: no moment outlives the work at hand.
      setImmediate(pass);
    }
    return now;
  };
}
