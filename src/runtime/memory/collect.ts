/** Collects garbage when it is asked to. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

interface Collection {
  readonly type: "major";
  readonly flavor: "regular" | "last-resort";
}

let gc: ((collection: Collection) => void) | undefined;

/** collectOnce collects what is garbage, in a pause of a tenth of a second or so. */
export function collectOnce(): void {
  collect("regular");
}

/** collectAll collects all that is garbage, in two such pauses or more. V8 shrinks what it keeps for young objects only like this. */
export function collectAll(): void {
  collect("last-resort");
}

function collect(flavor: Collection["flavor"]): void {
  setFlagsFromString("--expose-gc");
  gc ??= runInNewContext("gc") as typeof gc;
  gc?.({ type: "major", flavor });
}
