/** `model-gateway compact`: makes the database's file as small as what is in it, while no gateway works on it. */
import { dirname, resolve } from "node:path";
import { loadDataConfig } from "../../config/config.ts";
import { useTemporaryFolder } from "../../config/process-environment.ts";
import { onDisk } from "../../runtime/write-trouble.ts";
import { compact as compactFile } from "../../storage/engines/sqlite/compact.ts";
import { databasePath, findDatabase, refuseOnPostgres } from "../command.ts";
import { readOptions } from "../line/read-options.ts";
import { sizeOf } from "./size.ts";

export async function compact(args: readonly string[]): Promise<void> {
  const { values } = readOptions("compact", args);
  const config = loadDataConfig(values.config);
  refuseOnPostgres(config, "Postgres gives room back by itself (autovacuum)");
  const path = databasePath(config);
  findDatabase(path);
  useTemporaryFolder(resolve(dirname(path)));
  const { before, after } = await onDisk(async () => compactFile(path));
  console.error(`Compacted ${resolve(path)}: ${sizeOf(after)}, it was ${sizeOf(before)}.`);
}
