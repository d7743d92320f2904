/**
 * The clock of calls: it is looked at once in a turn of the event loop, and what comes together comes at one moment. A call
 * asks for the time some fifteen times on its way, which is a fortieth of all its work.
 *
 * What it tells is never older than a turn. Who must know whether the process itself has stood still looks at `Date.now`.
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
      // The event loop does not wait for anything before that.
      setImmediate(pass);
    }
    return now;
  };
}
