/**
 * How the embedded speech models share one worker thread: promptly, fairly, without blocking, and without losing a
 * request when the worker dies.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, test } from "vitest";
import { Reason } from "../../src/call/refusals.ts";
import type { Job } from "../../src/embedded/speech/job.ts";
import { createScheduler, type SchedulerOptions } from "../../src/embedded/speech/scheduler.ts";
import { spawnWorker } from "../../src/embedded/speech/thread.ts";
import { shareOfThisThread } from "../support/run/cpu-time.ts";
import { timed } from "../support/run/running-time.ts";

const short = "Hello there, how are you?";
const long = "It was the best of times, it was the worst of times, it was the age of wisdom. "
  .repeat(60)
  .slice(0, 4096);

const job = (rest: Partial<Job> = {}): Job => ({
  ...{ text: short, voice: "nova", speed: 1, format: "pcm", quality: "standard" },
  ...rest,
});

const never = new AbortController().signal;

interface Heard {
  readonly audio: Buffer;
  /** When the first piece came, in milliseconds. */
  readonly first: number;
  readonly pieces: number;
}

async function hear(sound: AsyncIterable<Uint8Array>, onPiece = async () => {}): Promise<Heard> {
  const start = performance.now();
  let first = 0;
  const pieces: Uint8Array[] = [];
  for await (const piece of sound) {
    first ||= performance.now() - start;
    pieces.push(piece);
    await onPiece();
  }
  return { audio: Buffer.concat(pieces), first, pieces: pieces.length };
}

const shared = createScheduler();
afterAll(() => shared.close());

/** Runs with a scheduler of its own, and closes it. */
async function withScheduler(
  options: SchedulerOptions,
  use: (scheduler: ReturnType<typeof createScheduler>) => Promise<void>,
) {
  const scheduler = createScheduler(options);
  try {
    await use(scheduler);
  } finally {
    await scheduler.close();
  }
}

describe("speech", () => {
  // How soon that is in milliseconds `npm run bench:first-sound` measures.
  test.each(["mp3", "opus", "aac", "flac", "wav", "pcm"] as const)(
    "is heard as soon as its beginning is made, as %s",
    async (format) => {
      let made = 0;
      const spawn = () => spawnWorker().on("message", () => made++);
      await withScheduler({ spawn }, async (scheduler) => {
        const sound = scheduler.perform(job({ text: long, format, voice: "onyx" }), never);
        await sound.next();
        expect(made).toBe(1);
        await sound.return(0);
      });
    },
  );

  test("of 4096 characters comes complete, and never blocks the event loop", async () => {
    const share = await shareOfThisThread(async () => {
      const { audio, pieces } = await hear(shared.perform(job({ text: long, format: "mp3" }), never));
      // 8000 bytes are a second.
      expect(audio.length / 8000).toBeGreaterThan(150);
      expect(pieces).toBeGreaterThan(100);
    });
    // Made on this thread, it would be near 1.
    expect(share).toBeLessThan(0.5);
  });

  test("is not made far ahead of its listener", async () => {
    let made = 0;
    const spawn = () => spawnWorker().on("message", () => made++);
    await withScheduler({ spawn }, async (scheduler) => {
      const sound = scheduler.perform(job({ text: long }), never);
      await sound.next();
      await sleep(700);
      expect(made).toBeLessThanOrEqual(6);
      await sound.return(0);
    });
  });
});

describe("many requests", () => {
  test("run side by side: a short text does not wait for long ones", async () => {
    let longDone = 0;
    const others = [1, 2].map((i) =>
      hear(shared.perform(job({ text: long.slice(0, 1000), voice: i % 2 ? "echo" : "fable" }), never)).then((heard) => {
        longDone += 1;
        return heard;
      }),
    );
    const shorts = await Promise.all([1, 2, 3].map(() => hear(shared.perform(job({ format: "opus" }), never))));
    expect(longDone).toBe(0);
    for (const { audio } of shorts) expect(audio.equals(shorts[0]?.audio as Buffer)).toBe(true);
    for (const { audio } of await Promise.all(others)) expect(audio.length / 48_000).toBeGreaterThan(30);
  });

  test("take seats in order of arrival, and one without a listener gives up its seat", async () => {
    const undisturbed = await hear(shared.perform(job({ text: long.slice(0, 250), format: "mp3" }), never));
    await withScheduler({ seats: 1, guests: 0, stallMs: 100 }, async (scheduler) => {
      const stalled = scheduler.perform(job({ text: long.slice(0, 250), format: "mp3" }), never);
      const { value: begin } = await stalled.next();
      const { audio } = await hear(scheduler.perform(job(), never));
      expect(audio.length).toBeGreaterThan(0);
      // And it continues where it was.
      const rest = await hear(stalled);
      expect(Buffer.concat([begin as Uint8Array, rest.audio]).equals(undisturbed.audio)).toBe(true);
    });
  });
});

describe("with all seats taken by long texts", () => {
  /** Runs with these seats, and counts the worker's turns. */
  async function crowded(
    options: SchedulerOptions,
    use: (scheduler: ReturnType<typeof createScheduler>, turns: () => number) => Promise<void>,
  ) {
    let turns = 0;
    const spawn = () => spawnWorker().on("message", () => turns++);
    await withScheduler({ ...options, spawn }, (scheduler) => use(scheduler, () => turns));
  }

  /** Listens until it is told to leave. Resolves with everything heard once the first piece is there. */
  function listener(scheduler: ReturnType<typeof createScheduler>, signal: AbortSignal, text = long) {
    const first = Promise.withResolvers<void>();
    let pieces = 0;
    const over = hear(scheduler.perform(job({ text }), signal), async () => {
      pieces += 1;
      first.resolve();
    });
    return { first: first.promise, over, pieces: () => pieces };
  }

  test("a short text is heard after a few turns, completely", async () => {
    const leaving = new AbortController();
    await crowded({ seats: 2, guests: 1 }, async (scheduler, turns) => {
      const others = Array.from({ length: 6 }, () => listener(scheduler, leaving.signal));
      await Promise.all(others.map(({ first }) => first));
      const before = turns();
      const { audio } = await hear(scheduler.perform(job({ text: "Hello." }), never));
      expect(audio.length).toBeGreaterThan(0);
      expect(turns() - before).toBeLessThan(20);
      leaving.abort();
      await Promise.allSettled(others.map(({ over }) => over));
    });
  });

  test("each of many is heard before any gets far", async () => {
    const leaving = new AbortController();
    await crowded({ seats: 2, guests: 1 }, async (scheduler) => {
      const all = Array.from({ length: 8 }, () => listener(scheduler, leaving.signal));
      await Promise.all(all.map(({ first }) => first));
      expect(Math.max(...all.map(({ pieces }) => pieces()))).toBeLessThan(30);
      leaving.abort();
      await Promise.allSettled(all.map(({ over }) => over));
    });
  });

  test("a request that gave up its seat continues where it was", async () => {
    const text = long.slice(0, 250);
    const undisturbed = await hear(shared.perform(job({ text, format: "opus" }), never));
    await crowded({ seats: 1, guests: 1 }, async (scheduler) => {
      const all = await Promise.all(
        Array.from({ length: 3 }, () => hear(scheduler.perform(job({ text, format: "opus" }), never))),
      );
      for (const { audio } of all) expect(audio.equals(undisturbed.audio)).toBe(true);
    });
  });

  test("callers beyond the limit are refused, and told to retry", async () => {
    const leaving = new AbortController();
    await crowded({ seats: 1, guests: 0, maxWaiting: 1 }, async (scheduler) => {
      const speaking = listener(scheduler, leaving.signal);
      await speaking.first;
      const waiting = listener(scheduler, leaving.signal);
      const refused = { status: 503, headers: { "retry-after": "5" } };
      await expect(hear(scheduler.perform(job(), never))).rejects.toMatchObject(refused);
      leaving.abort();
      await Promise.allSettled([speaking.over, waiting.over]);
      expect((await hear(scheduler.perform(job(), never))).audio.length).toBeGreaterThan(0);
    });
  });

  test("a caller that does not read keeps nobody from a seat", async () => {
    await crowded({ seats: 2, guests: 0, stallMs: 50 }, async (scheduler) => {
      const stalled = [1, 2].map(() => scheduler.perform(job({ text: long }), never));
      await Promise.all(stalled.map((sound) => sound.next()));
      expect((await hear(scheduler.perform(job({ text: long.slice(0, 300) }), never))).audio.length).toBeGreaterThan(0);
      await Promise.all(stalled.map((sound) => sound.return(0)));
    });
  });
});

describe("a caller that disconnects", () => {
  test("gets no more, and the worker is free at once", async () => {
    const leaving = new AbortController();
    const left = hear(shared.perform(job({ text: long, speed: 0.25 }), leaving.signal), async () => leaving.abort());
    await expect(left).rejects.toMatchObject({ reason: Reason.CANCELLED });
    const { first } = await hear(shared.perform(job(), never));
    // The whole of what the first one asked for takes many seconds to make.
    expect(first).toBeLessThan(5000);
  });

  test("is noticed before the first sound", async () => {
    const leaving = new AbortController();
    const sound = hear(shared.perform(job({ text: long }), leaving.signal));
    leaving.abort();
    const [, { runningMs }] = await timed(() => expect(sound).rejects.toMatchObject({ reason: Reason.CANCELLED }));
    expect(runningMs).toBeLessThan(50);
    await expect(hear(shared.perform(job(), AbortSignal.abort()))).rejects.toMatchObject({ reason: Reason.CANCELLED });
  });
});

describe("a worker", () => {
  const idle = () => new Worker("setInterval(() => {}, 1000)", { eval: true });
  const dying = () => new Worker("process.exit(3)", { eval: true });

  /** Starts these workers first, then real ones. */
  const first = (...starts: (() => Worker)[]) => ({ spawn: () => (starts.shift() ?? spawnWorker)() });

  test("that dies fails no request: each continues where it was", async () => {
    const text = long.slice(0, 250);
    const jobs = [
      job({ text, format: "mp3" }),
      job({ text, format: "aac", voice: "onyx" }),
      job({ text, format: "opus" }),
    ];
    const undisturbed = await Promise.all(jobs.map((each) => hear(shared.perform(each, never))));
    const workers: Worker[] = [];
    const spawn = () => {
      workers.push(spawnWorker());
      return workers.at(-1) as Worker;
    };
    await withScheduler({ spawn }, async (scheduler) => {
      let pieces = 0;
      const kill = async () => {
        pieces += 1;
        if (pieces === 6) await workers[0]?.terminate();
      };
      const heard = await Promise.all(jobs.map((each) => hear(scheduler.perform(each, never), kill)));
      for (const [i, { audio }] of heard.entries()) {
        expect(audio.equals(undisturbed[i]?.audio as Buffer), jobs[i]?.format).toBe(true);
      }
      expect(workers.length).toBe(2);
    });
  });

  test("that dies twice in the turn of one request fails only that one", async () => {
    await withScheduler(first(dying, dying), async (scheduler) => {
      const failing = hear(scheduler.perform(job(), never));
      const waiting = hear(scheduler.perform(job(), never));
      await expect(failing).rejects.toMatchObject({ reason: Reason.UPSTREAM_FAILED, status: 502 });
      expect((await waiting).audio.length).toBeGreaterThan(0);
    });
  });

  test("that hangs is terminated, and the next request has another", async () => {
    await withScheduler({ ...first(idle), turnLimit: 3000 }, async (scheduler) => {
      const hanging = hear(scheduler.perform(job(), never));
      await expect(hanging).rejects.toMatchObject({ reason: Reason.UPSTREAM_TIMEOUT, status: 504 });
      expect((await hear(scheduler.perform(job(), never))).audio.length).toBeGreaterThan(0);
    });
  });

  test("finishes running requests when it is closed, and takes no new ones", async () => {
    const scheduler = createScheduler();
    const sound = hear(scheduler.perform(job({ format: "flac" }), never));
    const closed = scheduler.close();
    await expect(hear(scheduler.perform(job(), never))).rejects.toMatchObject({ reason: Reason.UPSTREAM_FAILED });
    expect((await sound).audio.length).toBeGreaterThan(0);
    await closed;
  });

  test("lets the process end when it is idle", async () => {
    const module = (name: string) => join(import.meta.dirname, "../../src/embedded/speech", name);
    const script = `
      const { createScheduler } = await import(${JSON.stringify(module("scheduler.ts"))});
      for await (const piece of createScheduler().perform(${JSON.stringify(job({ format: "mp3" }))}, new AbortController().signal)) void piece;
      console.log("spoken");`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      timeout: 15_000,
    });
    expect(stdout).toBe("spoken\n");
  });
});
