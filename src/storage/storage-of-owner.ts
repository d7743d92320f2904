/**
 * All stores over SQLite's file, in the process that owns it for the workers of a machine; and in a worker, which reads and writes the
 * file itself, and asks its owner for all that is money.
 */
import type { Link } from "../runtime/ipc/link.ts";
import { LetGoError } from "../runtime/write-trouble.ts";
import { whenUnlocked } from "./engines/lock-retry.ts";
import { openOwnedBooks } from "./engines/owner/books.ts";
import { type BooksKeeper, keepBooks, type OwnerOptions } from "./engines/owner/keep-books.ts";
import { createLeftRecords } from "./engines/owner/left-records.ts";
import { watchOwner } from "./engines/owner/watch-owner.ts";
import { createBooksParts } from "./engines/sqlite/books/parts.ts";
import { type Durability, openDatabase } from "./engines/sqlite/database.ts";
import { createRecordSent } from "./engines/sqlite/journal/record-sent.ts";
import { createTakeOver } from "./engines/sqlite/journal/take-over.ts";
import { createNodeLocks } from "./engines/sqlite/node-lock.ts";
import { recallFromOthers } from "./engines/sqlite/recall.ts";
import { openSentLog } from "./journal/sent-log.ts";
import { type Storage, storageOver } from "./storage.ts";

export type { BooksKeeper } from "./engines/owner/keep-books.ts";

export interface OwnedStorage {
  readonly storage: Storage;
  /** Keeps the books of workers. */
  readonly books: BooksKeeper;
}

/** OwnerInit is how an owner opens its file. */
export interface OwnerInit extends Pick<OwnerOptions, "node" | "clock" | "onError" | "isSuccessor"> {
  /** onOutdated is called where an older version made the tables, and others work on them: it waits for those to let go. */
  readonly onOutdated?: (() => void) | undefined;
}

/**
 * openStorageOfOwner opens the file for an owner, as `openStorage` does. `node` names its own books. `isSuccessor` says that another was
 * owner before.
 */
export async function openStorageOfOwner(
  path: string,
  durability: Durability,
  { node, clock, onError, isSuccessor, onOutdated }: OwnerInit,
): Promise<OwnedStorage> {
  const opened = await openDatabase(path, durability, { onOutdated });
  const { engine } = opened;
  const storage = storageOver(path, opened);
  const parts = createBooksParts(engine);
  const { statements, steps } = parts;
  const recordSent = createRecordSent(parts, { clock, onError });
  const books = keepBooks({
    ...{ node, clock, onError, isSuccessor },
    ...createTakeOver(parts, { node, clock, onError }),
    openBooks: storage.openBooks,
    available: steps.available,
    flush: () => engine.read(() => {}),
    recordSent: (sender) => whenUnlocked(() => recordSent.of(sender)),
    keepUntil: (until) => whenUnlocked(() => engine.books.transact(() => void statements.keepHolds.run(until, until))),
    endDeadlines: (of) => whenUnlocked(() => engine.books.transact(() => void statements.renewHolds.run(clock(), of))),
    version() {
      // None may go unnoticed.
      engine.version(true);
      return engine.changes.version();
    },
    trouble: engine.writable.trouble,
  });
  return { storage, books };
}

/** StorageOfWorker is the storage of a worker, which may go on without its file. */
export interface StorageOfWorker extends Storage {
  /**
   * letGo lets go of the file for good, so that another version of the program can change it. Stores are refused from now on; what calls
   * that run cost is told to the owner as before.
   */
  letGo(): Promise<void>;
}

/** openStorageOfWorker opens the file for a worker. `link` leads to its owner, who has opened it before. */
export async function openStorageOfWorker(path: string, durability: Durability, link: Link): Promise<StorageOfWorker> {
  const owner = await watchOwner(link);
  const opened = await openDatabase(path, durability, { owner });
  const { engine, letting } = opened;
  const { statements, steps, rows } = createBooksParts(engine);
  const { folder } = engine.segments;
  /** unlocks end the locks by which others see that the books of this process are kept. */
  const unlocks = new Set<() => void>();
  const storage = storageOver(path, opened);
  return {
    ...storage,
    openBooks:
      (hasJournal) =>
      ({ node, onError, recall, holding }) => {
        const locks = createNodeLocks(folder, onError);
        unlocks.add(locks.close);
        locks.keep(node);
        const books = openOwnedBooks({
          ...{ link, node, hasJournal, onError, recall, holding, keepLock: locks.keep },
          ...engine.changes,
          sentLog: openSentLog({ folder, node, database: rows.database(), onError }),
          left: createLeftRecords({ segments: engine.segments, database: rows.database(), onError }),
          mayLease: (keyId, isOfKey) =>
            !letting.isGone() && statements.mayLease.get(keyId, isOfKey ? 1 : 0) !== undefined,
        });
        return { ...books, close: () => books.close().finally(locks.close) };
      },
    letGo: letting.go,
    async close() {
      await storage.close();
      for (const unlock of unlocks) unlock();
    },
    async available(keyId) {
      await owner.flushed();
      if (letting.isGone()) throw new LetGoError();
      return steps.available(keyId);
    },
    // Other gateways, and commands, may work on the same file. What workers leave that have ended is the owner's.
    recall: async (accountId) => (await owner.recall(accountId)) && recallFromOthers(engine.scope.db, accountId),
    writable: owner.writableBeside(engine.writable),
    async *findings(options) {
      await owner.flushed();
      return yield* storage.findings(options);
    },
    async reconcile(options) {
      await owner.flushed();
      return storage.reconcile(options);
    },
  };
}
