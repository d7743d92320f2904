/**
 * How the engine is set where it serves: by whoever owns the process, before anything is served. What it takes only before it has
 * started is told it by `bin/model-gateway.js`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { putBehind } from "../runtime/thread-priority.ts";

/** What it is told that it would do otherwise. */
export const flags = [
  // Bodies are kept outside of the engine's heap. Unless they count for when it is collected, each 64 MB of them have all of it
  // looked through, whether they are free again or not: with large requests that took more time than everything else.
  "--external-memory-accounted-in-global-limit",
  // Where little is made, as by streams at a model's pace, the heap's limit stands a few megabytes above what is kept, which the
  // chunks of two seconds fill: all of it was looked through every two to four seconds, and each time streams waited for
  // milliseconds. So it begins when that much of the room below the limit is taken by what has grown old.
  "--incremental-marking-soft-trigger=80",
  "--incremental-marking-hard-trigger=95",
] as const;

export function setEngine(): void {
  for (const flag of flags) setFlagsFromString(flag);
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
