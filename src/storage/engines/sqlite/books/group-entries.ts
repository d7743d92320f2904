/** Groups entries of a batch by what they ask of the tables. A hold that ends within the batch asks nothing of its own. */
import type { CaptureEntry, Entry, HoldEntry, ReleaseEntry } from "../../../money/books.ts";

export interface GroupedEntries {
  /** Holds of calls that still run. */
  readonly holds: readonly HoldEntry[];
  /** Calls that have released holds of their own. */
  readonly releases: readonly ReleaseEntry[];
  /** Calls that have ended. */
  readonly captures: readonly GroupedCapture[];
}

/** GroupedCapture says whether the call's hold is of the same batch: then it never had one of its own. */
export interface GroupedCapture extends CaptureEntry {
  readonly isOfBatch?: true;
}

export function groupEntries(entries: readonly Entry[]): GroupedEntries {
  const running = new Map<string, HoldEntry>();
  const releases: ReleaseEntry[] = [];
  const captures: GroupedCapture[] = [];
  for (const entry of entries) {
    if (entry.kind === "hold") running.set(entry.requestId, entry);
    else if (entry.kind === "free") {
      if (!running.delete(entry.requestId)) releases.push(entry);
    } else {
      const { id } = entry.call;
      const held = running.get(id);
      if (!held) captures.push(entry);
      else {
        running.delete(id);
        captures.push({ ...entry, isHeld: true, taken: held.taken, isOfBatch: true });
      }
    }
  }
  return { holds: [...running.values()], releases, captures };
}
