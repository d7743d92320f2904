/**
 * The part of the proof that is beside the database: finds charges that are in a journal, and that no process has posted, and journals
 * that are lost, cut, altered or another's. The callers of such calls were told their cost, and are not charged yet.
 *
 * A process that lives posts its journal within moments: what is not posted, or looks wrong, is looked at again for as long as that may
 * take, and only what stays is reported. What was set aside is reported until an operator removes the file that has it.
 */
import { checkJournal, type FaultKind, type JournalRow, lostFault } from "../journal/check.ts";
import { createRejects, type Reject } from "../journal/rejects.ts";
import type { Segments } from "../journal/segments.ts";
import { type Finding, found } from "../proof/finding.ts";
import type { JournalRecord } from "./books.ts";

export interface ReconcileJournalOptions {
  readonly segments: Pick<Segments, "nodes" | "read" | "reject" | "rejected" | "nodesRejected">;
  /** rows are what the database knows of journals. */
  readonly rows: {
    database(): string;
    find(node: string): JournalRow | undefined;
    open(): readonly JournalRow[];
  };
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
}

/** A record that is older than this is posted, unless its process died or cannot write. */
const postedMs = 5_000;
/** minMs is how long to wait at least: the process's clock may differ. */
const minMs = 1_000;
const pauseMs = 100;

export async function reconcileJournal(options: ReconcileJournalOptions): Promise<Finding[]> {
  const { segments, rows, clock, pause } = options;
  const nodes = new Set([...segments.nodes(), ...rows.open().map(({ node }) => node)]);
  const findings: Finding[] = [];
  for (const node of nodes) {
    const from = clock();
    let looked = look(node, options);
    const until = Math.min(from + postedMs, Math.max(from + minMs, looked.at + postedMs));
    while (looked.findings.length > 0 && clock() < until) {
      await pause(pauseMs);
      looked = look(node, options);
    }
    findings.push(...looked.findings);
  }
  findings.push(
    ...createRejects(segments)
      .all()
      .flatMap(({ node, rejects }) => rejects.map((one) => rejected(node, one))),
  );
  // A line may be in the journal still, and set aside already.
  return [...new Map(findings.map((finding) => [finding.what, finding])).values()];
}

/** look returns what is wrong with a journal at this moment, and when its process gave the last sign of life. */
function look(
  node: string,
  { segments, rows }: ReconcileJournalOptions,
): { readonly findings: Finding[]; readonly at: number } {
  const row = rows.find(node);
  const checked = checkJournal(node, row, { segments, database: rows.database() });
  if (!checked) return { findings: row?.isOpen ? [faulty(node, lostFault)] : [], at: 0 };
  const { posted = 0 } = row ?? {};
  const records = checked.records.map(({ record }) => record).filter(({ seq }) => seq > posted);
  const lines = checked.rejected.filter(({ seq = posted + 1 }) => seq > posted);
  const faults = checked.faults.map((fault) => faulty(node, fault));
  return {
    findings: [...unposted(node, records), ...lines.map((line) => rejected(node, line)), ...faults],
    at: checked.at,
  };
}

function unposted(node: string, records: readonly JournalRecord[]): Finding[] {
  const calls = records.flatMap(({ entries }) =>
    entries.flatMap((entry) => (entry.kind === "settle" ? [entry.call] : [])),
  );
  if (calls.length === 0) return [];
  const derived = calls.reduce((sum, { cost }) => sum + cost, 0);
  return [
    found("journal_unposted", {
      what: `calls in the journal of ${node} that are not posted: ${calls.length}`,
      derived,
    }),
  ];
}

function rejected(node: string, { kind, line, reason }: Reject): Finding {
  if (kind !== undefined) return faulty(node, { kind, reason });
  const what = `line ${line} of the journal of ${node}, which is no record: ${reason}`;
  return found("journal_unreadable", { what });
}

function faulty(node: string, { kind, reason }: { readonly kind: FaultKind; readonly reason: string }): Finding {
  return found(`journal_${kind}`, { what: `the journal of ${node}: ${reason}` });
}
