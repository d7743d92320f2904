/** Times what must not take long, on a machine that may do much else meanwhile. */

/** How long something took, in milliseconds. */
export interface Took {
  /** By the clock. */
  readonly ms: number;
  /** While this process ran: at most what the clock says, and less where the machine let the process wait for a core. */
  readonly runningMs: number;
}

/** Who looks at the clock so often has been kept waiting where more than this has gone by: a look counts for no more. */
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
