/**
 * Writes what came of calls, one write after another. What cannot be written is tried again, all of it at once.
 *
 * Until the charge of an ended call is written, only this process's memory has it, and the caller waits for the end of the answer. While a
 * trouble lasts that may pass, the charge is kept and tried again: a disk is full or read-only, another process has the lock, the database is
 * away. It does not matter which process has the database by then. A write that fails for another reason is given up after some seconds, and
 * so are all that are left when the gateway ends. Memory is bounded: meanwhile no call begins without a decision of the books (`trouble`).
 */
import { setTimeout as delay } from "node:timers/promises";
import { Deferred, isPromise, type MaybePromise, thenOrCatch } from "../runtime/maybe-promise.ts";
import { LockedError, mayPass } from "../runtime/write-trouble.ts";
import { type Books, type JournalRecord, maxWaitMs } from "../storage/money/books.ts";
import type { Unwritten } from "./unwritten.ts";

export interface WritesOptions {
  readonly books: Pick<Books, "write" | "writeEveryMs">;
  /** Receives errors of what is tried again. */
  readonly onError: (error: unknown) => void;
}

export interface Writes {
  /** Writes all that is not written, at once or after the write that is under way, and resolves what waits for it. */
  end(ending: Deferred<void>): void;
  /** Writes what keeps its distance now, and gives up from now on what has been tried for long. */
  finish(): void;
  running(): PromiseLike<unknown> | undefined;
  /** trouble returns what keeps writes from arriving; undefined while they arrive. */
  trouble(): unknown;
}

export function createWrites(options: WritesOptions, unwritten: Unwritten): Writes {
  const lane = createWriteLane(options, unwritten);
  const { writeEveryMs = 0 } = options.books;
  if (writeEveryMs === 0) return lane;
  let waiting: Deferred<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let begunAt = Number.NEGATIVE_INFINITY;

  function hurry(): void {
    clearTimeout(timer);
    timer = undefined;
    const ending = waiting;
    waiting = undefined;
    if (!ending) return;
    begunAt = performance.now();
    lane.end(ending);
  }

  return {
    ...lane,
    end(ending) {
      waiting ??= new Deferred();
      waiting.then(
        () => ending.resolve(),
        (error) => ending.reject(error),
      );
      const leftMs = begunAt + writeEveryMs - performance.now();
      if (leftMs <= 0) hurry();
      else timer ??= setTimeout(hurry, leftMs);
    },
    finish() {
      hurry();
      lane.finish();
    },
    running: () => waiting ?? lane.running(),
  };
}

function createWriteLane({ books, onError }: WritesOptions, unwritten: Unwritten): Writes {
  let running: PromiseLike<void> | undefined;
  /** runningSince is by `performance.now()`. */
  let runningSince = 0;

  function run(): MaybePromise<void> {
    if (running) return running.then(run, run);
    const writing = writeEach(books, unwritten.seal(), unwritten);
    if (!isPromise(writing)) return undefined;
    let isOver = false;
    const over = () => {
      isOver = true;
      running = undefined;
    };
    const written = writing.then(over, (error) => {
      over();
      throw error;
    });
    // A Deferred that is settled calls back at once, as where the owner is gone: then `over` has run, and nothing is under way.
    if (!isOver) [running, runningSince] = [written, performance.now()];
    return written;
  }

  const again = createWriteAgain(run, unwritten, onError);
  const isStuck = () => running !== undefined && performance.now() - runningSince > maxWaitMs;
  return {
    end(ending) {
      if (again.isTrying()) again.join(ending);
      else
        thenOrCatch(
          run,
          () => ending.resolve(),
          (error) => again.failed(ending, error),
        );
    },
    finish: again.finish,
    running: () => running ?? again.trying(),
    trouble: () => again.trouble() ?? (isStuck() ? new LockedError() : undefined),
  };
}

/** writeEach writes records in their order: mostly there is one. */
function writeEach(
  books: Pick<Books, "write">,
  [first, ...others]: readonly JournalRecord[],
  unwritten: Pick<Unwritten, "written">,
): MaybePromise<void> {
  if (!first) return undefined;
  const next = () => {
    unwritten.written(first.seq);
    return writeEach(books, others, unwritten);
  };
  const writing = books.write(first);
  return isPromise(writing) ? writing.then(next) : next();
}

/** pausesMs are between one try and the next, in milliseconds; the last one is repeated. */
const pausesMs = [50, 200, 1000];
/** giveUpMs is for how long is tried at least what fails for a reason that does not pass by itself, in milliseconds. */
const giveUpMs = 4_000;
/** maxTold is how many failures one after another are told of. */
const maxTold = 5;

/** Waiting is what waits for a write that has failed. */
interface Waiting {
  readonly ending: Deferred<void>;
  /** since is by `performance.now()`. */
  readonly since: number;
}

/** WriteAgain tries writes again that have failed: one try is for all that wait. */
interface WriteAgain {
  /** failed takes what waits for a write that has failed. */
  failed(ending: Deferred<void>, error: unknown): void;
  /** join takes what was to be written while others are tried. */
  join(ending: Deferred<void>): void;
  isTrying(): boolean;
  trying(): Promise<void> | undefined;
  trouble(): unknown;
  finish(): void;
}

function createWriteAgain(
  run: () => MaybePromise<void>,
  unwritten: Unwritten,
  onError: (error: unknown) => void,
): WriteAgain {
  let waiting: Waiting[] = [];
  let trying: Promise<void> | undefined;
  let isEnding = false;
  const failures = createFailures(onError);

  /** Rejects what has waited for long, where waiting for longer does not help. */
  function giveUp(error: unknown): void {
    if (mayPass(error) && !isEnding) return;
    const until = performance.now() - giveUpMs;
    const late = waiting.filter(({ since }) => since <= until);
    if (late.length === 0) return;
    waiting = waiting.filter(({ since }) => since > until);
    unwritten.unseal();
    for (const { ending } of late) ending.reject(error);
  }

  async function tryAll(): Promise<void> {
    for (let tries = 0; waiting.length > 0; tries++) {
      await delay(pausesMs[Math.min(tries, pausesMs.length - 1)]);
      const asked = new Set(waiting);
      try {
        await run();
        failures.end();
        waiting = waiting.filter((one) => !asked.has(one));
        for (const { ending } of asked) ending.resolve();
      } catch (error) {
        failures.add(error);
        giveUp(error);
      }
    }
  }

  function join(ending: Deferred<void>): void {
    waiting.push({ ending, since: performance.now() });
    trying ??= tryAll().finally(() => {
      trying = undefined;
    });
  }

  return {
    join,
    failed(ending, error) {
      failures.add(error);
      join(ending);
    },
    isTrying: () => trying !== undefined,
    trying: () => trying,
    trouble: failures.trouble,
    finish() {
      isEnding = true;
    },
  };
}

/** createFailures keeps the trouble of the last failure until one write succeeds, and tells of the first of them. */
function createFailures(onError: (error: unknown) => void) {
  let trouble: unknown;
  let count = 0;
  return {
    add(error: unknown): void {
      trouble = mayPass(error) ? error : undefined;
      if (++count <= maxTold) onError(error);
    },
    end(): void {
      [trouble, count] = [undefined, 0];
    },
    trouble: () => trouble,
  };
}
