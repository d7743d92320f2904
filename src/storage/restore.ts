/**
 * Restores a back-up into a data folder. All is made and proved beside the place of the database, under another name; only the last
 * steps give it its name. So a restore that fails, at whatever point, leaves the folder as it was; one that is killed amid the last steps has the
 * next go on.
 */
import { existsSync, lstatSync, realpathSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { publish, removeLeft, syncFile, syncFolder, unusedName } from "../runtime/files/durable-files.ts";
import { codeOf, StorageError } from "../runtime/write-trouble.ts";
import { foreignTrigger } from "./engines/sqlite/backup/foreign-parts.ts";
import { readBackup, refusePart, unpackBackup } from "./engines/sqlite/backup/read-backup.ts";
import { connect, isUnused, keepAlone, usedError } from "./engines/sqlite/database.ts";
import { begunMove, endMove, moveAside, moveBack, partsAt, removeDatabase } from "./engines/sqlite/moving/aside.ts";
import { stay } from "./engines/sqlite/moving/end.ts";
import { makeFolders } from "./engines/sqlite/new-file.ts";
import { proveFile } from "./engines/sqlite/reconcile/prove-file.ts";
import { type Reconciliation, reconciled } from "./proof/proof.ts";
import { openStorage, type Storage } from "./storage.ts";

export interface RestoreInit {
  /** The back-up, which must not change meanwhile. */
  readonly file: string;
  /** Stands for the file in messages. */
  readonly name?: string;
  /** The path of the database that is to be made. */
  readonly database: string;
  /** Moves the database that is there aside; else that is refused. */
  readonly movesAside: boolean;
  /** Posts the journal that came with the back-up, and ends what its processes held. `createdAt` is the back-up's moment. */
  readonly recover: (storage: Storage, createdAt: number) => Promise<void>;
  /** Ends it before the database gets its name. Then its reason is thrown, and the folder is as it was. */
  readonly signal?: AbortSignal;
}

export interface Restored {
  readonly createdAt: number;
  readonly version: string;
  readonly proof: Reconciliation;
  /** The new path of the database that was there before; undefined where there was none. */
  readonly movedTo: string | undefined;
  /** hadLeftFor is where the data had moved when they were backed up; undefined where they had not. */
  readonly hadLeftFor: string | undefined;
}

/** restore throws a StorageError, and changes nothing, where the file or the folder is not fit for it. */
export async function restore({ file, name, database, movesAside, recover, signal }: RestoreInit): Promise<Restored> {
  const header = await readBackup(file, name);
  const place = placeOf(database);
  refusePlace(place, movesAside);
  const folders = makeFolders(dirname(place));
  removeLeft(dirname(place), "restoring");
  const staging = unusedName(`${place}.restoring`);
  let isDone = false;
  try {
    unpackBackup(file, staging, header);
    const hadLeftFor = await stay(staging);
    const proof = await proveIn(staging, (storage) => recover(storage, header.created_at));
    await setImmediate();
    signal?.throwIfAborted();
    syncFile(staging);
    const movedTo = replaceAlone(place, staging, movesAside);
    isDone = true;
    return { createdAt: header.created_at, version: header.version, proof, movedTo, hadLeftFor };
  } finally {
    removeDatabase(staging);
    if (!isDone) folders.remove();
  }
}

/** placeOf returns the file that a database's path stands for: where it is a link, what it leads to. */
function placeOf(database: string): string {
  const isLink = lstatSync(database, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  return isLink && existsSync(database) ? realpathSync(database) : resolve(database);
}

function refusePlace(place: string, movesAside: boolean): void {
  const [first] = partsAt(place);
  if (first === undefined || begunMove(place)) return;
  if (!movesAside)
    throw new StorageError(
      `there is ${first} already. Restore into an empty folder (DATA_DIR), or move the database there aside by --force`,
    );
  if (existsSync(place) && !isUnusedAt(place)) throw usedError(place);
}

/** replaceAlone gives the database its name while nobody else can open what has it. Returns where the one before went. */
function replaceAlone(place: string, staging: string, movesAside: boolean): string | undefined {
  const release = keepAlone(place);
  if (!release) throw usedError(place);
  try {
    // Somebody may have come meanwhile.
    refusePlace(place, movesAside);
    const movedTo = moveAside(place, "replaced");
    put(staging, place, movedTo);
    if (movedTo !== undefined) endMove(movedTo);
    return movedTo;
  } finally {
    release();
  }
}

/** A file that is no database has nobody who works on it. */
function isUnusedAt(place: string): boolean {
  try {
    return isUnused(place);
  } catch (error) {
    if (/^SQLITE_(?:NOTADB|CORRUPT)/.test(codeOf(error))) return true;
    throw error;
  }
}

/** proveIn makes a database of the unpacked back-up: brings its tables up to date, recovers it, and proves its sums. */
async function proveIn(staging: string, recover: (storage: Storage) => Promise<void>): Promise<Reconciliation> {
  const storage = await openStorage(staging, "power");
  try {
    await refuseForeign(staging);
    await recover(storage);
  } finally {
    await storage.close();
  }
  // In this thread, which has nothing else to do: a thread of its own takes longer to start than a small file to prove.
  return reconciled(proveFile(staging, {}));
}

/** refuseForeign throws a StorageError where a back-up has triggers that no gateway has made. */
async function refuseForeign(staging: string): Promise<void> {
  const copy = connect(staging);
  try {
    refusePart(await foreignTrigger(copy));
  } finally {
    copy.close();
  }
}

/** put gives the finished database its name. Where that fails, what was moved aside comes back. */
function put(staging: string, place: string, movedTo: string | undefined): void {
  try {
    // An empty folder may be left by a gateway that has stopped.
    rmSync(`${place}.notes`, { force: true, recursive: true });
    if (existsSync(`${staging}.notes`)) renameSync(`${staging}.notes`, `${place}.notes`);
    publish(staging, place, false);
    syncFolder(dirname(place));
  } catch (error) {
    rmSync(`${place}.notes`, { force: true, recursive: true });
    if (movedTo !== undefined) moveBack(place, movedTo);
    throw error;
  }
}
