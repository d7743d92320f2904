/** Opens both ends of a move. The driver of Postgres is loaded here, for those alone who use it. */
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { NamedFileError, StorageError } from "../../runtime/write-trouble.ts";
import type { MoveEnd } from "../engines/move-end.ts";
import { moveOf } from "../engines/moves.ts";
import { isUnused, keepAlone } from "../engines/sqlite/database.ts";
import { begunMove, endMove, moveAside, removeDatabase } from "../engines/sqlite/moving/aside.ts";
import { isMoving, openSqliteEnd, refuseUsed } from "../engines/sqlite/moving/end.ts";
import { makeFolders } from "../engines/sqlite/new-file.ts";
import { openStorage, type Storage } from "../storage.ts";

/** Place is a database. `path` is absolute. */
export type Place =
  | { readonly engine: "sqlite"; readonly path: string }
  | { readonly engine: "postgres"; readonly url: string };

export interface Source {
  readonly place: Place;
  /** The folder in which a gateway keeps what calls cost while Postgres is away. */
  readonly dataDir: string;
  /** Opens the source as a gateway does, which writes what dead processes have left beside it. */
  open(): Promise<Storage>;
  /** Posts its journal and releases what dead processes held; `livedAt` is this moment. */
  recover(storage: Storage, livedAt: number): Promise<void>;
}

/** openSource opens the end that data leave, once all that is beside it is written, unless the move has begun before. */
export async function openSource({ place, dataDir, open, recover }: Source): Promise<MoveEnd> {
  if (place.engine === "sqlite") {
    refuseUsed(place.path);
    if (!(await isMoving(place.path))) await withStorage(open, (storage) => recover(storage, Date.now()));
    return openSqliteEnd(place.path);
  }
  const { openPostgresEnd, refuseKept } = await import("../engines/postgres/moving/end.ts");
  const end = await openPostgresEnd(place.url);
  try {
    const { state } = (await moveOf(end.db)) ?? {};
    if (state !== "leaving" && state !== "left") await withStorage(open, async () => {});
    refuseKept(dataDir);
    return end;
  } catch (error) {
    await end.close();
    throw error;
  }
}

async function withStorage(open: Source["open"], work: (storage: Storage) => Promise<void>): Promise<void> {
  const storage = await open();
  try {
    await work(storage);
  } finally {
    await storage.close();
  }
}

/**
 * openTarget opens the end that data come to, and makes it if need be. A file that it made goes again when it is closed before data were
 * to come to it. Throws a StorageError, whose words are about the place that was named.
 */
export async function openTarget(place: Place): Promise<MoveEnd> {
  if (place.engine === "sqlite") {
    if (statSync(place.path, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new NamedFileError(`${place.path} is a folder. Name a file in it, such as gateway.db`);
    return existsSync(place.path) ? openSqliteEnd(place.path) : makeSqliteEnd(place.path);
  }
  const { openPostgresEnd } = await import("../engines/postgres/moving/end.ts");
  try {
    return await openPostgresEnd(place.url);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new StorageError(error.message.replaceAll("DATABASE_URL", "the address of the target"), { cause: error });
  }
}

async function makeSqliteEnd(path: string): Promise<MoveEnd> {
  const folders = makeFolders(dirname(path));
  const remove = () => {
    removeUnused(path);
    folders.remove();
  };
  try {
    if (begunMove(path)) makeWay(path);
    await (await openStorage(path, "power")).close();
    const end = await openSqliteEnd(path);
    const close = async () => {
      const isNeeded = await moveOf(end.db).catch(() => true);
      await end.close();
      if (!isNeeded) remove();
    };
    return { ...end, close };
  } catch (error) {
    remove();
    throw error;
  }
}

/** makeWay moves a file aside, or goes on with that where it was ended amid its work. Returns where the file is now. */
function makeWay(path: string): string | undefined {
  const movedTo = moveAside(path, "before-move");
  if (movedTo !== undefined) endMove(movedTo);
  return movedTo;
}

/** removeUnused removes a database, unless somebody has begun to work on it meanwhile. */
function removeUnused(path: string): void {
  const release = keepAlone(path);
  if (!release) return;
  try {
    if (!isUnused(path)) return;
  } finally {
    release();
  }
  removeDatabase(path);
}

/**
 * makeRoom makes a target empty that is not: a file of SQLite is moved aside, with what is beside it; of Postgres only what an unfinished
 * move has left is removed. Returns the end, opened anew where need be, and where its file is now.
 */
export async function makeRoom(to: MoveEnd, place: Place): Promise<{ to: MoveEnd; movedTo: string | undefined }> {
  if (to.empty || place.engine !== "sqlite") {
    await to.empty?.();
    return { to, movedTo: undefined };
  }
  await to.close();
  const movedTo = makeWay(place.path);
  return { to: await openTarget(place), movedTo };
}
