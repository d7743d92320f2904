/**
 * Files of notes beside the database, one a process: what is noted survives the process as a commit does, at the price of
 * one write. Other processes read the file of one that died.
 */
import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

export interface NoteFiles {
  /** Adds a line, which has no line end, to a process's own file. Throws, and adds nothing, where the disk is full. */
  append(node: string, line: string): void;
  /** Takes all lines away where they have become many: whoever calls this needs none of them any more. */
  trim(node: string): void;
  /** Returns the lines of any process's file, by their numbers from 1 on. The last one may be torn. */
  lines(node: string): NumberedLine[];
  /** Adds lines to the file of those of a process that were set aside, but for those that it has. Returns how many it had not. */
  reject(node: string, lines: readonly string[]): number;
  /** Returns the lines of that file. */
  rejected(node: string): string[];
  /** Returns the processes that have such files. */
  nodesRejected(): string[];
  /** Returns the processes that have files. */
  nodes(): string[];
  /** Shows that the process of this file lives; who slept for so long that others took it for gone begins another. */
  renew(node: string): void;
  /** Whether its process has shown no life for so long that it is gone. */
  isAbandoned(node: string): boolean;
  remove(node: string): void;
  /** Writes something, and removes it again. Throws where that fails. */
  probe(): void;
}

export interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

interface OpenFile {
  readonly fd: number;
  /** Up to where lines are whole, in bytes. */
  length: number;
}

const suffix = ".jsonl";
const rejectedSuffix = `${suffix}.rejected`;
/** A file that is longer than this is begun anew when all of it is written elsewhere. */
const longestBytes = 1_000_000;
const abandonedMs = 24 * 3_600_000;
/** More than a file system keeps beside a file's name. */
const probeBytes = 4096;

/** `isSynced` says that what is noted survives a loss of power, too. */
export function noteFiles(folder: string, isSynced: boolean): NoteFiles {
  const open = new Map<string, OpenFile>();
  const pathOf = (node: string) => join(folder, `${node}${suffix}`);

  function openOf(node: string): OpenFile {
    let file = open.get(node);
    if (!file) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      file = { fd: openSync(pathOf(node), "a", 0o600), length: 0 };
      open.set(node, file);
      if (isSynced) syncFolder(folder);
    }
    return file;
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
      if (!file || file.length < longestBytes) return;
      ftruncateSync(file.fd, 0);
      file.length = 0;
    },
    lines: (node) => linesIn(pathOf(node)),
    reject(node, lines) {
      const path = join(folder, `${node}${rejectedSuffix}`);
      const known = new Set(linesIn(path).map(({ text }) => text));
      const others = lines.filter((line) => !known.has(line));
      if (others.length > 0)
        appendFileSync(path, others.map((line) => `${line}\n`).join(""), { mode: 0o600, flush: true });
      return others.length;
    },
    rejected: (node) => linesIn(join(folder, `${node}${rejectedSuffix}`)).map(({ text }) => text),
    nodesRejected: () => nodesBy(rejectedSuffix, folder),
    nodes: () => nodesBy(suffix, folder),
    renew(node) {
      const file = open.get(node);
      if (!file || touch(pathOf(node))) return;
      closeSync(file.fd);
      open.delete(node);
    },
    isAbandoned(node) {
      const { mtimeMs } = statSync(pathOf(node), { throwIfNoEntry: false }) ?? {};
      return mtimeMs !== undefined && Date.now() - mtimeMs > abandonedMs;
    },
    remove(node) {
      const file = open.get(node);
      if (file) closeSync(file.fd);
      open.delete(node);
      rmSync(pathOf(node), { force: true });
    },
    probe() {
      const path = join(folder, `probe.${process.pid}`);
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(path, Buffer.alloc(probeBytes), { mode: 0o600 });
      } finally {
        rmSync(path, { force: true });
      }
    },
  };
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

/** Returns false where it is not there. */
function touch(path: string): boolean {
  const now = new Date();
  return ifThere(() => {
    utimesSync(path, now, now);
    return true;
  }, false);
}

/** Another process may have removed it. */
function ifThere<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return otherwise;
    throw error;
  }
}

/** A new file's name is a part of its folder. */
function syncFolder(folder: string): void {
  const fd = openSync(folder, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
