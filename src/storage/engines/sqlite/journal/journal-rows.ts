/** Keeps what the database knows of journals: how far each is posted, whether it has ended, and what could not be written. */
import type { JournalRow } from "../../../journal/check.ts";
import type { Entry } from "../../../money/books.ts";
import type { Connection } from "../../engine.ts";

export interface JournalRows {
  /** Names this database, so that another's journal is known. */
  database(): string;
  find(node: string): JournalRow | undefined;
  /** Returns the rows of all journals that have not ended. */
  open(): JournalRow[];
  /** begin says that a journal has begun. */
  begin(node: string, sum: string): void;
  /** Marks records as posted. `sum` is that of the last line of the file among them; undefined where none is in it. */
  advance(node: string, seq: number, sum: string | undefined): void;
  /** end says that a journal has ended: from now on its file need not be there. */
  end(node: string): void;
  /** Forgets a journal whose file is gone. */
  forget(node: string): void;
  /** Forgets journals that have ended, of processes whose ids are before this one. */
  forgetEnded(before: string): void;
  /** Keeps entries that cannot be written for an operator to look at. They are not tried again; `reconcile` reports them. */
  setAside(node: string, seq: number, at: number, entries: readonly Entry[]): void;
}

interface Row {
  readonly node: string;
  readonly posted: number;
  readonly sum: string | null;
  readonly is_open: number;
}

export function createJournalRows(books: Connection): JournalRows {
  const selectDatabase = books.prepare<[], { id: string }>("SELECT id FROM database_identity");
  const columns = "SELECT node, posted, sum, is_open FROM journals";
  const select = books.prepare<[node: string], Row>(`${columns} WHERE node = ?`);
  const selectOpen = books.prepare<[], Row>(`${columns} WHERE is_open = 1`);
  const begin = books.prepare<[node: string, sum: string]>(
    "INSERT INTO journals (node, posted, sum, is_open) VALUES (?, 0, ?, 1) ON CONFLICT (node) DO UPDATE SET is_open = 1",
  );
  const advance = books.prepare<[node: string, posted: number, sum: string | null]>(
    `INSERT INTO journals (node, posted, sum) VALUES (?, ?, ?)
     ON CONFLICT (node) DO UPDATE SET posted = excluded.posted, sum = coalesce(excluded.sum, sum)
       WHERE posted < excluded.posted`,
  );
  const end = books.prepare<[node: string]>("UPDATE journals SET is_open = 0 WHERE node = ?");
  const forget = books.prepare<[node: string]>("DELETE FROM journals WHERE node = ?");
  const ended = "is_open = 0 AND node < ?";
  const anyEnded = books.prepare<[before: string], unknown>(`SELECT 1 FROM journals WHERE ${ended} LIMIT 1`);
  const forgetEnded = books.prepare<[before: string]>(`DELETE FROM journals WHERE ${ended}`);
  const insertAside = books.prepare<[node: string, seq: number, at: number, body: string]>(
    "INSERT INTO set_aside (node, seq, created_at, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  let database: string | undefined;
  return {
    database: () => (database ??= selectDatabase.get()?.id ?? ""),
    find: (node) => rowOf(select.get(node)),
    open: () => selectOpen.all().flatMap((row) => rowOf(row) ?? []),
    begin: (node, sum) => void begin.run(node, sum),
    advance: (node, seq, sum) => void advance.run(node, seq, sum ?? null),
    end: (node) => void end.run(node),
    forget: (node) => void forget.run(node),
    forgetEnded(before) {
      if (anyEnded.get(before)) forgetEnded.run(before);
    },
    setAside: (node, seq, at, entries) => void insertAside.run(node, seq, at, JSON.stringify(entries)),
  };
}

function rowOf(row: Row | undefined): JournalRow | undefined {
  return row && { node: row.node, posted: row.posted, sum: row.sum, isOpen: row.is_open === 1 };
}
