/**
 * Long bodies are read in turns: of all that come at once no more is taken in a turn of the event loop than a bound. To put bytes
 * into memory that nobody has touched yet costs far more than to copy them, and with many bodies nobody else would have a turn.
 */

/** What brings a long body. */
export interface Source {
  pause(): unknown;
}

/** In bytes: some milliseconds of work. */
const bytesATurn = 2 ** 21;

let taken = 0;
let isTurnEndAwaited = false;
let waiting: (() => void)[] = [];

/** Counts what was taken, and stops the source where that is enough for this turn. Calls `goOn` in the next one then. */
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
