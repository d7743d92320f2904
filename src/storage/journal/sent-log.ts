/**
 * Notes on a node's machine which calls it sends upstream, before the database knows of them: what a node that was killed had sent a
 * moment before is recorded as lost by the next one on that machine. What the database has been told of may be forgotten.
 *
 * There is no money in it. Where the machine is lost, or its disk is full, a call of the last milliseconds lacks its row.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { HoldEntry } from "../money/books.ts";
import { lineOf, readLine } from "./records.ts";

export interface SentLog {
  /** Notes calls whose holds are in records up to `seq`. `written` is the number of the last record that is written. It never throws. */
  note(holds: readonly HoldEntry[], seq: number, written: number): void;
  /** Removes the log: all calls have ended. */
  remove(): void;
}

export interface SentLogOptions {
  readonly folder: string;
  readonly node: string;
  /** Names the database. */
  readonly database: string;
  /** Receives what keeps it from being written, once until it can be written again. */
  readonly onError: (error: unknown) => void;
  /** maxBytes is when a file is left for the other one, in bytes. */
  readonly maxBytes?: number;
}

/** One of the two files that are written in turn. */
interface LogFile {
  readonly path: string;
  fd: number | undefined;
  length: number;
  /** The number of the last record that has any of its calls. */
  seq: number;
}

/** againMs is how long it is not tried again after it failed, in milliseconds. */
const againMs = 1000;

export function openSentLog({ folder, node, database, onError, maxBytes = 65_536 }: SentLogOptions): SentLog {
  const [first, second] = pathsOf(folder, node, database).map(
    (path): LogFile => ({ path, fd: undefined, length: 0, seq: 0 }),
  );
  let [file, other] = [first as LogFile, second as LogFile];
  let failedAt: number | undefined;

  function write(text: string, seq: number, written: number): void {
    if (file.length > maxBytes && other.seq <= written) {
      [file, other] = [other, file];
      if (file.fd !== undefined) ftruncateSync(file.fd, 0);
      file.length = 0;
    }
    file.fd ??= openFile(folder, file.path);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at, bytes.length - at, file.length + at);
    file.length += bytes.length;
    file.seq = Math.max(file.seq, seq);
  }

  return {
    note(holds, seq, written) {
      const now = performance.now();
      if (failedAt !== undefined && now - failedAt < againMs) return;
      try {
        write(`${lineOf({ seq, at: holds[0]?.createdAt ?? 0, entries: holds })}\n`, seq, written);
        failedAt = undefined;
      } catch (error) {
        if (failedAt === undefined)
          onError(new Error("calls cannot be noted on this machine before they are sent", { cause: error }));
        failedAt = now;
      }
    },
    remove() {
      for (const { fd, path } of [file, other]) {
        if (fd === undefined) continue;
        closeSync(fd);
        rmSync(path, { force: true });
      }
    },
  };
}

function openFile(folder: string, path: string): number {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return openSync(path, "w", 0o600);
}

function pathsOf(folder: string, node: string, database: string): string[] {
  return [0, 1].map((turn) => join(folder, `${node}.${database}.sent.${turn}`));
}

const fileName = /^([^.]+)\.([^.]+)\.sent\.[01]$/;

/** sentLogs returns the nodes that have left logs in a folder, each with its database. */
export function sentLogs(folder: string): readonly { readonly node: string; readonly database: string }[] {
  return namesIn(folder).flatMap((name) => {
    const [, node, database] = fileName.exec(name) ?? [];
    return node === undefined || database === undefined ? [] : [{ node, database }];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** SentCall is a call that was noted. */
export type SentCall = Pick<HoldEntry, "requestId" | "accountId" | "keyId" | "operation" | "model" | "createdAt">;

type LogName = Pick<SentLogOptions, "folder" | "node" | "database">;

/** sentCalls returns the calls that a node has noted last. Of most of them more is known by now. */
export function sentCalls({ folder, node, database }: LogName): readonly SentCall[] {
  return pathsOf(folder, node, database).flatMap(callsIn);
}

/** removeSentLog removes the log of a node that has ended. */
export function removeSentLog({ folder, node, database }: LogName): void {
  for (const path of pathsOf(folder, node, database)) rmSync(path, { force: true });
}

/** callsIn reads a file line by line. A line that is torn, or is none, tells of nothing. */
function callsIn(path: string): SentCall[] {
  const entries = textOf(path)
    .split("\n")
    .flatMap((line) => {
      const read = readLine(line);
      return read.kind === "record" ? read.record.entries : [];
    });
  return entries.filter((entry) => entry.kind === "hold");
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
