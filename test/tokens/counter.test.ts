/** Texts are counted in a thread of their own, which delays neither answers nor the end of the process. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { CallerAbort } from "../../src/runtime/caller-abort.ts";
import { createCounter, startCounter } from "../../src/tokens/counter.ts";
import { loadTokenizer } from "../../src/tokens/tokenizer.ts";
import { shareOfThisThread } from "../support/run/cpu-time.ts";

const never = new AbortController().signal;
const words = "It rains in Oslo, and nobody has an umbrella. ";

/** A counter, with the threads that it started; they end with the test. */
function countersThreads(first: () => Worker = startCounter) {
  const threads: Worker[] = [];
  const counter = createCounter(() => {
    const thread = threads.length === 0 ? first() : startCounter();
    threads.push(thread);
    return thread;
  });
  return {
    ...{ counter, threads },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(threads.map((thread) => thread.terminate()));
    },
  };
}

test("the counter counts like the tokenizer, many texts at a time, in one thread", async () => {
  await using counting = countersThreads();
  const lists = [[], [""], ["one"], ["one two", "three", "奥斯陆"], [words.repeat(5000), "x"]];
  const counts = await Promise.all(lists.map((texts) => counting.counter.countAll(texts, never)));
  const { count } = await loadTokenizer();
  expect(counts).toEqual(lists.map((texts) => texts.reduce((total, text) => total + count(text), 0)));
  expect(counting.threads).toHaveLength(1);
});

test("the counter leaves its caller's thread free", async () => {
  await using counting = countersThreads();
  let count = 0;
  const share = await shareOfThisThread(async () => {
    count = await counting.counter.countAll([words.repeat(20_000)], never);
  });
  expect(count).toBe(220_001);
  expect(share).toBeLessThan(0.5);
});

test("the counter stops for a caller that disconnects", async () => {
  await using counting = countersThreads();
  const { counter, threads } = counting;
  await counter.countAll(["is there"], never);
  const caller = new CallerAbort();
  const counted = counter.countAll(["鑫".repeat(10_000_000)], caller);
  caller.abort();
  await expect(counted).rejects.toMatchObject({ status: 499 });
  await expect(counter.countAll(["gone before"], caller)).rejects.toMatchObject({ status: 499 });
  // The request takes half a minute, and more on a busy machine.
  const [thread] = threads;
  await expect.poll(() => idlesSince(thread as Worker), { timeout: 20_000, interval: 200 }).toBe(true);
});

/** Reports whether a thread has been idle since the last call. */
function idlesSince(thread: Worker): boolean {
  const before = seen.get(thread);
  const now = thread.performance.eventLoopUtilization();
  seen.set(thread, now);
  return before !== undefined && thread.performance.eventLoopUtilization(now, before).utilization < 0.2;
}
const seen = new WeakMap<Worker, ReturnType<typeof performance.eventLoopUtilization>>();

test("the counter refuses what a thread dies with, and starts another for the next text", async () => {
  const dying = 'require("node:worker_threads").parentPort.once("message", () => process.exit(3))';
  await using counting = countersThreads(() => new Worker(dying, { eval: true }));
  const { counter, threads } = counting;
  const both = await Promise.allSettled([counter.countAll(["a"], never), counter.countAll(["b"], never)]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await counter.countAll(["one two"], never)).toBe(2);
  expect(threads).toHaveLength(2);
});

test("the counter keeps the process alive while it counts, and no longer", async () => {
  const counter = join(import.meta.dirname, "../../src/tokens/counter.ts");
  const program = `
    const { counter } = await import(${JSON.stringify(counter)});
    const { signal } = new AbortController();
    counter.countAll(["one"], signal).then(() => counter.countAll(["one two three"], signal)).then(console.log);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    timeout: 30_000,
  });
  expect(stdout).toBe("3\n");
});
