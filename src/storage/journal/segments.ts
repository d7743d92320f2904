/**
 * The journal's files beside the database, one a process. A line that was appended survives the process as a commit does, at
 * the price of one write. Other processes read the file of one that died.
 */
import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { syncFolder } from "../durable-files.ts";

export interface Segments {
  /** Appends a line, given without its end, to the file of this process. Throws, with nothing added, where the disk is full. */
  append(node: string, line: string): void;
  /** Empties the file where it has become long. Nobody may need its lines any more. */
  trim(node: string): void;
  /** Returns the lines of any process's file, numbered from 1 on. The last one may be torn. */
  lines(node: string): NumberedLine[];
  /** Adds lines to the process's file of rejected lines, except those that it has. Returns how many were added. */
  reject(node: string, lines: readonly string[]): number;
  /** Returns the lines of that file. */
  rejected(node: string): string[];
  /** Returns the processes that have files of rejected lines. */
  nodesRejected(): string[];
  /** Returns the processes that have files. */
  nodes(): string[];
  /** Returns the names of a process's files. */
  fileOf(node: string): string;
  rejectedFileOf(node: string): string;
  /**
   * Shows that the process of this file lives. Where others have removed the file, since the process slept for so long that it
   * looked dead, the next line begins another.
   */
  renew(node: string): void;
  /** Reports whether the process of this file has shown no life for a day. */
  isAbandoned(node: string): boolean;
  remove(node: string): void;
  /** Writes a file and removes it again. Throws where that fails. */
  probe(): void;
}

export interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

interface OpenFile {
  readonly fd: number;
  /** The length of its whole lines, in bytes. */
  length: number;
}

const suffix = ".jsonl";
const rejectedSuffix = `${suffix}.rejected`;
/** A longer file is emptied when all of it is posted. */
const maxBytes = 1_000_000;
const abandonedMs = 24 * 3_600_000;
/** More than a file system stores in the entry of a folder, which takes no block of its own. */
const probeBytes = 4096;

/**
 * Returns the folder of the journal of a database. SQLite keeps what belongs to a file beside the file itself, not beside a link to it:
 * so does the journal.
 */
export function journalFolder(database: string): string {
  return `${realpathSync(database)}.notes`;
}

/** `isSynced` has every record survive a loss of power, too. */
export function createSegments(folder: string, isSynced: boolean): Segments {
  return {
    ...ownSegments(folder, isSynced),
    ...segmentReads(folder),
    ...rejectedFiles(folder),
    fileOf,
    rejectedFileOf,
    probe: () => probe(folder),
  };
}

/** The files that this process appends to. */
function ownSegments(folder: string, isSynced: boolean): Pick<Segments, "append" | "trim" | "renew" | "remove"> {
  const open = new Map<string, OpenFile>();

  function openOf(node: string): OpenFile {
    let file = open.get(node);
    if (!file) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      file = { fd: openSync(pathOf(folder, node), "a", 0o600), length: 0 };
      open.set(node, file);
      if (isSynced) syncFolder(folder);
    }
    return file;
  }

  function close(node: string): void {
    const file = open.get(node);
    if (file) closeSync(file.fd);
    open.delete(node);
  }

  return {
    append(node, line) {
      const file = openOf(node);
      // The line end comes first: so a torn line spoils no other.
      const bytes = Buffer.from(`\n${line}`);
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at);
        if (isSynced) fdatasyncSync(file.fd);
      } catch (error) {
        ftruncateSync(file.fd, file.length);
        throw error;
      }
      file.length += bytes.length;
    },
    trim(node) {
      const file = open.get(node);
      if (!file || file.length < maxBytes) return;
      ftruncateSync(file.fd, 0);
      file.length = 0;
    },
    renew(node) {
      if (open.has(node) && !touch(pathOf(folder, node))) close(node);
    },
    remove(node) {
      close(node);
      rmSync(pathOf(folder, node), { force: true });
    },
  };
}

function segmentReads(folder: string): Pick<Segments, "lines" | "nodes" | "isAbandoned"> {
  return {
    lines: (node) => linesIn(pathOf(folder, node)),
    nodes: () => nodesBy(suffix, folder),
    isAbandoned(node) {
      const { mtimeMs } = statSync(pathOf(folder, node), { throwIfNoEntry: false }) ?? {};
      return mtimeMs !== undefined && Date.now() - mtimeMs > abandonedMs;
    },
  };
}

function rejectedFiles(folder: string): Pick<Segments, "reject" | "rejected" | "nodesRejected"> {
  const pathOfRejected = (node: string) => join(folder, rejectedFileOf(node));
  const textsOf = (node: string) => linesIn(pathOfRejected(node)).map(({ text }) => text);
  return {
    reject(node, lines) {
      const known = new Set(textsOf(node));
      const others = lines.filter((line) => !known.has(line));
      const text = others.map((line) => `${line}\n`).join("");
      if (others.length > 0) appendFileSync(pathOfRejected(node), text, { mode: 0o600, flush: true });
      return others.length;
    },
    rejected: textsOf,
    nodesRejected: () => nodesBy(rejectedSuffix, folder),
  };
}

function probe(folder: string): void {
  const path = join(folder, `probe.${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(path, Buffer.alloc(probeBytes), { mode: 0o600 });
  } finally {
    rmSync(path, { force: true });
  }
}

function pathOf(folder: string, node: string): string {
  return join(folder, fileOf(node));
}

function fileOf(node: string): string {
  return `${node}${suffix}`;
}

function rejectedFileOf(node: string): string {
  return `${node}${rejectedSuffix}`;
}

function nodesBy(suffix: string, folder: string): string[] {
  const names = ifThere(() => readdirSync(folder), []);
  return names.flatMap((name) => (name.endsWith(suffix) ? [name.slice(0, -suffix.length)] : []));
}

function linesIn(path: string): NumberedLine[] {
  const lines = readIfThere(path).split("\n");
  return lines.flatMap((text, i) => (text === "" ? [] : { number: i + 1, text }));
}

function readIfThere(path: string): string {
  return ifThere(() => readFileSync(path, "utf8"), "");
}

/** Sets the time of a file. Returns false where there is none. */
function touch(path: string): boolean {
  const now = new Date();
  return ifThere(() => {
    utimesSync(path, now, now);
    return true;
  }, false);
}

/** Returns `otherwise` for a file or folder that is not there: another process may have removed it. */
function ifThere<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return otherwise;
    throw error;
  }
}
