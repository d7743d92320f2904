/**
 * Asks a thread one question after another, for work that is too long for the event loop. The thread is started with the first
 * question and kept; it keeps the process alive only while it works. Where it dies, the question is not answered, and the next one
 * starts another thread.
 */
import type { Transferable, Worker } from "node:worker_threads";

/** Question is what a thread is asked, and the memory that is handed over to it. */
export interface Question<Q> {
  readonly asked: Q;
  readonly transfer?: readonly Transferable[];
}

/**
 * AskThread asks when its turn comes, and not before: `question` is called then, and returns undefined where nobody waits for the
 * answer any more. Resolves with undefined then, and where the thread dies. Never rejects, but with what `question` throws.
 */
export type AskThread<Q, R> = (question: () => Question<Q> | undefined) => Promise<R | undefined>;

export function createQueuedThread<Q, R>(start: () => Worker): AskThread<Q, R> {
  let thread: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function running(): Worker {
    if (thread) return thread;
    const started = start();
    const lost = () => {
      if (thread === started) thread = undefined;
    };
    thread = started.on("error", lost).on("exit", lost);
    return thread;
  }

  return (question) => {
    const answering = last.then(() => {
      const asking = question();
      return asking && replyOf<R>(running(), asking.asked, asking.transfer);
    });
    last = answering.catch(() => {});
    return answering;
  };
}

function replyOf<R>(thread: Worker, asked: unknown, transfer: readonly Transferable[] = []): Promise<R | undefined> {
  return new Promise((resolve) => {
    const settle = (reply: R | undefined) => {
      thread.off("message", settle).off("error", lost).off("exit", lost).unref();
      resolve(reply);
    };
    const lost = () => settle(undefined);
    thread.on("message", settle).on("error", lost).on("exit", lost).ref();
    thread.postMessage(asked, transfer);
  });
}
