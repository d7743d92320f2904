/**
 * `model-gateway restore FILE`: makes the database of the data folder of a back-up, proves its sums, and says what there is now. Exit
 * code 1 where a sum does not hold: the data are restored then, as they were backed up.
 */
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { recover } from "../../composition/recover.ts";
import { loadDataConfig } from "../../config/config.ts";
import { onDisk } from "../../runtime/write-trouble.ts";
import { type RestoreInit, restore as restoreData } from "../../storage/restore.ts";
import { databasePath, refuseOnPostgres } from "../command.ts";
import { UsageError } from "../line/errors.ts";
import { readOptions } from "../line/read-options.ts";
import { interruptible } from "./interruptible.ts";
import { printProof } from "./reconcile.ts";
import { report } from "./report.ts";

export async function restore(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions("restore", args);
  const [file = ""] = positionals;
  const config = loadDataConfig(values.config);
  refuseOnPostgres(config, "copy them with pg_restore");
  const database = databasePath(config);
  const recoverAt: RestoreInit["recover"] = (storage, livedAt) => recover(storage, { livedAt, onError: report });
  const init = { database, movesAside: values.force ?? false, recover: recoverAt };
  const from = (signal: AbortSignal) =>
    file === "-"
      ? fromStandardInput(signal, (spooled) => restoreData({ ...init, signal, file: spooled, name: "standard input" }))
      : restoreData({ ...init, signal, file: resolve(file) });
  const done = await onDisk(() => interruptible(from));
  if (done.movedTo !== undefined) console.error(`The database that was there is ${done.movedTo} now.`);
  const when = new Date(done.createdAt).toISOString();
  console.error(`Restored ${resolve(database)} as it was at ${when}, by model-gateway ${done.version}.`);
  if (done.hadLeftFor !== undefined)
    console.error(
      `The data had moved to ${done.hadLeftFor} by then: what was written there since is not in this file.`,
    );
  printProof(done.proof);
}

/** The whole of it is checked before any of it is used. */
async function fromStandardInput<T>(signal: AbortSignal, use: (file: string) => Promise<T>): Promise<T> {
  if (process.stdin.isTTY) throw new UsageError("restore - reads the file from standard input: send it there");
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-"));
  try {
    const file = join(folder, "backup");
    await pipeline(process.stdin, createWriteStream(file, { mode: 0o600 }), { signal });
    return await use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
