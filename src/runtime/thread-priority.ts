/** Puts threads that nobody waits for behind the one that answers: where all are held to one core they would take turns with it. */
import { constants, getPriority, setPriority } from "node:os";

/** A tenth of what the main thread gets where both want the same core: less, and what is compiled comes too late. */
const behind = 10;

/** The thread that calls, or one of its process by its number. Only on Linux has a thread a priority of its own. */
export function putBehind(thread = 0): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(thread, Math.min(getPriority() + behind, constants.priority.PRIORITY_LOW));
  } catch {
    // Where a container forbids it, it takes its turns as before.
  }
}
