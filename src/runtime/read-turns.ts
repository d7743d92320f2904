/**
 * Bounds how many bytes of long bodies are read in one round of the event loop, whether they are kept or discarded. Writing to memory that
 * was not used before costs far more than copying, Node reads up to 2 MB of a connection at a time, and with many at once other work would
 * have to wait.
 */

/** Source is the connection that a long body arrives on. */
export interface Source {
  pause(): unknown;
}

/** A few milliseconds of work. */
const bytesARound = 2 ** 21;
/** sourcesARound is how many sources go on in a round: each may bring a read of 64 kB, of which the last one's is known only afterwards. */
const sourcesARound = bytesARound / 2 ** 16;

let taken = 0;
let isRoundEndAwaited = false;
/** waiting are those of paused sources, in the order in which they go on. */
let waiting: (() => void)[] = [];

/** Counts bytes that were read. Beyond the bound it pauses the source, and calls `resume` in a later round. */
export function readInTurns(source: Source, bytes: number, resume: () => void): void {
  taken += bytes;
  awaitRound();
  if (taken < bytesARound && waiting.length === 0) return;
  source.pause();
  waiting.push(resume);
}

function awaitRound(): void {
  if (isRoundEndAwaited) return;
  isRoundEndAwaited = true;
  setImmediate(beginRound);
}

/** Discarded is a stream that nobody reads. */
export interface Discarded extends Source {
  on(event: "data", listener: (bytes: Buffer) => void): unknown;
  resume(): unknown;
}

/** discardInTurns reads a stream to its end, in turns, and keeps nothing of it. */
export function discardInTurns(stream: Discarded): void {
  stream.on("data", (bytes) => readInTurns(stream, bytes.length, () => stream.resume()));
  stream.resume();
}

function beginRound(): void {
  taken = 0;
  isRoundEndAwaited = false;
  const next = waiting.slice(0, sourcesARound);
  waiting = waiting.slice(sourcesARound);
  for (const resume of next) resume();
  if (waiting.length > 0) awaitRound();
}
