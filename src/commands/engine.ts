/**
 * Configures V8 for serving: called by the owner of the process before anything is served. `bin/model-gateway.js` sets
 * the flags that V8 accepts only at its start.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { putBehind } from "../runtime/thread-priority.ts";

/** flags change V8's defaults. */
export const flags = [
  // Bodies are stored outside V8's heap. Without this flag every 64 MB of them triggers a full collection, even if
  // they are free again; with large requests, collections took more time than everything else.
  "--external-memory-accounted-in-global-limit",
  // If little garbage is created, as by streams at a model's pace, the heap's limit is a few megabytes above its
  // content. The chunks of two seconds fill that, and a full collection every two to four seconds delayed streams by
  // milliseconds. With these flags, marking starts when old objects take up this percentage of the room below the
  // limit.
  "--incremental-marking-soft-trigger=80",
  "--incremental-marking-hard-trigger=95",
] as const;

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
