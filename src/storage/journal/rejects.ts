/**
 * Writes what of journals could not be posted into a file beside each, for an operator to look at and remove: lines that are no records,
 * and what became of a journal that is lost, cut or another's. `reconcile` reports them, and every back-up has them.
 */
import type { JournalFault, RejectedLine } from "./check.ts";
import type { Segments } from "./segments.ts";

/** Reject is a line of such a file: a line of the journal, or (with the line 0) a fault of the whole. */
export interface Reject extends Pick<RejectedLine, "line" | "reason" | "text"> {
  readonly kind?: JournalFault["kind"];
}

export interface Rejects {
  /** Adds lines and faults. Returns how many of them were not there before. */
  add(node: string, lines: readonly RejectedLine[], faults: readonly JournalFault[]): number;
  /** Returns what is in the files of all processes, also of those that have no journal any more. */
  all(): readonly { readonly node: string; readonly rejects: readonly Reject[] }[];
  /** Counts them. */
  count(): number;
}

export function createRejects(segments: Pick<Segments, "reject" | "rejected" | "nodesRejected">): Rejects {
  return {
    add(node, lines, faults) {
      const ofLines = lines.map(({ line, reason, text }) => JSON.stringify({ line, reason, text }));
      const ofFaults = faults.map(({ kind, reason }) => JSON.stringify({ line: 0, kind, reason, text: "" }));
      return segments.reject(node, [...ofLines, ...ofFaults]);
    },
    count: () => segments.nodesRejected().reduce((count, node) => count + segments.rejected(node).length, 0),
    all: () => segments.nodesRejected().map((node) => ({ node, rejects: segments.rejected(node).map(asReject) })),
  };
}

/** asReject reads a line of such a file, which an operator may have edited. */
function asReject(line: string): Reject {
  const whole = { line: 0, reason: "it was changed by hand", text: line };
  try {
    return { ...whole, ...(JSON.parse(line) as object) };
  } catch {
    return whole;
  }
}
