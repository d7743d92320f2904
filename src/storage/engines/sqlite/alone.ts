/** Tells whether any process works on a database. */
import { isBusy } from "../lock-retry.ts";

/** Exclusive is what is needed of a connection that waits for nobody. */
interface Exclusive {
  pragma(sql: string): unknown;
  prepare(sql: string): { get(): unknown };
  close(): unknown;
}

/**
 * isAlone reports whether no connection of any process has the database open. A gateway keeps its connection from its start to its end, and
 * a process that died has none. Changes nothing but that what a dead process left beside the file is taken in. `connection` is new, with no
 * time-out, and closed afterwards.
 */
export function isAlone(connection: Exclusive): boolean {
  try {
    // In this mode the first statement takes the lock of the whole file.
    connection.pragma("locking_mode = EXCLUSIVE");
    connection.prepare("SELECT count(*) FROM sqlite_master").get();
    return true;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return false;
  } finally {
    connection.close();
  }
}
