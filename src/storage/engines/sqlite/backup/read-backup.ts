/** Reads what a back-up says of itself, and makes a database of one. */
import { chmodSync, constants, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { legible } from "../../../../runtime/words/legible.ts";
import { fileRemedy, isWrongPath, NamedFileError, StorageError } from "../../../../runtime/write-trouble.ts";
import { journalFolder } from "../../../journal/segments.ts";
import { connect, type RawConnection } from "../database.ts";
import { unknownMigrations } from "../migrate.ts";
import { foreignTable } from "./foreign-parts.ts";
import { type BackupHeader, dropTables, faultOfBytes, type HeadFault } from "./format.ts";
import type { JournalLine } from "./snapshot.ts";

const faults: Readonly<Record<HeadFault, string>> = {
  foreign: "is no back-up: it is no database of SQLite",
  "no back-up":
    "is no back-up: `model-gateway backup` writes one. The file of a database is restored by copying it, with its journal",
  newer: "was written by a newer model-gateway; use that version",
  cut: "is cut: its end is missing. Use another copy of it",
  damaged: "is damaged: it has changed since it was written. Use another copy of it",
};

/** notOurs is said of a file that has the marks of a back-up, and not its parts. */
const notOurs = "is no back-up of model-gateway's: what it says of itself cannot be read. Use another copy of it";

/**
 * readBackup returns the header of a back-up. `name` stands for the file in messages. Throws a StorageError where the back-up is not whole,
 * or a newer version wrote it.
 */
export async function readBackup(file: string, name = file): Promise<BackupHeader> {
  const fault = faultOf(file, name);
  if (fault !== undefined) throw new StorageError(`${name} ${faults[fault]}`);
  const backup = connect(file, { readonly: true });
  try {
    const header = headerIn(backup);
    if (!header) throw new StorageError(`${name} ${notOurs}`);
    refusePart(await foreignTable(backup));
    const unknown = await unknownMigrations(backup);
    if (unknown.length > 0)
      throw new StorageError(
        `${name} was written by model-gateway ${header.version}, which is newer; use that version`,
      );
    return header;
  } finally {
    backup.close();
  }
}

/** refusePart throws a StorageError where a back-up has what no gateway has made. `part` is that in words. */
export function refusePart(part: string | undefined): void {
  if (part === undefined) return;
  throw new StorageError(`the back-up has ${part}, which no gateway has made. Use another copy of it`);
}

/** ownTables are the tables that are read before the rest of a file is compared with what the gateway makes. */
const ownTables = ["backup_header", "backup_journal", "kysely_migration"];

/** headerIn returns the header of a back-up; undefined where it has none, or another than is written. */
function headerIn(backup: RawConnection): BackupHeader | undefined {
  // A view in the place of a table may be read for ever.
  const isTable = backup.prepare(
    "SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table' AND sql LIKE 'CREATE TABLE%'",
  );
  if (!ownTables.every((table) => isTable.get(table) !== undefined)) return undefined;
  const columns = backup.prepare("SELECT name FROM pragma_table_xinfo('backup_header') WHERE hidden = 0").pluck().all();
  if (columns.join() !== headerColumns.join()) return undefined;
  const header = backup.prepare(`SELECT ${headerColumns.join()} FROM backup_header`).get() as BackupHeader | undefined;
  return header && isWritten(header) ? header : undefined;
}

const headerColumns = ["created_at", "version", "journal_lines", "user_version"] as const;

/** latestMs is the last moment that a Date has, in milliseconds since 1970. */
const latestMs = 8.64e15;

function isWritten({ created_at, version, journal_lines, user_version }: BackupHeader): boolean {
  const isVersion = typeof version === "string" && /^[\w.+-]{1,100}$/.test(version);
  const isMoment = created_at >= 0 && created_at <= latestMs;
  return isVersion && isMoment && [created_at, journal_lines, user_version].every(Number.isSafeInteger);
}

/** faultOf looks at the bytes. Throws a StorageError where the file cannot be read. */
function faultOf(file: string, name: string): HeadFault | undefined {
  try {
    return faultOfBytes(file);
  } catch (error) {
    const Told = isWrongPath(error) ? NamedFileError : StorageError;
    throw new Told(`${name}: ${fileRemedy(error)}`, { cause: error });
  }
}

/** unpackBackup makes the file of a database of a back-up that `readBackup` has read, with its journal beside it. Neither may exist. */
export function unpackBackup(file: string, database: string, { user_version }: BackupHeader): void {
  copyFileSync(file, database, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  // The copy has the mode of the file, which may be on a medium that others read.
  chmodSync(database, 0o600);
  const copy = connect(database);
  try {
    writeJournal(copy, journalFolder(database));
    copy.transaction(() => copy.exec(`${dropTables}; ${endJournals(copy)}`))();
    copy.pragma("application_id = 0");
    copy.pragma(`user_version = ${Number(user_version)}`);
  } finally {
    copy.close();
  }
}

/** journalFile is the form of a journal's name: its process, and what its lines are. */
const journalFile = /^[\w-]{1,100}\.jsonl(?:\.rejected)?$/;

/** endJournals marks the journals as closed: their processes are gone. Journals of older versions have no such mark. */
function endJournals(copy: RawConnection): string {
  const isKnown =
    copy.prepare("SELECT 1 FROM pragma_table_info('journals') WHERE name = 'is_open'").get() !== undefined;
  return isKnown ? "UPDATE journals SET is_open = 0" : "";
}

function writeJournal(copy: RawConnection, folder: string): void {
  const lines = copy.prepare("SELECT file, line, text FROM backup_journal ORDER BY file, line").all() as JournalLine[];
  if (lines.length > 0) mkdirSync(folder, { mode: 0o700 });
  for (const [name, own] of Map.groupBy(lines, ({ file }) => file)) {
    if (typeof name !== "string" || !journalFile.test(name))
      throw new StorageError(`the back-up has a file of the journal that no gateway has: ${legible(String(name))}`);
    writeFileSync(join(folder, name), own.map(({ text }) => `\n${text}`).join(""), { mode: 0o600, flag: "wx" });
  }
}
