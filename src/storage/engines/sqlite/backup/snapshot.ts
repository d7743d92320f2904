/**
 * Takes one state of a database and of the journal beside it, while any number of processes work on both.
 *
 * A caller is told of a charge once it is in the journal; later it is posted to the tables, and its line may go. So both are read
 * while this connection holds the lock for writing: nothing is posted meanwhile, and no line goes that is not. The lock is held for as
 * long as the lines are read, some milliseconds; calls that draw on leases, and reads, do not wait for it. The tables are copied
 * afterwards, by the transaction that began under the lock.
 *
 * So the state has every charge that a caller was told of before, in the tables or in a line, and never in both: lines that are posted in
 * it are left out.
 */
import { readLine } from "../../../journal/records.ts";
import { createSegments, journalFolder, type NumberedLine, type Segments } from "../../../journal/segments.ts";
import type { RawConnection } from "../database.ts";

/** JournalLine is a line of a file of the journal. */
export interface JournalLine {
  /** The file's name in the journal's folder. */
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/**
 * beginSnapshot begins to read on `reader`, and returns the lines of the journal that are not posted in what it reads. `writer` is another
 * connection to the same file. Throws SQLITE_BUSY where another process has held the lock for longer than `writer` waits.
 */
export function beginSnapshot(reader: RawConnection, writer: RawConnection): JournalLine[] {
  const segments = createSegments(journalFolder(reader.name), false);
  const { posted, files, others } = whileLocked(writer, () => {
    reader.exec("BEGIN");
    const files = segments.nodes().map((node) => ({ node, lines: segments.read(node)?.lines ?? [] }));
    return { posted: postedBy(reader), files, others: rejected(segments) };
  });
  const unposted = files.flatMap(({ node, lines }) => {
    const file = segments.fileOf(node);
    return unpostedOf(lines, posted.get(node) ?? 0).map(({ number: line, text }) => ({ file, line, text }));
  });
  return [...unposted, ...others];
}

function whileLocked<T>(writer: RawConnection, work: () => T): T {
  writer.exec("BEGIN IMMEDIATE");
  try {
    return work();
  } finally {
    writer.exec("ROLLBACK");
  }
}

/** postedBy reads how far each process's journal is posted. Versions before the journal have no such table. */
function postedBy(reader: RawConnection): ReadonlyMap<string, number> {
  const hasJournals = reader.prepare("SELECT 1 FROM sqlite_master WHERE name = 'journals'").get() !== undefined;
  if (!hasJournals) return new Map();
  const rows = reader.prepare<[], { node: string; posted: number }>("SELECT node, posted FROM journals").all();
  return new Map(rows.map(({ node, posted }) => [node, posted]));
}

function unpostedOf(lines: readonly NumberedLine[], posted: number): NumberedLine[] {
  return lines.filter(({ text }, i) => {
    const read = readLine(text);
    // It is being written, or its process died with it: no caller was told of a charge in it.
    if (read.kind === "torn" && i === lines.length - 1) return false;
    const seq = read.kind === "record" ? read.record.seq : read.kind === "other" ? read.seq : undefined;
    return seq === undefined || seq > posted;
  });
}

/** Lines that were set aside for an operator are kept as they are. */
function rejected(segments: Segments): JournalLine[] {
  return segments
    .nodesRejected()
    .flatMap((node) =>
      segments.rejected(node).map((text, i) => ({ file: segments.rejectedFileOf(node), line: i + 1, text })),
    );
}
