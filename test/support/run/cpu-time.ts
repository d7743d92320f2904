/** Measures work by the CPU that it takes. The clock has no part in it: a busy machine lets each thread wait for a core as it likes. */

/** The most measurements of one work: what the host does meanwhile to a thread that runs is counted as its CPU. */
const mostTries = 3;

/**
 * Does the work, and returns this thread's share of the CPU that the process used meanwhile, from 0 to 1. Where it was half or more, the work
 * is done again, and the least share returned.
 */
export async function shareOfThisThread(work: () => Promise<unknown>): Promise<number> {
  let least = 1;
  for (let tries = 0; tries < mostTries && least >= 0.5; tries++) least = Math.min(least, await shareOnce(work));
  return least;
}

async function shareOnce(work: () => Promise<unknown>): Promise<number> {
  const [ofAll, ofThis] = [process.cpuUsage(), process.threadCpuUsage()];
  await work();
  const [all, here] = [process.cpuUsage(ofAll), process.threadCpuUsage(ofThis)];
  return (here.user + here.system) / (all.user + all.system);
}

/** Does the work, and returns how many milliseconds of a core the process used meanwhile, on all of its threads. */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
