/** Tells whether any process works on a database. */
import { codeOf } from "../../../runtime/write-trouble.ts";
import { connect } from "./database.ts";

/**
 * Reports whether no connection of any process has the database open. A gateway keeps its connection from its start to its end, and a
 * process that died has none. It waits for nobody, and changes nothing but that what a dead process left beside the file is taken in.
 */
export function isAlone(path: string): boolean {
  const connection = connect(path, { timeout: 0 });
  try {
    // In this mode the first statement takes the lock of the whole file.
    connection.pragma("locking_mode = EXCLUSIVE");
    connection.prepare("SELECT count(*) FROM sqlite_master").get();
    return true;
  } catch (error) {
    if (!codeOf(error).startsWith("SQLITE_BUSY")) throw error;
    return false;
  } finally {
    connection.close();
  }
}
