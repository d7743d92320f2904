/** Tells whose work it was: this thread's, or that of the process's other threads. */

/**
 * Does the work, and returns this thread's share of the CPU that the process used meanwhile, from 0 to 1. The clock has no
 * part in it: a busy machine lets each thread wait for a core as it likes.
 */
export async function shareOfThisThread(work: () => Promise<unknown>): Promise<number> {
  const [ofAll, ofThis] = [process.cpuUsage(), process.threadCpuUsage()];
  await work();
  const [all, here] = [process.cpuUsage(ofAll), process.threadCpuUsage(ofThis)];
  return (here.user + here.system) / (all.user + all.system);
}
