/**
 * All stores over SQLite's file, in the process that owns it for the workers of a machine; and in a worker, which reads and writes the
 * file itself, and asks its owner for all that is money.
 */
import type { Link } from "../runtime/ipc/link.ts";
import { whenUnlocked } from "./engines/lock-retry.ts";
import { openOwnedBooks } from "./engines/owner/books.ts";
import { type BooksKeeper, keepBooks, type OwnerOptions } from "./engines/owner/keep-books.ts";
import { watchOwner } from "./engines/owner/watch-owner.ts";
import { createBooksParts } from "./engines/sqlite/books/parts.ts";
import { type Durability, openDatabase } from "./engines/sqlite/database.ts";
import { createTakeOver } from "./engines/sqlite/journal/take-over.ts";
import { type Storage, storageOver } from "./storage.ts";

export type { BooksKeeper } from "./engines/owner/keep-books.ts";

export interface OwnedStorage {
  readonly storage: Storage;
  /** Keeps the books of workers. */
  readonly books: BooksKeeper;
}

/** Opens the file for an owner, as `openStorage` does. `node` names its own books. */
export async function openStorageOfOwner(
  path: string,
  durability: Durability,
  { node, clock, onError }: Pick<OwnerOptions, "node" | "clock" | "onError">,
): Promise<OwnedStorage> {
  const opened = await openDatabase(path, durability);
  const { engine } = opened;
  const storage = storageOver(path, opened);
  const parts = createBooksParts(engine);
  const { statements, steps } = parts;
  const books = keepBooks({
    ...{ node, clock, onError },
    ...createTakeOver(parts, { node, clock, onError }),
    openBooks: storage.openBooks,
    available: steps.available,
    flush: () => engine.read(() => {}),
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

/** Opens the file for a worker. `link` leads to its owner, who has opened it before. */
export async function openStorageOfWorker(path: string, durability: Durability, link: Link): Promise<Storage> {
  const owner = await watchOwner(link);
  const opened = await openDatabase(path, durability, owner);
  const { engine } = opened;
  const { statements, steps } = createBooksParts(engine);
  const storage = storageOver(path, opened);
  return {
    ...storage,
    openBooks:
      (hasJournal) =>
      ({ node, onError, recall, holding }) =>
        openOwnedBooks({
          ...{ link, node, hasJournal, onError, recall, holding },
          ...engine.changes,
          mayLease: (keyId, isOfKey) => statements.mayLease.get(keyId, isOfKey ? 1 : 0) !== undefined,
        }),
    async available(keyId) {
      await owner.flushed();
      return steps.available(keyId);
    },
    recall: owner.recall,
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
