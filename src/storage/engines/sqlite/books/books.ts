/**
 * Books over SQLite: what is asked is decided and written at once, one transaction a turn. `journal/journal-books.ts` keeps the same
 * contract, and writes what leases cover into a journal first.
 *
 * Another process's lock never blocks: what has to write waits by timers, in its order, and what only reads goes on.
 */
import { catchError } from "../../../../runtime/maybe-promise.ts";
import { isFault } from "../../../../runtime/write-trouble.ts";
import {
  type Books,
  type BooksOptions,
  type Decision,
  type Decisions,
  holdMs,
  type JournalRecord,
  type Recalled,
  sweepMs,
  type Turn,
} from "../../../money/books.ts";
import type { Engine } from "../../engine.ts";
import { createEndGone } from "../journal/end-gone.ts";
import { createRecover } from "../journal/recover.ts";
import { applyEach } from "./apply-each.ts";
import type { BooksParts } from "./parts.ts";
import { createTotalsMerger } from "./totals-merger.ts";
import { createWriteQueue, type WriteQueue } from "./write-queue.ts";

/** Hooks are how a journal takes part in every transaction. */
export interface Hooks {
  /** Returns records that are durable and not applied: they are applied before anything else. */
  pending(): readonly JournalRecord[];
  /** Within the transaction: returns those records that are not applied, and marks all as applied. */
  take(records: readonly JournalRecord[]): readonly JournalRecord[];
  /** Within the transaction: called when a lease was granted, on which records will draw. */
  leased(): void;
  /** Called when a transaction is committed, with the records that are applied for good. */
  committed(records: readonly JournalRecord[]): void;
}

export interface SqliteBooks extends Books {
  /** Applies pending records, and what is recalled. Throws SQLITE_BUSY where another process is writing. */
  post(recall: () => Recalled): void;
  /** Posts soon. */
  postLater(): void;
  /** Posts unless another process is writing, or it fails. Returns whether it did. */
  tryToPost(): boolean;
}

/** postMs is how long something durable may stay unapplied, in milliseconds. */
const postMs = 100;
const nothing: Recalled = { records: [], leases: [] };

/** createBooks creates the books of a file. Without hooks every record is applied when it is written. */
export function createBooks(
  parts: BooksParts,
  options: BooksOptions,
  hooks: Hooks = withoutJournal(parts, options),
): SqliteBooks {
  const { engine, statements, pendingTotals } = parts;
  const { onError } = options;
  const { books: connection, withoutWaiting, changes } = engine;
  const queue = createWriteQueue(withoutWaiting);
  const tryToWrite = (work: () => void) => withoutWaiting(() => connection.transact(work));
  const merger = createTotalsMerger({ pendingTotals, tryToWrite, onError });
  const posting = createPosting(parts, options, hooks);
  const posts = createPosts(posting, merger.start, parts, options);
  const { post, postLater } = posts;
  const stop = engine.beforeAccess({
    hasUnposted: posting.hasUnposted,
    flush() {
      if (posting.hasUnposted()) post(() => options.recall(""));
    },
  });

  return {
    ...posts,
    ...changes,
    mayLease: (keyId, isOfKey) => statements.mayLease.get(keyId, isOfKey ? 1 : 0) !== undefined,
    decide(next) {
      let turn: Turn | undefined;
      const recall = () => (turn ??= next());
      return queue.run(() => posting.transact(recall, (asked, each) => decideIn(asked, each, posting, parts, options)));
    },
    write: (record) => queue.run(() => post(() => ({ ...nothing, records: [record] }))),
    apply: () => false,
    touch(keyId, now) {
      posting.touched.set(keyId, now);
      postLater();
    },
    releaseLeases(leases) {
      const failed = (error: unknown) => {
        for (const id of leases) posting.unreleased.add(id);
        throw error;
      };
      return catchError(() => queue.run(() => post(() => ({ ...nothing, leases }))), failed);
    },
    ...createDeadlines(parts, options, queue),
    async close() {
      posts.stop();
      await queue.settled();
      stop();
      tried(() => post(() => options.recall("")), onError);
      merger.close();
    },
  };
}

/** createDeadlines moves on the deadlines of this process's holds and leases, and expires those of any that have passed. */
function createDeadlines(parts: BooksParts, options: BooksOptions, queue: WriteQueue): Pick<Books, "renew" | "expire"> {
  const { engine, statements, steps, own } = parts;
  const { node, clock } = options;
  const endGone = createEndGone(parts, options);
  const recover = createRecover(parts, options);
  return {
    renew: () =>
      queue.run(() => {
        const renewed = engine.books.transact(() => statements.renewHolds.run(clock() + holdMs, node));
        // Nothing was written: so this process would not learn that others cannot renew theirs.
        if (renewed === 0) engine.writable.probe();
      }),
    expire: () =>
      queue.run(() => {
        // A transaction that finds nothing to expire would pass on a full disk, too.
        if (engine.writable.wasAway() && !engine.writable.probe()) return 0;
        const living = endGone();
        const unreadable = recover(living);
        return engine.books.transact(() => {
          keepThroughTrouble(parts, clock());
          // One whose books are open here, or whose lock is kept, lives, though the clock was set forward, or the machine stood still.
          return steps.expire(clock(), [...unreadable, ...own, ...living]);
        });
      }),
  };
}

/** aheadMs is how long after a trouble processes have to move on their deadlines, in milliseconds: for longer than one sweep takes to come. */
const aheadMs = sweepMs + 10_000;

/**
 * keepThroughTrouble moves all deadlines on where the database could not be written before, within the transaction that expires some:
 * processes that live could not move on theirs meanwhile.
 */
function keepThroughTrouble({ engine: { books, writable }, statements }: BooksParts, now: number): void {
  if (!writable.wasAway()) return;
  statements.keepHolds.run(now + aheadMs, now + aheadMs);
  books.whenCommitted(writable.forget);
}

type Posts = Pick<SqliteBooks, "post" | "postLater" | "tryToPost"> & { stop(): void };

/** `onPosted` is called after each. */
function createPosts(
  { transact }: Posting,
  onPosted: () => void,
  { engine: { withoutWaiting } }: BooksParts,
  { onError }: BooksOptions,
): Posts {
  let timer: NodeJS.Timeout | undefined;

  function post(recall: () => Recalled): void {
    transact(recall, () => undefined);
    onPosted();
  }

  function tryToPost(): boolean {
    try {
      return withoutWaiting(() => post(() => nothing));
    } catch (error) {
      onError(error);
      return false;
    }
  }

  function postLater(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (!tryToPost()) postLater();
    }, postMs).unref();
  }

  return { post, tryToPost, postLater, stop: () => clearTimeout(timer) };
}

function tried(work: () => void, onError: (error: unknown) => void): void {
  try {
    work();
  } catch (error) {
    onError(error);
  }
}

/**
 * withoutJournal has records that no journal keeps applied where they are written. Of a ledger in another process, which may bring them
 * again to other books, the database knows how far they are applied.
 */
function withoutJournal({ rows }: BooksParts, { node, isElsewhere }: BooksOptions): Hooks {
  let applied = 0;
  return {
    pending: () => [],
    take(records) {
      const posted = isElsewhere ? (rows.find(node)?.posted ?? 0) : 0;
      const last = records.at(-1);
      if (isElsewhere && last && last.seq > posted) rows.advance(node, last.seq, undefined);
      return records.filter(({ seq }) => seq > posted && seq > applied);
    },
    leased: () => {},
    committed(records) {
      applied = Math.max(applied, records.at(-1)?.seq ?? 0);
    },
  };
}

/** Each runs the step of one item. An error of the step fails that item alone, or all items. */
type Each = <T>(step: () => T) => Decision<T>;

interface Posting {
  /**
   * Runs work in a transaction, after all that is recalled or pending is applied and the leases are released. `recall` is called once,
   * when the transaction has begun.
   */
  transact<R extends Recalled, T>(recall: () => R, work: (recalled: R, each: Each) => T): T;
  hasUnposted(): boolean;
  /** touched is when keys were used last that is not written. */
  readonly touched: Map<string, number>;
  /** unreleased are leases whose transaction failed or never began: they are given back with whatever is posted next. */
  readonly unreleased: Set<string>;
  /** leased says that a lease has a row from now on, until it is released. */
  leased(id: string): void;
}

function createPosting(parts: BooksParts, options: BooksOptions, hooks: Hooks): Posting {
  const { node, clock, onError } = options;
  const { engine, steps, statements } = parts;
  const { books: connection } = engine;
  const touched = new Map<string, number>();
  const leased = new Set<string>();
  const unreleased = new Set<string>();
  let seen = engine.version();

  function applyRecords(records: readonly JournalRecord[], isEach: boolean, mayStayPending: boolean): void {
    const expiresAt = clock() + holdMs;
    if (!isEach)
      parts.apply(
        records.flatMap(({ entries }) => entries),
        node,
        expiresAt,
        mayStayPending,
      );
    else applyEach({ records, node, expiresAt, onError }, parts);
  }

  function transact<R extends Recalled, T>(recall: () => R, work: (recalled: R, each: Each) => T): T {
    let recalled: R | undefined;
    let records: readonly JournalRecord[] = [];
    let version = seen;
    const attempt = (isEach: boolean) => {
      version = engine.version(true);
      recalled ??= recall();
      records = [...hooks.pending(), ...recalled.records];
      const unapplied = records.length > 0 ? hooks.take(records) : records;
      if (unapplied.length > 0) applyRecords(unapplied, isEach, version === seen);
      for (const id of unreleased) steps.release(id);
      for (const id of recalled.leases) steps.release(id);
      for (const [keyId, at] of touched) statements.touchKey.run(at, keyId);
      return work(recalled, eachOf(connection, isEach));
    };
    try {
      const result = withFallback(connection, attempt);
      seen = version;
      touched.clear();
      for (const id of [...unreleased, ...(recalled?.leases ?? [])]) leased.delete(id);
      unreleased.clear();
      hooks.committed(records);
      return result;
    } catch (error) {
      for (const id of recalled?.leases ?? []) unreleased.add(id);
      throw error;
    }
  }

  const hasLeases = () => leased.size > 0 && !options.isElsewhere;
  const hasUnposted = () => hasLeases() || touched.size > 0 || unreleased.size > 0 || hooks.pending().length > 0;
  function onLeased(id: string): void {
    leased.add(id);
    hooks.leased();
  }

  return { transact, hasUnposted, touched, unreleased, leased: onLeased };
}

/**
 * withFallback runs an attempt in a transaction, all at once: a savepoint for each call would cost more than its rows. Only where a value
 * is at fault, it is begun anew, call by call.
 */
function withFallback<T>(connection: Engine["books"], attempt: (isEach: boolean) => T): T {
  try {
    return connection.transact(() => attempt(false));
  } catch (error) {
    if (!isFault(error)) throw error;
    return connection.transact(() => attempt(true));
  }
}

function eachOf(connection: Engine["books"], isEach: boolean): Each {
  if (!isEach) return (step) => ({ kind: "decided", value: step() });
  return (step) => {
    try {
      return { kind: "decided", value: connection.transact(step) };
    } catch (error) {
      if (!isFault(error)) throw error;
      return { kind: "failed", error };
    }
  };
}

function decideIn(
  { captures, releases, holds }: Turn,
  each: Each,
  { leased }: Pick<Posting, "leased">,
  { steps }: BooksParts,
  { node, clock }: BooksOptions,
): Decisions {
  const left = new Map<string, number>();
  return {
    captures: captures.map(({ call, most }) => each(() => steps.capture(call, most))),
    releases: releases.map((id) => each(() => void steps.release(id))),
    holds: holds.map((asked) =>
      each(() => {
        const granted = steps.grant(asked, node, clock(), left);
        if (granted.kind === "leased" && asked.lease) leased(asked.lease.id);
        return granted;
      }),
    ),
  };
}
