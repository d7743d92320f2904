/**
 * The part of the proof that is beside the database: what processes have noted of calls, and nobody has written where it
 * belongs. Whoever was told what such a call cost is not charged yet.
 *
 * A process that lives writes what it has noted within moments: what is not written is looked at again for as long as that may
 * take, and only what stays is told. A line that is no note is told until somebody has removed the file that it was put into.
 */
import type { JournalRecord, JournalStore, RejectedLine } from "../journal/contract.ts";
import type { Difference } from "./reconcile.ts";

export interface ReconcileJournalOptions {
  readonly journal: Pick<JournalStore, "nodes" | "recordsOf" | "posted" | "rejected">;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
}

/** What is older than this is written, unless its process died or cannot write. */
const writtenMs = 5_000;
/** The clock of a process may be another. */
const leastMs = 1_000;
const pauseMs = 100;

export async function reconcileJournal({ journal, clock, pause }: ReconcileJournalOptions): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const node of journal.nodes()) {
    const { records, rejected } = journal.recordsOf(node);
    const from = clock();
    const last = records.at(-1);
    const until = Math.min(from + writtenMs, Math.max(from + leastMs, (last?.at ?? 0) + writtenMs));
    while (last && journal.posted(node) < last.seq && clock() < until) await pause(pauseMs);
    const posted = journal.posted(node);
    differences.push(
      ...unwritten(
        node,
        records.filter(({ seq }) => seq > posted),
      ),
      ...rejected.filter(({ seq = posted + 1 }) => seq > posted).map((line) => unreadable(node, line)),
    );
  }
  differences.push(...journal.rejected().flatMap(({ node, lines }) => lines.map((line) => unreadable(node, line))));
  // A line may be in the file of its process still, and in the other one already.
  return [...new Map(differences.map((difference) => [difference.what, difference])).values()];
}

function unwritten(node: string, notes: readonly JournalRecord[]): Difference[] {
  const calls = notes.flatMap(({ entries }) =>
    entries.flatMap((entry) => (entry.kind === "settle" ? [entry.call] : [])),
  );
  if (calls.length === 0) return [];
  const derived = calls.reduce((sum, { cost }) => sum + cost, 0);
  return [{ what: `calls that are noted by ${node} and not written: ${calls.length}`, written: 0, derived }];
}

function unreadable(node: string, { line, reason }: RejectedLine): Difference {
  return { what: `line ${line} of the notes of ${node}, which is no note: ${reason}`, written: 0, derived: 0 };
}
