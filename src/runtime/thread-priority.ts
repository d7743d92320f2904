/** Lowers the priority of background threads, so that on a single core they do not take turns with the thread that answers. */
import { constants, getPriority, setPriority } from "node:os";

/**
 * A nice value that leaves a thread a tenth of the main thread's share of a core. With less, the optimising compiler's own
 * threads would finish too late.
 */
const niceness = 10;

/**
 * putBehind lowers the priority of a thread. `thread` is its number within this process; 0: the caller's. Only Linux has priorities of
 * single threads.
 */
export function putBehind(thread = 0): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(thread, Math.min(getPriority() + niceness, constants.priority.PRIORITY_LOW));
  } catch {
    // A container may forbid it. Then the thread keeps its priority.
  }
}
