/**
 * Holds the write lock of a database for a time, or until it is sent a message, as a backup or another gateway may. Tells when it
 * has it.
 */
import Database from "better-sqlite3";

const [path = "", ms] = process.argv.slice(2);
const db = new Database(path, { timeout: 5_000 });
db.exec("BEGIN EXCLUSIVE");
process.send?.("held");
const free = () => {
  clearTimeout(freeing);
  db.exec("COMMIT");
  db.close();
  process.disconnect?.();
};
const freeing = setTimeout(free, Number(ms));
process.once("message", free);
process.on("disconnect", () => process.exit());
