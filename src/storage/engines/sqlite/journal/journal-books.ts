/**
 * Books that write what leases cover into a journal beside the database: an accelerator. `books/books.ts` keeps the same contract
 * without it.
 *
 * A record is durable once its line is appended, at the price of one write; it is applied a tenth of a second later, with all others,
 * or before anybody else reads or writes. If this process dies, another applies it (`recover.ts`). The database knows of the journal
 * from before its first line until its end, so that one that is missing is missed.
 */
import { firstSum } from "../../../journal/chain.ts";
import { lineOf } from "../../../journal/records.ts";
import type { BooksOptions, JournalRecord } from "../../../money/books.ts";
import { createBooks, type Hooks, type SqliteBooks } from "../books/books.ts";
import type { BooksParts } from "../books/parts.ts";

/** maxPending is how many entries may stay unapplied. */
const maxPending = 1024;

export function createJournalBooks(parts: BooksParts, options: BooksOptions): SqliteBooks {
  const { segments } = parts.engine;
  const { node, clock, onError } = options;
  const journal = createJournal(parts, options);
  const books = createBooks(parts, options, journal);

  return {
    ...books,
    write(record) {
      // The first record where no lease is, and each where the file could not be made, is applied at once.
      if (!journal.isOpen()) return books.write(record);
      journal.append(record);
      if (journal.count() >= maxPending) books.tryToPost();
      else books.postLater();
    },
    apply: (accountId) => journal.hasCallsOf(accountId) && books.tryToPost(),
    renew() {
      tried(() => segments.renew(node, clock()), onError);
      return books.renew();
    },
    async close() {
      await books.close();
      tried(journal.end, onError);
    },
  };
}

interface Journal extends Hooks {
  /** isOpen says that the database knows of the journal: then lines may be appended. */
  isOpen(): boolean;
  append(record: JournalRecord): void;
  /** Returns how many entries are not applied. */
  count(): number;
  hasCallsOf(accountId: string): boolean;
  /** Removes the journal, if all of it is applied. */
  end(): void;
}

function createJournal({ engine, rows }: BooksParts, { node, clock, onError, isElsewhere }: BooksOptions): Journal {
  const { segments } = engine;
  let state: "none" | "begun" | "open" = "none";
  let pending: JournalRecord[] = [];
  let entries = 0;
  /** The last record that is applied. */
  let applied = 0;
  /** The sum of the last line. */
  let lastSum: string | undefined;
  const accounts = new Set<string>();

  /** Within the transaction: begins the journal, for there is more to come. */
  function begin(): void {
    // The file comes first: a journal that the database knows of is there.
    if (state === "none" && tried(() => segments.open(node, rows.database(), clock()), onError)) state = "begun";
    if (state === "begun") rows.begin(node, firstSum(rows.database(), node));
  }

  return {
    isOpen: () => state === "open",
    leased: begin,
    append(record) {
      // Whoever read the sums meanwhile has had it applied.
      if (record.seq <= applied) return;
      lastSum = segments.append(node, lineOf(record), record.seq, record.at);
      pending.push(record);
      entries += record.entries.length;
      for (const entry of record.entries) if (entry.kind === "settle") accounts.add(entry.call.account_id);
    },
    count: () => entries,
    hasCallsOf: (accountId) => accounts.has(accountId),
    pending: () => pending,
    take(records) {
      if (state !== "open") begin();
      const row = rows.find(node);
      // Others have removed the journal of a process that was still for long. It was posted, and has begun again.
      if (!row?.isOpen && state === "open" && tried(() => segments.renew(node, clock()), onError))
        rows.begin(node, lastSum ?? firstSum(rows.database(), node));
      const posted = row?.posted ?? 0;
      const last = records.at(-1);
      if (last && last.seq > posted) rows.advance(node, last.seq, lastSum);
      return records.filter(({ seq }) => seq > posted && seq > applied);
    },
    committed(records) {
      if (state === "begun") state = "open";
      if (records.length === 0) return;
      applied = Math.max(applied, records.at(-1)?.seq ?? 0);
      pending = [];
      entries = 0;
      accounts.clear();
      if (state === "open") tried(() => segments.trim(node), onError);
    },
    end() {
      if (pending.length === 0 && state !== "none") endJournal(node, isElsewhere, { engine, rows });
    },
  };
}

/** endJournal removes a journal of which all is applied. */
function endJournal(
  node: string,
  isElsewhere: boolean | undefined,
  { engine, rows }: Pick<BooksParts, "engine" | "rows">,
): void {
  engine.books.transact(() => rows.end(node));
  engine.segments.remove(node);
  // Else a ledger of another process may bring a record again, to other books: for a day the row says what is applied.
  if (!isElsewhere) engine.books.transact(() => rows.forget(node));
}

/** tried returns false where it failed. */
function tried(work: () => void, onError: (error: unknown) => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    onError(error);
    return false;
  }
}
