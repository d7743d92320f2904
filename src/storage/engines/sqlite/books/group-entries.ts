/** Groups entries of a batch by what they ask of the tables. A hold that ends within the batch asks nothing of its own. */
import type { CaptureEntry, Entry, HoldEntry, ReleaseEntry, Taken } from "../../../money/books.ts";
import type { LedgerStatements } from "./statements.ts";

export interface GroupedEntries {
  /** Holds of calls that still run. */
  readonly holds: readonly HoldEntry[];
  /** Calls that have released holds of their own. */
  readonly releases: readonly ReleaseEntry[];
  /** Calls that have ended. */
  readonly captures: readonly GroupedCapture[];
}

/** OwnHold is a hold of its own that a call had, and has no longer. */
export type OwnHold = NonNullable<ReturnType<LedgerStatements["deleteHold"]["get"]>>;

/** GroupedCapture is a call that has ended. There are many of them: none is copied. */
export interface GroupedCapture {
  readonly entry: CaptureEntry;
  /** The lease that its hold was taken from; undefined for none. */
  readonly taken: Taken | undefined;
  /** isOfBatch says that its hold is of the same batch: then it never had one of its own. */
  readonly isOfBatch: boolean;
  /** Set when its own hold is ended. */
  own: OwnHold | undefined;
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
      const held = running.get(entry.call.id);
      if (held) running.delete(entry.call.id);
      captures.push({ entry, taken: (held ?? entry).taken, isOfBatch: held !== undefined, own: undefined });
    }
  }
  return { holds: [...running.values()], releases, captures };
}
