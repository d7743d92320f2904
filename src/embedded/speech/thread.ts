/**
 * The thread of the speech worker: started with the first turn, then kept.
 *
 * It runs one turn at a time, and ends when it has had none for a while, because it takes 100 MB. A turn rejects where the thread dies in
 * it, and where it takes too long: then the thread is terminated. The next turn starts another thread. Between turns the thread does not
 * keep the process alive.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "../../package/package-files.ts";
import type { FromWorker, ToWorker } from "./protocol.ts";
import { compileFlite } from "./synthesis/flite.ts";

export interface ThreadOptions {
  /** Starts the worker. */
  readonly spawn?: () => Worker;
  /** The longest turn, in milliseconds. */
  readonly turnLimit?: number;
  /** idleMs is how long the thread is kept without a turn, in milliseconds. */
  readonly idleMs?: number;
}

export interface Thread {
  turn(message: ToWorker & { kind: "turn" }): Promise<FromWorker>;
  drop(id: number): void;
  close(): Promise<void>;
}

/** TurnTimeout means that a turn took longer than the limit. */
export class TurnTimeout extends Error {
  override readonly name = "TurnTimeout";
}

/** `onLost` is called for every thread that died or was terminated, with all its jobs. */
export function createThread(
  { spawn = spawnWorker, turnLimit = 20_000, idleMs = 300_000 }: ThreadOptions,
  onLost: () => void,
): Thread {
  const flite = keepFlite();
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  /** Ends the thread, and frees the machine code. A job that rests that long begins anew, as where the thread dies. */
  function release(): void {
    flite.forget();
    end(worker);
  }

  /** Starts a thread. Flite is compiled meanwhile. */
  async function start(): Promise<Worker> {
    // The current turn gets an error itself; between turns the thread only has to be forgotten.
    const started = spawn();
    started.on("error", () => forget(started)).on("exit", () => forget(started));
    worker = started;
    await load(started, flite.module());
    if (worker !== started) throw new Error("the speech worker died at its start");
    return started;
  }

  function forget(lost: Worker | undefined): void {
    if (worker === undefined || worker !== lost) return;
    worker = undefined;
    onLost();
  }

  function end(started: Worker | undefined): void {
    forget(started);
    void started?.terminate();
  }

  async function turn(message: ToWorker): Promise<FromWorker> {
    clearTimeout(idle);
    const running = worker ?? (await start());
    running.ref();
    try {
      return await answerOf(running, message, { turnLimit, onLate: () => end(running) });
    } finally {
      // A terminated thread keeps the process alive until it has ended: somebody waits for that.
      if (worker === running) running.unref();
      idle = setTimeout(release, idleMs).unref();
    }
  }

  async function close(): Promise<void> {
    clearTimeout(idle);
    const running = worker;
    worker = undefined;
    await running?.terminate();
  }

  return { turn, drop: (id) => worker?.postMessage({ kind: "drop", id } satisfies ToWorker), close };
}

/** Flite is compiled once, until it is forgotten: the machine code made so far serves every thread. */
function keepFlite() {
  let compiled: Promise<WebAssembly.Module> | undefined;
  const forget = () => {
    compiled = undefined;
  };
  return {
    forget,
    module() {
      compiled ??= compileFlite().catch((error: unknown) => {
        forget();
        throw error;
      });
      return compiled;
    },
  };
}

/** Hands Flite to a thread that has just started. Ends the thread where that fails. */
async function load(started: Worker, flite: Promise<WebAssembly.Module>): Promise<void> {
  try {
    started.postMessage({ kind: "load", flite: await flite } satisfies ToWorker);
  } catch (error) {
    await started.terminate();
    throw error;
  }
}

/** answerOf sends a message, and resolves with its answer. Rejects where the thread ends instead, and after `turnLimit`. */
async function answerOf(
  running: Worker,
  message: ToWorker,
  { turnLimit, onLate }: { readonly turnLimit: number; readonly onLate: () => void },
): Promise<FromWorker> {
  const { promise, resolve, reject } = Promise.withResolvers<FromWorker>();
  const late = setTimeout(() => {
    reject(new TurnTimeout(`a turn took more than ${turnLimit} ms`));
    onLate();
  }, turnLimit);
  const onExit = (code: number) => reject(new Error(`the speech worker ended with code ${code}`));
  running.once("message", resolve).once("error", reject).once("exit", onExit);
  running.postMessage(message);
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    running.off("message", resolve).off("error", reject).off("exit", onExit);
  }
}

export function spawnWorker(): Worker {
  return startThread("speech");
}
