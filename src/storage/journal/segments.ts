/**
 * The journal's files beside the database, one a process. A line that was appended survives the process as a commit does, at
 * the price of one write. Other processes read the file of one that died.
 */
import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { syncFolder } from "../../runtime/files/durable-files.ts";
import { chained, firstSum } from "./chain.ts";
import { type Head, headBytes, type ReadHead, readHead, textOfHead } from "./head.ts";

export interface Segments {
  /** folder is where the files are. */
  readonly folder: string;
  /** Begins the file of this process, with its head, unless it is open. `at` is in milliseconds since 1970. */
  open(node: string, database: string, at: number): void;
  /**
   * Appends a record, given as the text of a JSON object, to the file of this process, and returns its sum. Throws, with nothing added,
   * where the disk is full.
   */
  append(node: string, text: string, seq: number, at: number): string;
  /** Empties the file where it has become long. Nobody may need its lines any more. */
  trim(node: string): void;
  /** Shows that the process of this file lives. Where others have removed the file, another is begun. */
  renew(node: string, at: number): void;
  remove(node: string): void;
  /** Returns what is in any process's file; undefined where there is none. */
  read(node: string): SegmentText | undefined;
  /** Returns the head of any process's file, at next to no cost; undefined where there is no file. */
  head(node: string): ReadHead | undefined;
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
  /** Writes a file and removes it again. Throws where that fails. */
  probe(): void;
}

export interface SegmentText {
  readonly head: ReadHead;
  /** The lines behind the head, numbered as in the file, from 1 on. The last one may be torn. */
  readonly lines: readonly NumberedLine[];
}

export interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

interface OpenFile {
  fd: number;
  /** The length of the head and its whole lines, in bytes. */
  length: number;
  head: Head;
  /** seenAt is when the file was last seen to be there, by the monotonic clock. */
  seenAt: number;
}

const suffix = ".jsonl";
const rejectedSuffix = `${suffix}.rejected`;
/** A longer file is emptied when all of it is posted. */
const maxBytes = 64 * 1024;
/** A file that was not looked at for so long is looked for before a line is appended, in milliseconds. */
const unseenMs = 10_000;
/** More than a file system stores in the entry of a folder, which takes no block of its own. */
const probeBytes = 4096;

/**
 * journalFolder returns the folder of the journal of a database. SQLite keeps what belongs to a file beside the file itself, not beside a
 * link to it: so does the journal.
 */
export function journalFolder(database: string): string {
  return `${realpathSync(database)}.notes`;
}

/** createSegments creates the journals' files in a folder. `isSynced` has every record survive a loss of power, too. */
export function createSegments(folder: string, isSynced: boolean): Segments {
  return {
    folder,
    ...ownSegments(folder, isSynced),
    ...segmentReads(folder),
    ...rejectedFiles(folder),
    fileOf,
    rejectedFileOf,
    probe: () => probe(folder),
  };
}

/** The files that this process appends to. */
function ownSegments(
  folder: string,
  isSynced: boolean,
): Pick<Segments, "open" | "append" | "trim" | "renew" | "remove"> {
  const open = new Map<string, OpenFile>();

  function fileOfNode(node: string): OpenFile {
    const file = open.get(node);
    if (!file) throw new Error(`the journal of ${node} is not open`);
    return file;
  }

  function close(node: string): void {
    const file = open.get(node);
    open.delete(node);
    if (file) closeSync(file.fd);
  }

  function keepThere(file: OpenFile): void {
    if (fstatSync(file.fd).nlink === 0) beginAgain(folder, file, isSynced);
    file.seenAt = performance.now();
  }

  return {
    open(node, database, at) {
      if (open.has(node)) return;
      const base = firstSum(database, node);
      open.set(node, begin(folder, { database, node, base, seq: 0, last: base, at }, isSynced));
    },
    append(node, text, seq, at) {
      const file = fileOfNode(node);
      // Others remove the file of a process that was still for long: then nobody would look for the line.
      if (performance.now() - file.seenAt > unseenMs) keepThere(file);
      const { line, sum } = chained(text, file.head.last);
      // The line end comes first: so a torn line spoils no other.
      write(file, Buffer.from(`\n${line}`), isSynced);
      writeHead(file, { ...file.head, seq, last: sum, at });
      return sum;
    },
    trim(node) {
      const file = fileOfNode(node);
      if (file.length < maxBytes) return;
      // In this order: until the head is written, all that it speaks of is posted.
      ftruncateSync(file.fd, headBytes);
      file.length = headBytes;
      writeHead(file, { ...file.head, base: file.head.last });
    },
    renew(node, at) {
      const file = open.get(node);
      if (!file) return;
      keepThere(file);
      writeHead(file, { ...file.head, at });
    },
    remove(node) {
      close(node);
      rmSync(pathOf(folder, node), { force: true });
    },
  };
}

/** beginAgain begins a file where others have removed the one that was there. */
function beginAgain(folder: string, file: OpenFile, isSynced: boolean): void {
  closeSync(file.fd);
  const { base, ...head } = file.head;
  Object.assign(file, begin(folder, { ...head, base: head.last }, isSynced));
}

/** begin makes a file with its head. Throws, with no file left, where the disk is full: nobody would come back to it. */
function begin(folder: string, head: Head, isSynced: boolean): OpenFile {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = pathOf(folder, head.node);
  const fd = openSync(path, "w+", 0o600);
  const file = { fd, length: headBytes, head, seenAt: performance.now() };
  try {
    writeHead(file, head);
    if (isSynced) {
      fdatasyncSync(fd);
      syncFolder(folder);
    }
    return file;
  } catch (error) {
    closeSync(fd);
    rmSync(path, { force: true });
    throw error;
  }
}

/** Appends bytes. Throws, with nothing appended, where the disk is full. */
function write(file: OpenFile, bytes: Buffer, isSynced: boolean): void {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at, bytes.length - at, file.length + at);
    if (isSynced) fdatasyncSync(file.fd);
  } catch (error) {
    ftruncateSync(file.fd, file.length);
    throw error;
  }
  file.length += bytes.length;
}

/** writeHead writes the head in its place, which was made room for when the file was begun. */
function writeHead(file: OpenFile, head: Head): void {
  file.head = head;
  writeSync(file.fd, textOfHead(head), 0);
}

function segmentReads(folder: string): Pick<Segments, "read" | "head" | "nodes"> {
  return {
    read(node) {
      const text = readIfThere(pathOf(folder, node));
      if (text === undefined) return undefined;
      const read = readHead(text.slice(0, headBytes));
      const lines = linesOf(read.kind === "head" ? text.slice(headBytes) : text);
      // The head is a line, and so is what is left of it.
      const numbered = read.kind === "head" ? lines.map(({ number, text }) => ({ number: number + 1, text })) : lines;
      return { head: read, lines: read.kind === "damaged" ? numbered.slice(1) : numbered };
    },
    head(node) {
      const fd = ifThere(() => openSync(pathOf(folder, node), "r"), undefined);
      if (fd === undefined) return undefined;
      try {
        const bytes = Buffer.alloc(headBytes);
        return readHead(bytes.toString("utf8", 0, readSync(fd, bytes, 0, headBytes, 0)));
      } finally {
        closeSync(fd);
      }
    },
    nodes: () => nodesBy(suffix, folder),
  };
}

function rejectedFiles(folder: string): Pick<Segments, "reject" | "rejected" | "nodesRejected"> {
  const pathOfRejected = (node: string) => join(folder, rejectedFileOf(node));
  const textsOf = (node: string) => linesOf(readIfThere(pathOfRejected(node)) ?? "").map(({ text }) => text);
  return {
    reject(node, lines) {
      const known = new Set(textsOf(node));
      const others = lines.filter((line) => !known.has(line));
      const text = others.map((line) => `${line}\n`).join("");
      if (others.length > 0) mkdirSync(folder, { recursive: true, mode: 0o700 });
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

function linesOf(text: string): NumberedLine[] {
  return text.split("\n").flatMap((line, i) => (line === "" ? [] : { number: i + 1, text: line }));
}

function readIfThere(path: string): string | undefined {
  return ifThere(() => readFileSync(path, "utf8"), undefined);
}

/** ifThere returns `otherwise` for a file or folder that is not there: another process may have removed it. */
function ifThere<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return otherwise;
    throw error;
  }
}
