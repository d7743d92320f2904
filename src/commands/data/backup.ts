/**
 * `model-gateway backup FILE`: writes one file of all data, also while a gateway serves. It opens the database as it is, so that a newer
 * version may back up the data of the one before. Messages go to standard error: `-` has the file on standard output.
 */
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { loadDataConfig } from "../../config/config.ts";
import { version } from "../../package/version.ts";
import { counted } from "../../runtime/words/counted.ts";
import { onDisk } from "../../runtime/write-trouble.ts";
import { type Backup, type BackupInit, backUp } from "../../storage/backup.ts";
import { databasePath, findDatabase, refuseOnPostgres } from "../command.ts";
import { UsageError } from "../line/errors.ts";
import { readOptions } from "../line/read-options.ts";
import { interruptible } from "./interruptible.ts";
import { sizeOf } from "./size.ts";

export async function backup(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions("backup", args);
  const [file = ""] = positionals;
  const isStream = file === "-";
  if (isStream && process.stdout.isTTY)
    throw new UsageError("backup - writes the file to standard output: send that to a file or a program");
  const config = loadDataConfig(values.config);
  refuseOnPostgres(config, "back them up with pg_dump, or your provider's back-ups");
  const database = databasePath(config);
  findDatabase(database);
  const init = { database, replaces: values.force ?? false, version: version(), clock: Date.now };
  const made = await onDisk(() =>
    interruptible((signal) =>
      isStream ? toStandardOutput({ ...init, signal }) : backUp({ ...init, signal, file: resolve(file) }),
    ),
  );
  const lines = made.journalLines === 0 ? "" : `, with ${counted(made.journalLines, "line")} of the journal`;
  console.error(`Backed up ${resolve(database)}: ${sizeOf(made.bytes)}${lines}.`);
}

/** A database is written here and there, not from its beginning to its end: so it is made in a folder of its own first. */
async function toStandardOutput(init: Omit<BackupInit, "file"> & { readonly signal: AbortSignal }): Promise<Backup> {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-"));
  try {
    const file = join(folder, "backup");
    const made = await backUp({ ...init, file });
    await pipeline(createReadStream(file), process.stdout, { end: false, signal: init.signal });
    return made;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
