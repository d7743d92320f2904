/**
 * The part of the proof that is beside the database: finds charges that are in a journal, and that no process has posted. The
 * caller of such a call was told its cost, and is not charged yet.
 *
 * A process that lives posts its journal within moments: records that are not posted are looked at again for as long as that may
 * take, and only those that stay are reported. A line that is no record is reported until an operator removes the file of
 * rejected lines.
 */
import type { JournalRecord, JournalStore, RejectedLine } from "../journal/contract.ts";
import { type Finding, found } from "../proof/finding.ts";

export interface ReconcileJournalOptions {
  readonly journal: Pick<JournalStore, "nodes" | "recordsOf" | "posted" | "rejected">;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
}

/** A record that is older than this is posted, unless its process died or cannot write. */
const postedMs = 5_000;
/** How long to wait at least: the process's clock may differ. */
const minMs = 1_000;
const pauseMs = 100;

export async function reconcileJournal({ journal, clock, pause }: ReconcileJournalOptions): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const node of journal.nodes()) {
    const { records, rejected } = journal.recordsOf(node);
    const from = clock();
    const last = records.at(-1);
    const until = Math.min(from + postedMs, Math.max(from + minMs, (last?.at ?? 0) + postedMs));
    while (last && journal.posted(node) < last.seq && clock() < until) await pause(pauseMs);
    const posted = journal.posted(node);
    findings.push(
      ...unposted(
        node,
        records.filter(({ seq }) => seq > posted),
      ),
      ...rejected.filter(({ seq = posted + 1 }) => seq > posted).map((line) => unreadable(node, line)),
    );
  }
  findings.push(...journal.rejected().flatMap(({ node, lines }) => lines.map((line) => unreadable(node, line))));
  // A line may be in the journal still, and in the file of rejected lines already.
  return [...new Map(findings.map((finding) => [finding.what, finding])).values()];
}

function unposted(node: string, records: readonly JournalRecord[]): Finding[] {
  const calls = records.flatMap(({ entries }) =>
    entries.flatMap((entry) => (entry.kind === "settle" ? [entry.call] : [])),
  );
  if (calls.length === 0) return [];
  const derived = calls.reduce((sum, { cost }) => sum + cost, 0);
  return [
    found("journal_unposted", { what: `calls that are noted by ${node} and not written: ${calls.length}`, derived }),
  ];
}

function unreadable(node: string, { line, reason }: RejectedLine): Finding {
  return found("journal_unreadable", { what: `line ${line} of the notes of ${node}, which is no note: ${reason}` });
}
