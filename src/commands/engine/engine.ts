/** Configures V8 for serving. */
import { readdirSync, readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { putBehind } from "../../runtime/thread-priority.ts";
import { flags } from "./options.ts";

/** setEngine is called when all that serves is loaded: what is loaded under these flags is compiled anew, Node's own modules too. */
export function setEngine(): void {
  for (const flag of flags) setFlagsFromString(flag);
  lowerWorkerPriority();
}

/**
 * worker matches the names of V8's threads that collect garbage and compile. Linux cuts names to fifteen characters.
 */
const worker = /^node-V8Worker/;

/**
 * lowerWorkerPriority lets streams run before V8's threads, whose turns of some milliseconds would delay every stream.
 */
function lowerWorkerPriority(): void {
  const folder = "/proc/self/task";
  try {
    for (const thread of readdirSync(folder)) {
      if (worker.test(readFileSync(`${folder}/${thread}/comm`, "utf8"))) putBehind(Number(thread));
    }
  } catch {
    // Only Linux lists threads, and a container may hide them: their priority stays.
  }
}
