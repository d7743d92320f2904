/**
 * Bounds what is read of long bodies in one turn of the event loop, over all bodies together. Writing to memory for the first time
 * costs far more than copying; with many long bodies nothing else would run.
 */

/** Where a long body comes from. */
export interface Source {
  pause(): unknown;
}

/** Some milliseconds of work, in bytes. */
const bytesATurn = 2 ** 21;

let taken = 0;
let isTurnEndAwaited = false;
let waiting: (() => void)[] = [];

/** Counts bytes that were read. Pauses the source if the turn has read enough, and then calls `goOn` in the next turn. */
export function readInTurns(source: Source, bytes: number, goOn: () => void): void {
  taken += bytes;
  if (!isTurnEndAwaited) {
    isTurnEndAwaited = true;
    setImmediate(beginTurn);
  }
  if (taken < bytesATurn) return;
  source.pause();
  waiting.push(goOn);
}

function beginTurn(): void {
  taken = 0;
  isTurnEndAwaited = false;
  const stopped = waiting;
  waiting = [];
  for (const goOn of stopped) goOn();
}
