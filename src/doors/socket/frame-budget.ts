/**
 * Counts the frames of a WebSocket that ask for nothing: pings, pongs, receipts. Each costs the gateway as much as its sender, and a
 * client needs a few in a minute. They have a budget that refills.
 */

/** burst is how many frames may come at once. */
const burst = 100;
/** framesPerSecond is how many are added to the budget each second. */
const framesPerSecond = 10;

export class FrameBudget {
  #left = burst;
  #countedAt = performance.now();

  /** Takes a frame from the budget. Returns false where none is left. */
  take(): boolean {
    const now = performance.now();
    this.#left = Math.min(burst, this.#left + ((now - this.#countedAt) / 1000) * framesPerSecond);
    this.#countedAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
