/**
 * Runs writes at once, or one after another as soon as no other process writes: meanwhile the event loop goes on, and with it every call
 * that needs no write. A write that finds the lock taken has changed nothing, for it is one transaction.
 */
import { Deferred, type MaybePromise } from "../../../../runtime/maybe-promise.ts";
import { LockedError } from "../../../../runtime/write-trouble.ts";
import { maxWaitMs } from "../../../money/books.ts";
import { pauseAfter } from "../../lock-retry.ts";

export interface WriteQueue {
  /** Rejects with what the write throws, or with a LockedError after `maxWaitMs`. */
  run<T>(write: () => T): MaybePromise<T>;
  /** Resolves once no write waits. */
  settled(): Promise<void>;
}

interface Waiting {
  /** Tries to write. Returns false where another process is writing. */
  readonly attempt: () => boolean;
  readonly fail: (error: unknown) => void;
  readonly over: PromiseLike<unknown>;
  /** waited is how long it has waited, in milliseconds. */
  waited: number;
}

/**
 * createWriteQueue creates the queue of writes that wait for another process. `tryToWrite` runs a write, and returns false where another
 * process is writing.
 */
export function createWriteQueue(tryToWrite: (write: () => void) => boolean): WriteQueue {
  let waiting: Waiting[] = [];
  let pauseMs = 0;
  let pausing: NodeJS.Timeout | undefined;

  function pause(): void {
    if (pausing || waiting.length === 0) return;
    pauseMs = pauseAfter(pauseMs);
    pausing = setTimeout(tryAgain, pauseMs);
  }

  function tryAgain(): void {
    pausing = undefined;
    for (const one of waiting) one.waited += pauseMs;
    for (let [first] = waiting; first; [first] = waiting) {
      if (!first.attempt()) break;
      pauseMs = 0;
      waiting.shift();
    }
    const late = waiting.filter(({ waited }) => waited >= maxWaitMs);
    waiting = waiting.filter((one) => !late.includes(one));
    for (const { fail } of late) fail(new LockedError());
    pause();
  }

  function wait<T>(write: () => T): Deferred<T> {
    const over = new Deferred<T>();
    const attempt = () => {
      let written: { readonly value: T } | undefined;
      try {
        if (!tryToWrite(() => (written = { value: write() }))) return false;
      } catch (error) {
        over.reject(error);
        return true;
      }
      if (written) over.resolve(written.value);
      return true;
    };
    waiting.push({ attempt, fail: (error) => over.reject(error), over, waited: 0 });
    pause();
    return over;
  }

  return {
    run<T>(write: () => T): MaybePromise<T> {
      if (waiting.length > 0) return wait(write);
      let value: T | undefined;
      const isDone = tryToWrite(() => {
        value = write();
      });
      return isDone ? (value as T) : wait(write);
    },
    async settled() {
      for (let [first] = waiting; first; [first] = waiting) await Promise.resolve(first.over).catch(() => {});
    },
  };
}
