/** Tries something again until it succeeds. */
import { setTimeout as delay } from "node:timers/promises";

/** Pauses between tries, in milliseconds: each is twice as long as the one before, up to the longest. */
export interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
  /** holdsProcess is whether a pause keeps the process alive. Default: it does. */
  readonly holdsProcess?: boolean;
}

/** FailedTry is a try that has failed after `triedMs`, and the pause before the next one, in milliseconds. */
interface FailedTry {
  readonly error: unknown;
  readonly triedMs: number;
  readonly pauseMs: number;
}

/** retry resolves to what a try resolves to. `onFailure` hears of each failure before the pause; by throwing it ends the tries. */
export async function retry<T>(
  attempt: () => Promise<T>,
  { firstMs, longestMs, holdsProcess = true }: Pauses,
  onFailure: (failed: FailedTry) => void,
): Promise<T> {
  for (let pauseMs = firstMs; ; pauseMs = Math.min(2 * pauseMs, longestMs)) {
    const begunAt = performance.now();
    try {
      return await attempt();
    } catch (error) {
      onFailure({ error, triedMs: performance.now() - begunAt, pauseMs });
    }
    await delay(pauseMs, undefined, { ref: holdsProcess });
  }
}
