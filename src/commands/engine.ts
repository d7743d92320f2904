/** How the engine is set where it serves: by whoever owns the process, before anything is served. */
import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";

/**
 * Bodies are kept outside of the engine's heap. Unless they count for when it is collected, each 64 MB of them have all of it
 * looked through, whether they are free again or not: with large requests that took more time than everything else.
 */
const countBodies = "--external-memory-accounted-in-global-limit";

export function setEngine(): void {
  setFlagsFromString(countBodies);
  if (process.platform === "linux") putBehind();
}

/** What Node calls the threads that collect and compile; the names are cut to fifteen characters. */
const worker = /^node-V8Worker/;
/** A tenth of what the main thread gets where both want the same core: less, and what is compiled comes too late. */
const behind = 10;

/**
 * Puts the threads that collect and compile behind the one that answers. Where all are held to one core they would take turns
 * with it, and each turn, of some milliseconds, keeps every stream waiting. On Linux a thread has a priority of its own.
 */
function putBehind(): void {
  const folder = "/proc/self/task";
  const priority = Math.min(getPriority() + behind, constants.priority.PRIORITY_LOW);
  try {
    for (const thread of readdirSync(folder)) {
      if (worker.test(readFileSync(`${folder}/${thread}/comm`, "utf8"))) setPriority(Number(thread), priority);
    }
  } catch {
    // Where a container hides them, or forbids it, they take their turns as before.
  }
}
