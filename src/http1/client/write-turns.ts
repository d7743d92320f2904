/**
 * Bounds how many bytes of long bodies are written in one turn of the event loop, over all connections. The system takes megabytes of each
 * at once, and when many bodies are whole in one turn other work would have to wait for all of them to be copied.
 */
import { type Body, byteLength } from "../write-message.ts";

/** bytesATurn is how much is written in a turn: a few milliseconds of work. */
const bytesATurn = 2 ** 22;
/** longBody is the length, in bytes, below which a body never waits. */
const longBody = 2 ** 16;

/** taken is how many bytes were written in this turn. */
let taken = 0;

/**
 * mayWriteNow reports whether a body may be written in this turn, and counts it if so. Where it may not, the caller asks again in a later turn: by
 * `setImmediate`, or at the turn's end.
 */
export function mayWriteNow(body: Body | undefined): boolean {
  const bytes = body === undefined ? 0 : byteLength(body);
  if (bytes < longBody) return true;
  if (taken >= bytesATurn) return false;
  if (taken === 0) setImmediate(endTurn);
  taken += bytes;
  return true;
}

function endTurn(): void {
  taken = 0;
}
