/**
 * The clock of calls: all that follows at once from one read of a connection happens at one moment. A call asks for the time
 * some fifteen times on its way (what that costs: docs/speed.md), and mostly while its request or its answer is read.
 *
 * Outside of a read it is the machine's own. Within one it is behind by what has been done since the read began.
 */

let isReading = false;
/** When the time was first asked for in this read. */
let moment: number | undefined;

/** Tells milliseconds since 1970. */
export function readClock(): number {
  if (!isReading) return Date.now();
  moment ??= Date.now();
  return moment;
}

/** Returns what takes a read, of so many bytes, so that all of it happens at one moment. */
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
