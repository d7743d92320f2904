/**
 * A program: keeps a database open, in the folder that is its argument, while a thread of it opens and closes the same one, each with the
 * addon as the executable loads it. Then it writes, and is killed.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import Sqlite from "better-sqlite3";
import { loadAddon } from "../../../src/storage/engines/sqlite/addon.ts";

const folder = isMainThread ? String(process.argv[2]) : String(workerData);
new Sqlite(":memory:").close();
const { sharedObjects } = process.report.getReport() as { readonly sharedObjects?: readonly string[] };
const file = sharedObjects?.find((path) => /sqlite.*\.node$/.test(path)) ?? "";
// The driver takes an addon that is loaded already; its types know paths only.
const nativeBinding = loadAddon(() => readFileSync(file), [folder]) as unknown as string;
const database = new Sqlite(join(folder, "gateway.db"), { nativeBinding });
if (isMainThread) {
  database.pragma("journal_mode = WAL");
  database.exec("CREATE TABLE t (x)");
  const thread = new Worker(new URL(import.meta.url), { workerData: folder });
  await new Promise((resolve, reject) => thread.on("exit", resolve).on("error", reject));
  database.exec("INSERT INTO t VALUES (1)");
  process.kill(process.pid, "SIGKILL");
} else {
  database.prepare("SELECT * FROM t").all();
  database.close();
}
