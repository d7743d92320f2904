/**
 * Counts texts in a thread of its own: the tokenizer takes a sixth of a second before it counts its first word, and half a
 * millisecond for a thousand characters, in which nobody else would be answered.
 *
 * The thread is started when the first texts come, and kept. Where it dies, what it had to count is refused, and what comes
 * next has another. It keeps the process alive only while it counts. This file is both sides: as the thread's program, it
 * counts, all that it is asked in turns.
 */
import { isMainThread, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import { cancelled } from "../call/refusals.ts";
import type { Signal } from "../runtime/caller-abort.ts";
import { putBehind } from "../runtime/thread-priority.ts";
import { loadTokenizer, type TextCounter } from "./tokenizer.ts";

/** What the thread is asked: to count texts; without any, to leave what it was asked before. */
interface CountRequest {
  readonly id: number;
  readonly texts?: readonly string[];
}

/** What it says; without tokens it could not count. */
interface CountReply {
  readonly id: number;
  readonly tokens?: number;
}

interface Waiting {
  resolve(tokens: number): void;
  reject(error: Error): void;
}

/** Whose data says so is such a thread: tests run in threads of their own. */
const counterData = { counts: true };

export function startThread(): Worker {
  // Without the options of this process, which may be none for a thread.
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

/** Of the process. */
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
