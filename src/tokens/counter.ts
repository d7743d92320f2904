/**
 * Counts tokens in a thread of its own: the tokenizer takes a sixth of a second to start, and half a millisecond per
 * thousand characters, during which no other request would be served.
 *
 * The thread is started with the first texts and kept. Where it dies, its counts are rejected, and the next texts
 * start another. It keeps the process alive only while it counts. This file is both sides: as the thread's program it
 * counts all requests in turns.
 */
import { isMainThread, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import { cancelled } from "../call/refusals.ts";
import type { Signal } from "../runtime/caller-abort.ts";
import { putBehind } from "../runtime/thread-priority.ts";
import { loadTokenizer, type TextCounter } from "./tokenizer.ts";

/** CountRequest asks the thread to count texts; without texts, to drop an earlier request. */
interface CountRequest {
  readonly id: number;
  readonly texts?: readonly string[];
}

/** CountReply is the result; without tokens the count failed. */
interface CountReply {
  readonly id: number;
  readonly tokens?: number;
}

interface Waiting {
  resolve(tokens: number): void;
  reject(error: Error): void;
}

/** Marks a counting thread: tests run in threads of their own. */
const counterData = { counts: true };

export function startThread(): Worker {
  // Without this process's options, some of which threads do not accept.
  return new Worker(new URL(import.meta.url), { name: "counter", workerData: counterData, execArgv: [] });
}

export function createCounter(start: () => Worker = startThread): TextCounter {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let lastId = 0;

  function running(): Worker {
    if (thread) return thread;
    const started = start();
    const lost = () => forget(started);
    thread = started.on("message", settle).on("error", lost).on("exit", lost);
    return thread;
  }

  function settle({ id, tokens }: CountReply): void {
    const asked = waiting.get(id);
    if (tokens === undefined) asked?.reject(new Error("the tokenizer failed"));
    else asked?.resolve(tokens);
  }

  function forget(lost: Worker): void {
    if (thread !== lost) return;
    thread = undefined;
    for (const { reject } of waiting.values()) reject(new Error("the thread that counts ended"));
  }

  async function countAll(texts: readonly string[], signal: Signal): Promise<number> {
    if (signal.aborted) throw cancelled();
    const asked = running();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const id = ++lastId;
    const leave = () => {
      asked.postMessage({ id } satisfies CountRequest);
      reject(cancelled());
    };
    waiting.set(id, { resolve, reject });
    signal.addEventListener("abort", leave, { once: true });
    try {
      asked.ref();
      asked.postMessage({ id, texts } satisfies CountRequest);
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
      waiting.delete(id);
      if (waiting.size === 0) thread?.unref();
    }
  }

  return { countAll };
}

/** The counter of the process. */
export const counter = createCounter();

function serve(port: MessagePort): void {
  putBehind();
  const counts = new Map<number, AbortController>();
  port.on("message", ({ id, texts }: CountRequest) => {
    if (texts) void count(id, texts);
    else counts.get(id)?.abort();
  });

  async function count(id: number, texts: readonly string[]): Promise<void> {
    const leaving = new AbortController();
    counts.set(id, leaving);
    try {
      const tokens = await (await loadTokenizer()).countAll(texts, leaving.signal);
      port.postMessage({ id, tokens } satisfies CountReply);
    } catch {
      port.postMessage({ id } satisfies CountReply);
    } finally {
      counts.delete(id);
    }
  }
}

if (!isMainThread && (workerData as Partial<typeof counterData> | null)?.counts && parentPort) serve(parentPort);
