/**
 * The log of a command: lines on standard error, written many at a time, so that a call costs no system call of its own. A
 * line waits a tenth of a second at most; a warning or an error goes out at once, with all lines before it; and what is kept
 * when the process ends goes out with its end. With a reader that keeps up, only what ends a process without asking it, as
 * SIGKILL does, loses lines.
 *
 * Calls never wait for whoever reads the lines: while that one is slow they are kept, up to a bound, and what is beyond it is
 * left out and counted. When nobody reads any more, there is no log.
 */
import { write, writeSync } from "node:fs";
import { type Logger, pino } from "pino";

/** How long a line is kept, in milliseconds. */
const keepMs = 100;
/** So many characters go out at once. */
const batch = 64 * 1024;
/** So many are kept for a slow reader. */
const most = 16 * 1024 * 1024;
/** How long the end of the process waits for one who reads nothing, in milliseconds. */
const lastMs = 1000;
/** Pino's number of the level from which lines go out at once. */
const warning = 40;

export function openLog(level: string): Logger {
  const lines = collectLines(2);
  process.once("exit", lines.end);
  return pino({ level }, lines);
}

interface Lines {
  readonly [pino.symbols.needsMetadataGsym]: true;
  /** The level of the line that comes next, as pino tells it. */
  lastLevel: number;
  write(line: string): void;
  /** Writes what is left, and returns when it is written. */
  end(): void;
}

export function collectLines(fd: number): Lines {
  let kept = "";
  let omitted = 0;
  let isUrgent = false;
  /** What has been taken of that, and is being written or waits for a slow reader. */
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
    write(fd, taken, (error, bytes) => {
      isWriting = false;
      isClosed = error !== null && !isBusy(error);
      if (!error) taken = taken.subarray(bytes);
      if (isClosed) return;
      if (!error && (taken.length > 0 || isUrgent || kept.length >= batch)) send();
      else if (taken.length > 0 || kept !== "") sendLater();
    });
  };
  const sendLater = () => {
    timer ??= setTimeout(send, keepMs).unref();
  };

  return {
    [pino.symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(line) {
      if (isClosed) return;
      if (kept.length < most) kept += line;
      else omitted++;
      isUrgent ||= this.lastLevel >= warning;
      // What has been taken goes first, when it can.
      if (taken.length === 0 && (isUrgent || kept.length >= batch)) send();
      else if (!isWriting) sendLater();
    },
    end() {
      if (isClosed) return;
      // What is under way is written by Node's thread; where the process fails just now it may come after the rest.
      if (!isWriting) writeAll(fd, taken);
      writeAll(fd, take());
    },
  };
}

/** Waits for a slow reader, but not for one who reads no more. */
function writeAll(fd: number, bytes: Buffer): void {
  let readAt = performance.now();
  for (let rest = bytes; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
      readAt = performance.now();
    } catch (error) {
      if (!isBusy(error) || performance.now() > readAt + lastMs) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** A pipe that does not block says so when it is full. */
function isBusy(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EAGAIN";
}

function omittedLine(lines: number): string {
  const msg = "lines of the log are left out: whoever reads it was too slow";
  return `${JSON.stringify({ level: warning, time: Date.now(), pid: process.pid, lines, msg })}\n`;
}
