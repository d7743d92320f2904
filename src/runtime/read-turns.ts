/**
 * Bounds how many bytes of long bodies are read in one round of the event loop, whether they are kept or discarded. Writing to memory that
 * was not used before costs far more than copying, Node reads up to 2 MB of a connection at a time, and with many at once other work would
 * have to wait.
 */

/** Source is the connection that a long body arrives on. */
export interface Source {
  pause(): unknown;
}

/** bytesARound is the bound of a round: some milliseconds of work. */
const bytesARound = 2 ** 21;
/** bytesWhileAccepting is the bound of a round in which a connection was accepted: a fraction of a millisecond. */
const bytesWhileAccepting = 2 ** 17;
/** readBytes is how much a source that goes on brings at a time, as is known only afterwards. */
const readBytes = 2 ** 16;

let taken = 0;
let isRoundEndAwaited = false;
/** shortRounds is how many rounds are still short. */
let shortRounds = 0;
/** waiting are those of paused sources, in the order in which they go on. */
let waiting: (() => void)[] = [];

/** readInTurns counts bytes that were read. Beyond the bound it pauses the source, and calls `resume` in a later round. */
export function readInTurns(source: Source, bytes: number, resume: () => void): void {
  taken += bytes;
  awaitRound();
  if (taken < bytesNow() && waiting.length === 0) return;
  source.pause();
  waiting.push(resume);
}

/**
 * shortenRounds reports that a connection was accepted in this round. Node accepts one a round, however many wait: until none came in two
 * rounds, they are kept short.
 */
export function shortenRounds(): void {
  shortRounds = 2;
  awaitRound();
}

const bytesNow = () => (shortRounds > 0 ? bytesWhileAccepting : bytesARound);

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
  const sources = bytesNow() / readBytes;
  if (shortRounds > 0) shortRounds--;
  const next = waiting.slice(0, sources);
  waiting = waiting.slice(sources);
  for (const resume of next) resume();
  if (waiting.length > 0 || shortRounds > 0) awaitRound();
}
