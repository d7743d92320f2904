/** How the engine is set where it serves: by whoever owns the process, before anything is served. */
import { readdirSync, readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { putBehind } from "../background.ts";

/**
 * Bodies are kept outside of the engine's heap. Unless they count for when it is collected, each 64 MB of them have all of it
 * looked through, whether they are free again or not: with large requests that took more time than everything else.
 */
const countBodies = "--external-memory-accounted-in-global-limit";

export function setEngine(): void {
  setFlagsFromString(countBodies);
  putWorkersBehind();
}

/** What Node calls the threads that collect and compile; the names are cut to fifteen characters. */
const worker = /^node-V8Worker/;

/** Each of their turns, of some milliseconds, would keep every stream waiting. */
function putWorkersBehind(): void {
  const folder = "/proc/self/task";
  try {
    for (const thread of readdirSync(folder)) {
      if (worker.test(readFileSync(`${folder}/${thread}/comm`, "utf8"))) putBehind(Number(thread));
    }
  } catch {
    // Only Linux lists them, and a container may hide them: they take their turns as before.
  }
}
