/**
 * Backs up all data, the database and the journal beside it, into one file, while gateways go on writing. `restore.ts` makes a database
 * of such a file.
 */
import { rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { publish, removeLeft, unusedName } from "../runtime/files/durable-files.ts";
import { NamedFileError } from "../runtime/write-trouble.ts";
import { readBackup } from "./engines/sqlite/backup/read-backup.ts";
import { writeBackup } from "./engines/sqlite/backup/write-backup.ts";

export interface BackupInit {
  /** The path of the database, which must exist. */
  readonly database: string;
  readonly file: string;
  /** Replaces the file where it exists; else that is refused. */
  readonly replaces: boolean;
  /** The version of the gateway, for whoever restores it. */
  readonly version: string;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Ends it. Then its reason is thrown, and nothing is left. */
  readonly signal?: AbortSignal;
}

/** Backup is what a back-up says of itself. */
export interface Backup {
  /** createdAt is in milliseconds since 1970. */
  readonly createdAt: number;
  /** The version of the gateway that wrote it. */
  readonly version: string;
  /** journalLines is how many lines of the journal it has: charges that were not in the tables yet. */
  readonly journalLines: number;
  /** The size of its file. */
  readonly bytes: number;
}

/**
 * backUp writes a back-up while any number of processes work on the database. It has every charge that a caller was told of before, once.
 * The file appears under its name when it is whole and checked. Throws a StorageError, with nothing left, where that is not possible.
 */
export async function backUp({ database, file, replaces, version, clock, signal }: BackupInit): Promise<Backup> {
  const partial = unusedName(`${file}.partial`);
  refuseFile(file, replaces);
  removeLeft(dirname(file), "partial");
  try {
    await writeBackup(database, partial, { clock, version, signal });
    const written = await describeBackup(partial);
    // A signal that came while the file was checked has its turn.
    await setImmediate();
    signal?.throwIfAborted();
    refuseFile(file, replaces);
    publish(partial, file, replaces);
    return written;
  } finally {
    for (const path of [partial, `${partial}-journal`, `${partial}-wal`, `${partial}-shm`])
      rmSync(path, { force: true });
  }
}

function refuseFile(file: string, replaces: boolean): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there && !there.isFile()) throw new NamedFileError(`${file} is no file. Name a file for the back-up`);
  if (there && !replaces) throw new NamedFileError(`${file} exists. Name another file, or replace it by --force`);
  if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory())
    throw new NamedFileError(`there is no folder ${dirname(file)}. Make it, or name another`);
}

/** describeBackup checks a back-up, every byte of it, and returns what it is. Throws a StorageError where it is damaged or too new. */
export async function describeBackup(file: string): Promise<Backup> {
  const { created_at: createdAt, version, journal_lines: journalLines } = await readBackup(file);
  return { createdAt, version, journalLines, bytes: statSync(file).size };
}
