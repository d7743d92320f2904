/**
 * Opens a test's database by the variables that a process of the gateway would find it by. Its sums are proved in the test's own thread: to
 * start one more takes six times the CPU of the proof. `test/storage/engines/sqlite/proof-apart.test.ts` is about that thread.
 */
import { join } from "node:path";
import { proveFile } from "../../../src/storage/engines/sqlite/reconcile/prove-file.ts";
import { openStorage, type Storage } from "../../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../../src/storage/storage-on-postgres.ts";

export function openAt(variables: NodeJS.ProcessEnv): Promise<Storage> {
  const { DATA_DIR: dataDir = "", DATABASE_URL: url } = variables;
  if (url === undefined) return openStorage(join(dataDir, "gateway.db"), undefined, proveFile);
  return openStorageOnPostgres({ ...{ url, dataDir, poolSize: 4, version: "test", isSynced: false }, onError() {} });
}

/** The same in a process that was started with `TestDatabase.variables`. */
export const openAgain = () => openAt(process.env);
