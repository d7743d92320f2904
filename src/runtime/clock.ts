/**
 * The clock of calls: everything that is done synchronously for one read of a connection happens at one moment. A call asks for
 * the time some fifteen times, mostly while its request or its answer is read (what that would cost: docs/speed.md).
 *
 * Outside of a read it is the system clock. Within a read it lags by the time since the read first asked.
 */

let isReading = false;
/** The time at which this read first asked. */
let moment: number | undefined;

/** Returns milliseconds since 1970. */
export function readClock(): number {
  if (!isReading) return Date.now();
  moment ??= Date.now();
  return moment;
}

/** Wraps the function that handles a read of so many bytes, so that all it does happens at one moment. */
export function inOneMoment(take: (length: number) => void): (length: number) => void {
  return (length) => {
    isReading = true;
    moment = undefined;
    try {
      take(length);
    } finally {
      isReading = false;
    }
  };
}
