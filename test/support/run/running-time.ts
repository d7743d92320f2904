/** Times what must not take long, on a machine that may do much else meanwhile. */

/** How long something took, in milliseconds. */
export interface Took {
  /** By the clock. */
  readonly ms: number;
  /** While this process ran: at most what the clock says, and less where the machine let the process wait for a core. */
  readonly runningMs: number;
}

/** lookMs is how often the clock is looked at. A look counts for no more: where more has gone by, the process was kept waiting. */
const lookMs = 10;

/** Times work in this process. What must be over within a time is compared with `runningMs`, what must last with `ms`. */
export async function timed<T>(work: () => Promise<T>): Promise<readonly [T, Took]> {
  const begunAt = performance.now();
  let looks = 0;
  const looking = setInterval(() => looks++, lookMs);
  try {
    const result = await work();
    return [result, { ms: performance.now() - begunAt, runningMs: looks * lookMs }];
  } finally {
    clearInterval(looking);
  }
}
