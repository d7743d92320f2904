/** Holds the write lock of a database for a time, as a backup or another gateway may. Tells when it has it. */
import Database from "better-sqlite3";

const [path = "", ms] = process.argv.slice(2);
const db = new Database(path, { timeout: 5_000 });
db.exec("BEGIN EXCLUSIVE");
process.send?.("held");
setTimeout(() => {
  db.exec("COMMIT");
  db.close();
  process.disconnect?.();
}, Number(ms));
process.on("disconnect", () => process.exit());
