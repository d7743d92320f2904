/** Collects garbage when it is asked to. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

interface Collection {
  readonly type: "major";
  readonly flavor: "last-resort";
}

let gc: ((collection: Collection) => void) | undefined;

/**
 * Collects all that is garbage, in a pause of a tenth of a second or two. V8 shrinks what it keeps for young objects only in a collection of
 * the last resort.
 */
export function collectAll(): void {
  setFlagsFromString("--expose-gc");
  gc ??= runInNewContext("gc") as typeof gc;
  gc?.({ type: "major", flavor: "last-resort" });
}
