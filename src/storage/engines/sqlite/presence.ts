/**
 * Shows other processes that this one works on a database: by a shared lock of an empty file beside it, which the system takes back
 * when the process ends, however that is. An older version's tables are changed under the exclusive lock alone: a gateway that went on
 * would not know them. Programs that only read the database's files, as those that replicate it, take no such lock and hinder nobody.
 */
import { setTimeout } from "node:timers/promises";
import { codeOf, StorageError } from "../../../runtime/write-trouble.ts";
import { maxWaitMs } from "../lock-retry.ts";

/** LockConnection is a connection to the file of the lock, as to a database with nothing in it, that waits for nobody. */
interface LockConnection {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
}

export interface Presence {
  /** The path of the database. */
  readonly path: string;
  /** Keeps the shared lock until it is closed. */
  readonly lock: LockConnection;
  /** Reports whether an older version made the tables. */
  readonly isOutdated: () => Promise<boolean>;
  /** Brings the tables up to date, or makes them. */
  readonly update: () => Promise<void>;
}

const pauseMs = 50;

export function lockFile(path: string): string {
  return `${path}.lock`;
}

/** Has the tables brought up to date, and keeps the shared lock. Throws a StorageError where another process keeps it from that. */
export async function showPresence({ path, lock, isOutdated, update }: Presence): Promise<void> {
  for (const deadline = Date.now() + maxWaitMs; ; await setTimeout(pauseMs)) {
    // Another process of this version may bring them up to date meanwhile.
    const isOld = await isOutdated();
    if (takes(lock, isOld ? "BEGIN EXCLUSIVE" : "BEGIN; SELECT 1 FROM sqlite_master")) {
      await update();
      if (!isOld) return;
      lock.exec("ROLLBACK");
    } else if (Date.now() > deadline)
      throw new StorageError(`${path} is of an older version, and ${isOld ? stopIt : repeatIt}`);
  }
}

const stopIt =
  "another process works on it. Stop the older gateway first: the tables are brought up to date when this one starts";
const repeatIt = "another process brings its tables up to date. Repeat the command when it has";

/** Takes a lock. Returns false where another process has one that forbids it. */
export function takes(lock: LockConnection, sql: string): boolean {
  try {
    lock.exec(sql);
    return true;
  } catch (error) {
    if (!codeOf(error).startsWith("SQLITE_BUSY")) throw error;
    if (lock.inTransaction) lock.exec("ROLLBACK");
    return false;
  }
}
