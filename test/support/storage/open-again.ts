/** Opens a test's database by the variables that a process of the gateway would find it by. */
import { join } from "node:path";
import { openStorage, type Storage } from "../../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../../src/storage/storage-on-postgres.ts";

export function openAt(variables: NodeJS.ProcessEnv): Promise<Storage> {
  const { DATA_DIR: dataDir = "", DATABASE_URL: url } = variables;
  if (url === undefined) return openStorage(join(dataDir, "gateway.db"));
  return openStorageOnPostgres({ ...{ url, dataDir, poolSize: 4, version: "test", isSynced: false }, onError() {} });
}

/** The same in a process that was started with `TestDatabase.variables`. */
export const openAgain = () => openAt(process.env);
