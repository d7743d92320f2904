/**
 * The store of the ledger's journal: records in files beside the database (`segments.ts`), one line each (`records.ts`), and in
 * the database how far each process's records are posted.
 */
import type { Connection } from "../engines/engine.ts";
import type { JournalRecord, JournalRecords, JournalStore, RejectedLine } from "./contract.ts";
import { lineOf, readLine } from "./records.ts";
import type { NumberedLine, Segments } from "./segments.ts";

export function journalStore(books: Connection, segments: Segments): JournalStore {
  const selectPosted = books.prepare<[node: string], { posted: number }>("SELECT posted FROM journals WHERE node = ?");
  const setPosted = books.prepare<[node: string, posted: number]>(
    `INSERT INTO journals (node, posted) VALUES (?, ?)
     ON CONFLICT (node) DO UPDATE SET posted = max(posted, excluded.posted)`,
  );
  const deleteJournal = books.prepare<[node: string]>("DELETE FROM journals WHERE node = ?");
  const insertAside = books.prepare<[node: string, seq: number, at: number, body: string]>(
    "INSERT INTO set_aside (node, seq, created_at, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const remove = (node: string) => {
    segments.remove(node);
    deleteJournal.run(node);
  };
  const postedOf = (node: string) => selectPosted.get(node)?.posted ?? 0;
  let rejectedLines = 0;
  return {
    posted: postedOf,
    append: (node, record) => segments.append(node, lineOf(record)),
    advance(node, seq) {
      const before = postedOf(node);
      if (seq > before) setPosted.run(node, seq);
      return before;
    },
    trim: (node) => segments.trim(node),
    nodes: () => segments.nodes(),
    recordsOf: (node) => recordsIn(segments.lines(node)),
    reject(node, lines) {
      const texts = lines.map(({ line, reason, text }) => JSON.stringify({ line, reason, text }));
      const count = segments.reject(node, texts);
      rejectedLines += count;
      return count;
    },
    rejected: () => segments.nodesRejected().map((node) => ({ node, lines: segments.rejected(node).map(asRejected) })),
    rejectedLines: () => rejectedLines,
    renew: (node) => segments.renew(node),
    remove,
    removeAbandoned(node) {
      if (segments.isAbandoned(node)) remove(node);
    },
    setAside: (node, seq, at, entries) => void insertAside.run(node, seq, at, JSON.stringify(entries)),
  };
}

function recordsIn(lines: readonly NumberedLine[]): JournalRecords {
  const records: JournalRecord[] = [];
  const rejected: RejectedLine[] = [];
  for (const [i, { number: line, text }] of lines.entries()) {
    const read = readLine(text);
    if (read.kind === "record") records.push(read.record);
    else if (read.kind === "other") rejected.push({ line, text, reason: read.reason, seq: read.seq });
    // No caller was told of a charge in a torn last line.
    else if (i < lines.length - 1) rejected.push({ line, text, reason: "it is torn", seq: undefined });
  }
  return { records, rejected };
}

/** Reads a line of the file of rejected lines, which an operator may have edited. */
function asRejected(line: string): RejectedLine {
  const whole = { line: 0, reason: "it was changed by hand", text: line, seq: undefined };
  try {
    return { ...whole, ...(JSON.parse(line) as object) };
  } catch {
    return whole;
  }
}
