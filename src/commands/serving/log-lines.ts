/**
 * Buffered log output: writes lines to standard error in batches, so that a call needs no system call of its own.
 *
 * A line waits at most a tenth of a second. A warning or an error is written at once, with all lines before it, and
 * the rest when the process ends. If the reader keeps up, only an abrupt end such as SIGKILL loses lines.
 *
 * Calls never wait for the reader: lines for a slow one are kept up to a limit; beyond it they are dropped and
 * counted. If the reader is gone, there is no log.
 */
import { fstatSync, write, writeSync } from "node:fs";
import { type Logger, pino } from "pino";

/** maxDelayMs is the longest delay of a line, in milliseconds. */
const maxDelayMs = 100;
/** batchChars is the number of characters that triggers a write. */
const batchChars = 64 * 1024;
/** pipeBytes is what a pipe takes as a whole, whoever else writes to it. POSIX: PIPE_BUF, which Linux has as 4096. */
const pipeBytes = 4096;
/** maxKeptChars is the most characters kept for a slow reader. */
const maxKeptChars = 16 * 1024 * 1024;
/** exitWaitMs is how long the end of the process waits for a reader that does not read, in milliseconds. */
const exitWaitMs = 1000;
/** warning is pino's number of the lowest level whose lines are written at once. */
const warning = 40;

/** openLog opens the log of this process. Its lines name the worker by its number, where it is one of several. */
export function openLog(level: string, worker?: number): Logger {
  const lines = collectLines(2, worker === undefined || !isPipe(2) ? undefined : pipeBytes);
  process.once("exit", lines.end);
  const log = pino({ level }, lines);
  return worker === undefined ? log : log.child({ worker });
}

/** A pipe or a socket may mix what several processes write at once, unless each writes little. */
function isPipe(fd: number): boolean {
  const stats = fstatSync(fd);
  return stats.isFIFO() || stats.isSocket();
}

interface Lines {
  readonly [pino.symbols.needsMetadataGsym]: true;
  /** lastLevel is the level of the next line. Pino sets it. */
  lastLevel: number;
  write(line: string): void;
  /** end writes the remaining lines, and returns when they are written. */
  end(): void;
}

/** collectLines collects lines for a descriptor. Writes of more than `maxBytes` are divided between lines. */
export function collectLines(fd: number, maxBytes = Number.POSITIVE_INFINITY): Lines {
  let kept = "";
  let omitted = 0;
  let isUrgent = false;
  /** taken are the bytes being written, or waiting for a slow reader. */
  let taken = Buffer.alloc(0);
  let isWriting = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const take = () => {
    const lines = Buffer.from(omitted > 0 ? kept + omittedLine(omitted) : kept);
    kept = "";
    omitted = 0;
    isUrgent = false;
    return lines;
  };
  const send = () => {
    clearTimeout(timer);
    timer = undefined;
    if (isWriting) return;
    if (taken.length === 0) taken = take();
    isWriting = true;
    write(fd, wholeLines(taken, maxBytes), (error, bytes) => {
      isWriting = false;
      isClosed = error !== null && !isBusy(error);
      if (!error) taken = taken.subarray(bytes);
      if (isClosed) return;
      if (!error && (taken.length > 0 || isUrgent || kept.length >= batchChars)) send();
      else if (taken.length > 0 || kept !== "") sendLater();
    });
  };
  const sendLater = () => {
    timer ??= setTimeout(send, maxDelayMs).unref();
  };

  return {
    [pino.symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(line) {
      if (isClosed) return;
      if (kept.length < maxKeptChars) kept += line;
      else omitted++;
      isUrgent ||= this.lastLevel >= warning;
      // Earlier bytes are written first, once that is possible.
      if (taken.length === 0 && (isUrgent || kept.length >= batchChars)) send();
      else if (!isWriting) sendLater();
    },
    end() {
      if (isClosed) return;
      // Node's thread writes what is in progress. If the process fails right now, that may come after the rest.
      if (!isWriting) writeAll(fd, taken, maxBytes);
      writeAll(fd, take(), maxBytes);
    },
  };
}

/** wholeLines returns as many of the first lines as `maxBytes` hold, and one at least. */
function wholeLines(lines: Buffer, maxBytes: number): Buffer {
  if (lines.length <= maxBytes) return lines;
  const end = lines.lastIndexOf(newline, maxBytes - 1);
  return lines.subarray(0, 1 + (end === -1 ? lines.indexOf(newline) : end));
}

const newline = 0x0a;

/** writeAll waits for a slow reader, but not for one that stopped reading. */
function writeAll(fd: number, bytes: Buffer, maxBytes: number): void {
  let readAt = performance.now();
  for (let rest = bytes; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(fd, wholeLines(rest, maxBytes)));
      readAt = performance.now();
    } catch (error) {
      if (!isBusy(error) || performance.now() > readAt + exitWaitMs) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** isBusy recognises the error of a full non-blocking pipe. */
function isBusy(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EAGAIN";
}

function omittedLine(lines: number): string {
  const msg = "lines of the log are left out: whoever reads it was too slow";
  return `${JSON.stringify({ level: warning, time: Date.now(), pid: process.pid, lines, msg })}\n`;
}
