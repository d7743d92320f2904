/**
 * Counts tokens in a thread of its own: the tokenizer takes a sixth of a second to start, and half a millisecond per
 * thousand characters, during which no other request would be served.
 *
 * The thread is started with the first texts and kept. Where it dies, its counts are rejected, and the next texts
 * start another. It keeps the process alive only while it counts.
 */
import type { Worker } from "node:worker_threads";
import { cancelled } from "../call/refusals.ts";
import { startThread } from "../package/package-files.ts";
import type { Signal } from "../runtime/caller-abort.ts";
import type { TextCounter } from "./tokenizer.ts";

/** CountRequest asks the thread to count texts; without texts, to drop an earlier request. */
export interface CountRequest {
  readonly id: number;
  readonly texts?: readonly string[];
}

/** CountReply is the result; without tokens the count failed. */
export interface CountReply {
  readonly id: number;
  readonly tokens?: number;
}

interface Waiting {
  resolve(tokens: number): void;
  reject(error: Error): void;
}

export function startCounter(): Worker {
  return startThread("counter");
}

export function createCounter(start: () => Worker = startCounter): TextCounter {
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
