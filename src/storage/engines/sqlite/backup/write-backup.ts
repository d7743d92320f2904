/** Writes a back-up of a database into a file that is made anew. */
import { closeSync, openSync } from "node:fs";
import { StorageError } from "../../../../runtime/write-trouble.ts";
import { isBusy } from "../../lock-retry.ts";
import { connect, type RawConnection } from "../database.ts";
import { refuseNewer } from "../migrate.ts";
import { openingError } from "../opening-error.ts";
import { applicationId, type BackupHeader, createTables, writeChecksum } from "./format.ts";
import { beginSnapshot, type JournalLine } from "./snapshot.ts";

export interface BackupOptions {
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** The version of the gateway. */
  readonly version: string;
  /** Ends the copying, which throws its reason then. */
  readonly signal?: AbortSignal | undefined;
}

/** pagesAtOnce is how many pages are copied before other work of this process has its turn. */
const pagesAtOnce = 2048;

/**
 * writeBackup writes the database and its journal into `file`, which may not exist, for its owner only. The tables of the database are left
 * as they are, also where an older version works on them. Throws a StorageError where what is to be copied is damaged, or a newer
 * version's.
 */
export async function writeBackup(
  database: string,
  file: string,
  { clock, version, signal }: BackupOptions,
): Promise<BackupHeader> {
  const [reader, writer] = [connect(database), connect(database)];
  try {
    await refuseOthers(reader);
    const lines = snapshotOf(reader, writer);
    // After the last of what it has: whoever restores it measures all deadlines from here.
    const createdAt = clock();
    // The database's own file must not decide who may read the copy.
    closeSync(openSync(file, "wx", 0o600));
    await reader.backup(file, {
      progress() {
        signal?.throwIfAborted();
        return pagesAtOnce;
      },
    });
    const user_version = Number(reader.pragma("user_version", { simple: true }));
    const header = { created_at: createdAt, version, journal_lines: lines.length, user_version };
    finish(file, header, lines);
    return header;
  } finally {
    reader.close();
    writer.close();
  }
}

/** refuseOthers throws a StorageError where the database cannot be read, is another program's, or of a newer version. */
async function refuseOthers(reader: RawConnection): Promise<void> {
  try {
    const isOurs = reader.prepare("SELECT 1 FROM sqlite_master WHERE name = 'kysely_migration'").get() !== undefined;
    if (!isOurs)
      throw new StorageError(`${reader.name} is no database of model-gateway. Set DATA_DIR to its data folder`);
    await refuseNewer(reader);
  } catch (error) {
    throw openingError(reader.name, error);
  }
}

function snapshotOf(reader: RawConnection, writer: RawConnection): JournalLine[] {
  try {
    return beginSnapshot(reader, writer);
  } catch (error) {
    if (!isBusy(error)) throw error;
    const message = `another process holds the lock of the database ${reader.name}. Repeat the command when it has ended`;
    throw new StorageError(message, { cause: error });
  }
}

/** finish makes a plain file of the copy, which needs no other beside it, and adds what is not in its tables. */
function finish(file: string, header: BackupHeader, lines: readonly JournalLine[]): void {
  const copy = connect(file);
  try {
    copy.pragma("journal_mode = DELETE");
    copy.pragma(`application_id = ${applicationId}`);
    copy.transaction(() => {
      copy.exec(createTables);
      const insert = "INSERT INTO backup_header (created_at, version, journal_lines, user_version) VALUES (?, ?, ?, ?)";
      copy.prepare(insert).run(header.created_at, header.version, header.journal_lines, header.user_version);
      const insertLine = copy.prepare("INSERT INTO backup_journal (file, line, text) VALUES (?, ?, ?)");
      for (const { file: name, line, text } of lines) insertLine.run(name, line, text);
    })();
    const found = String(copy.pragma("quick_check(1)", { simple: true }));
    if (found !== "ok") throw new StorageError(`the database is damaged, and so would be its back-up: ${found}`);
  } finally {
    copy.close();
  }
  writeChecksum(file);
}
