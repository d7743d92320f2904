/**
 * The thread of the speech worker: started when the first turn is asked for, then kept warm.
 *
 * It does a turn at a time. A turn rejects where the thread dies in it, and where it takes too long: then the thread
 * is ended. The next turn starts another. Between turns the thread does not keep the process alive.
 */
import { Worker } from "node:worker_threads";
import { workerEntry } from "./assets.ts";
import type { FromWorker, ToWorker } from "./protocol.ts";
import { compileFlite } from "./synthesis/flite.ts";

export interface ThreadOptions {
  /** Starts the worker. */
  readonly spawn?: () => Worker;
  /** The most that a turn takes, in milliseconds. */
  readonly turnLimit?: number;
}

export interface Thread {
  turn(message: ToWorker & { kind: "turn" }): Promise<FromWorker>;
  drop(id: number): void;
  close(): Promise<void>;
}

/** A turn took longer than the limit. */
export class TurnTimeout extends Error {
  override readonly name = "TooLong";
}

/** `onLost` is told of every thread that died or was ended with all it knew. */
export function createThread({ spawn = spawnWorker, turnLimit = 20_000 }: ThreadOptions, onLost: () => void): Thread {
  /** Compiled once: the machine code made so far serves every thread. */
  let flite: Promise<WebAssembly.Module> | undefined;
  let worker: Worker | undefined;

  /** Flite is compiled while the thread starts. */
  async function start(): Promise<Worker> {
    const started = spawn();
    // Told to whoever has the turn; between turns it is enough to forget the thread.
    started.on("error", () => forget(started)).on("exit", () => forget(started));
    worker = started;
    try {
      flite ??= compileFlite();
      started.postMessage({ kind: "load", flite: await flite } satisfies ToWorker);
    } catch (error) {
      flite = undefined;
      await started.terminate();
      throw error;
    }
    if (worker !== started) throw new Error("the speech worker died at its start");
    return started;
  }

  function forget(lost: Worker): void {
    if (worker !== lost) return;
    worker = undefined;
    onLost();
  }

  async function turn(message: ToWorker): Promise<FromWorker> {
    const running = worker ?? (await start());
    running.ref();
    const { promise, resolve, reject } = Promise.withResolvers<FromWorker>();
    const late = setTimeout(() => {
      reject(new TurnTimeout(`a turn took more than ${turnLimit} ms`));
      forget(running);
      void running.terminate();
    }, turnLimit);
    const onExit = (code: number) => reject(new Error(`the speech worker ended with code ${code}`));
    running.once("message", resolve).once("error", reject).once("exit", onExit);
    running.postMessage(message);
    try {
      return await promise;
    } finally {
      clearTimeout(late);
      running.off("message", resolve).off("error", reject).off("exit", onExit);
      // One that is being ended keeps the process alive until it has: somebody waits for that.
      if (worker === running) running.unref();
    }
  }

  async function close(): Promise<void> {
    const running = worker;
    worker = undefined;
    await running?.terminate();
  }

  return { turn, drop: (id) => worker?.postMessage({ kind: "drop", id } satisfies ToWorker), close };
}

export function spawnWorker(): Worker {
  // Without the options of this process, which may be none for a thread.
  return new Worker(workerEntry, { name: "speech", execArgv: [] });
}
