/**
 * Gives back to the system what the C library keeps of freed memory.
 *
 * glibc gives back by itself only what is free at the end of its heap. Between what lives, tens of megabytes stay after large bodies or many
 * calls: half of what a process had at rest (docs/lab-log.md). A lower size from which on it maps a buffer by itself, as by
 * `MALLOC_MMAP_THRESHOLD_`, brought nothing at rest, and large bodies cost a quarter more.
 */
import type * as Ffi from "node:ffi";

/** trim is malloc_trim(3); undefined until it is looked for, null where there is none. */
let trim: (() => void) | null | undefined;

/**
 * trimHeap gives back all whole pages that are free, in a pause of some milliseconds for each hundred megabytes. It does nothing where the C
 * library is not glibc, or Node is older than 26, and cannot call it.
 */
export function trimHeap(): void {
  trim ??= findTrim();
  trim?.();
}

function findTrim(): (() => void) | null {
  if (process.platform !== "linux") return null;
  try {
    const c = loadFfi()?.dlopen(null, { malloc_trim: { arguments: ["u64"], return: "i32" } });
    return c ? () => void c.functions.malloc_trim(0n) : null;
  } catch {
    // Another C library, as in Alpine Linux, has no such function; and an operator may have forbidden calls of it.
    return null;
  }
}

/** loadFfi keeps back the warning that this module of Node's may change: without it memory comes back later, and nothing else differs. */
function loadFfi(): typeof Ffi | undefined {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule("node:ffi") as typeof Ffi | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}
