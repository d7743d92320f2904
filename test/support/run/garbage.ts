/** Collects garbage, for a test of what is held in memory: what is dead there, of other tests too, is of any size. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Collects in full, as often as makes what lives old. */
export function collectGarbage(): void {
  for (let i = 0; i < 3; i++) collect();
}

/** Returns the memory that is in use once the garbage is collected. What one collection finds is given back while the next runs. */
export async function heldMemory(): Promise<NodeJS.MemoryUsage> {
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise(setImmediate);
  }
  return process.memoryUsage();
}
