/**
 * Moves a database aside, with all that is beside it, for another that takes its place. A list of what moves lies there until the other has
 * its name: where the process is killed between two renames, whoever comes next goes on, and no part of one database gets to the other.
 */
import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFile, syncFolder } from "../../../../runtime/files/durable-files.ts";

/** beside is what SQLite and the journal keep beside a database. */
const beside = ["-wal", "-shm", "-journal", ".notes"] as const;

/** listEnd is the end of the list's name, behind the new path of the database. */
const listEnd = ".moving";

/** BegunMove is a move that was ended amid its work: the new path, and the ends of the paths of all parts. */
interface BegunMove {
  readonly to: string;
  readonly ends: readonly string[];
}

/** partsAt returns the files and folders of a database that are there. An empty folder of a journal is nothing. */
export function partsAt(place: string): string[] {
  return [place, ...beside.map((end) => place + end)].filter((path) => {
    const there = lstatSync(path, { throwIfNoEntry: false });
    return there !== undefined && !(there.isDirectory() && readdirSync(path).length === 0);
  });
}

/** removeDatabase removes a database with all that is beside it. Nobody may have it open. */
export function removeDatabase(place: string): void {
  for (const end of ["", ...beside, ".lock"]) rmSync(place + end, { force: true, recursive: true });
}

/**
 * begunMove returns the move that has left no database at a path. Parts move in the order of the list, the file of the database first. A move
 * that somebody took back by hand has left its list, and is none.
 */
export function begunMove(place: string): BegunMove | undefined {
  const [list] = existsSync(place) ? [] : listsOf(place);
  if (list === undefined) return undefined;
  const to = list.slice(0, -listEnd.length);
  const ends = readFileSync(list, "utf8").split("\n");
  return existsSync(`${to}${ends[0]}`) ? { to, ends } : undefined;
}

function listsOf(place: string): string[] {
  const names = existsSync(dirname(place)) ? readdirSync(dirname(place)) : [];
  const isList = (name: string) => name.startsWith(`${basename(place)}.`) && name.endsWith(`Z${listEnd}`);
  return names.filter(isList).map((name) => join(dirname(place), name));
}

/**
 * moveAside moves what is there of a database aside, all of it, under a name with this word and the time, or goes on with a move that was
 * ended amid its work. Returns the new path of the database; undefined where nothing is there. `endMove` is to follow. A move that fails
 * leaves everything where it was.
 */
export function moveAside(place: string, word: string): string | undefined {
  const there = partsAt(place).map((part) => part.slice(place.length));
  const begun = begunMove(place);
  const ends = begun?.ends ?? there;
  if (ends.length === 0) return undefined;
  const to = begun?.to ?? newPath(place, word);
  if (!begun) writeList(place, to, ends);
  try {
    for (const end of there) {
      // A part that has moved before, or that is not in the list, belongs to the database that was to come, and did not get its name.
      if (ends.includes(end) && !existsSync(to + end)) renameSync(place + end, to + end);
      else rmSync(place + end, { force: true, recursive: true });
    }
  } catch (error) {
    moveBack(place, to);
    throw error;
  }
  return to;
}

/** newPath names the second of now, or the first one after it that names nothing yet. */
function newPath(place: string, word: string): string {
  for (let at = Date.now(); ; at += 1000) {
    const stamp = new Date(at)
      .toISOString()
      .replaceAll(":", "-")
      .replace(/\.\d+Z$/, "Z");
    const to = `${place}.${word}-${stamp}`;
    if (!existsSync(to)) return to;
  }
}

/** writeList removes lists of moves that were over, too: their process was killed before it did. */
function writeList(place: string, to: string, ends: readonly string[]): void {
  for (const list of listsOf(place)) rmSync(list);
  writeFileSync(to + listEnd, ends.join("\n"), { mode: 0o600 });
  syncFile(to + listEnd);
  syncFolder(dirname(to));
}

/** moveBack gives what was moved aside its place again. */
export function moveBack(place: string, to: string): void {
  for (const part of partsAt(to)) renameSync(part, place + part.slice(to.length));
  endMove(to);
}

/** endMove says that what was moved aside is whole, and has nothing to do with what is at its place. */
export function endMove(to: string): void {
  rmSync(to + listEnd, { force: true });
}
