/** The options of the engine, V8, that the gateway runs with: some of them hold only from the start of the process. */

/** flags may be set while the process runs. */
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

/** Returns the options of the executable, which has them inside. */
export function executableOptions(): readonly string[] {
  return ["--no-warnings", ...flags];
}
