/** The options of V8 that the gateway runs with. Some hold only from the start of the process: `restart.ts` sees to these. */
import { memoryBytesHere } from "../../runtime/memory/machine-memory.ts";

/** flags are set once all is loaded (`setEngine`). */
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

/** Memory is how much the gateway may take to be fast. */
export type Memory = "small" | "large";

/**
 * youngMegabytes is how much V8 allocates before it collects its young objects. With V8's own size, a third of the large one, what a
 * thousand calls hold while they wait for their upstreams was copied twice and grew old, which caused full collections
 * (docs/speed.md).
 */
const youngMegabytes: Readonly<Record<Memory, number>> = { small: 8, large: 96 };

/**
 * leastYoungMegabytes is how much V8 allocates before its first collection: with its own megabyte a command is collected seven times while
 * it is loaded, and marked at its end; with 8 twice, which takes a tenth of its time; with 32 never. It is also where an idle gateway begins
 * again: with a megabyte, connections that come by the thousand wait for twice as long. What of it is not in use is given back. The most that
 * is young bounds it, where that is less.
 */
const leastYoungMegabytes = 32;

/** semiSpace is the option's name. */
export const semiSpace = "--max-semi-space-size";

export function youngOption(memory: Memory): string {
  return `${semiSpace}=${youngMegabytes[memory]}`;
}

/** roomyBytes is the memory from which on the gateway takes the large measure by itself. */
const roomyBytes = 4 * 2 ** 30;

/** memoryHere returns what suits the memory of this machine, or of its container. */
export function memoryHere(): Memory {
  return memoryBytesHere() >= roomyBytes ? "large" : "small";
}

/**
 * executableOptions returns the options inside the executable. The flags are not among them: with others than V8's own it takes no
 * compiled form of Node's modules, and compiling those anew takes a fifth of the time of a command.
 */
export function executableOptions(): readonly string[] {
  return ["--no-warnings", `--min-semi-space-size=${leastYoungMegabytes}`, youngOption("large")];
}
