/**
 * Shows other processes that this one works on a database: by a shared lock of an empty file beside it, which the system takes back
 * when the process ends, however that is. An older version's tables are changed under the exclusive lock alone: a gateway that went on
 * would not know them. Programs that only read the database's files, as those that replicate it, take no such lock and hinder nobody.
 */
import { setTimeout } from "node:timers/promises";
import { StorageError } from "../../../runtime/write-trouble.ts";
import { maxWaitMs } from "../../money/books.ts";
import { isBusy } from "../lock-retry.ts";

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
  /**
   * onOutdated is called once where the tables are of an older version, and another process works on them: has those let go of it that can
   * be asked to, for which there is more time then. Undefined where nobody can.
   */
  readonly onOutdated?: (() => void) | undefined;
}

/** letGoMs is how long processes may take to let go of a database, in milliseconds. */
const letGoMs = 20_000;

const pauseMs = 50;

export function lockFile(path: string): string {
  return `${path}.lock`;
}

const shared = "BEGIN; SELECT 1 FROM sqlite_master";

/**
 * awaitTurn waits until nobody has the database for itself, and keeps it so until the returned function is called. Throws a StorageError
 * where that takes too long.
 */
export async function awaitTurn(path: string, lock: LockConnection): Promise<() => void> {
  for (const deadline = performance.now() + maxWaitMs; !takes(lock, shared); await setTimeout(pauseMs)) {
    if (performance.now() > deadline) throw new StorageError(`${path} is kept by another process. ${repeatIt}`);
  }
  return () => lock.exec("ROLLBACK");
}

/**
 * showPresence has the tables brought up to date, and keeps the shared lock. Throws a StorageError where another process keeps it from
 * that.
 */
export async function showPresence({ path, lock, isOutdated, update, onOutdated }: Presence): Promise<void> {
  let ask = onOutdated;
  for (let deadline = performance.now() + maxWaitMs; ; await setTimeout(pauseMs)) {
    // Another process of this version may bring them up to date meanwhile.
    const isOld = await isOutdated();
    if (takes(lock, isOld ? "BEGIN EXCLUSIVE" : shared)) {
      await update();
      if (!isOld) return;
      lock.exec("ROLLBACK");
    } else if (isOld && ask) {
      deadline = performance.now() + letGoMs;
      ask();
      ask = undefined;
    } else if (performance.now() > deadline)
      throw new StorageError(
        isOld ? `${path} is of an older version, and ${stopIt}` : `${path} is kept by another process. ${repeatIt}`,
      );
  }
}

const stopIt =
  "another process works on it. Stop the older gateway first: the tables are brought up to date when this one starts";
const repeatIt = "It is restored, or its tables are brought up to date: repeat the command when that has ended";

/** takes takes a lock. Returns false where another process has one that forbids it. */
export function takes(lock: LockConnection, sql: string): boolean {
  try {
    lock.exec(sql);
    return true;
  } catch (error) {
    if (!isBusy(error)) throw error;
    if (lock.inTransaction) lock.exec("ROLLBACK");
    return false;
  }
}
