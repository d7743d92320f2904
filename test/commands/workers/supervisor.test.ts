/** Workers as their primary keeps them running: over real channels, without the processes behind them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Child, Ending } from "../../../src/commands/workers/child.ts";
import { hello, type StartQuestions, type WorkerQuestions } from "../../../src/commands/workers/contract.ts";
import { type Supervisor, superviseWorkers } from "../../../src/commands/workers/primary/supervisor.ts";
import { eventually } from "../../support/eventually.ts";
import { connectEnds, type Ends } from "../../support/workers/channels.ts";

/** A worker of the test's: its end of the channel, and what the primary has done with it. */
interface TestWorker {
  readonly ends: Ends;
  readonly killed: string[];
  end(ending: Ending): void;
}

let workers: TestWorker[];
let supervisor: Supervisor;
let served: number[];
let told: unknown[];
/** How long a worker may take to end, in milliseconds. */
let endMs: number;
/** Resolves to the ends of the worker that is started next. */
let next: Ends[];

beforeEach(async () => {
  [workers, served, told, endMs] = [[], [], [], 60_000];
  next = [await connectEnds(), await connectEnds()];
  supervisor = superviseWorkers({
    ...{
      generation: 1,
      configured: () => ({ config: "", fileText: null }),
      file: null,
      count: 1,
      fds: [],
      oneByOne: false,
    },
    get endMs() {
      return endMs;
    },
    log: { error: (...line: unknown[]) => void told.push(line) } as never,
    owner: async () => ({ hello: hello(), path: "/owner" }),
    onServes: (number) => void served.push(number),
    onCount: () => {},
    onOutdated: () => {},
    startWorker,
  });
});

afterEach(() => {
  for (const ends of [...next, ...workers.map((worker) => worker.ends)]) ends.kill();
});

function startWorker(): Child {
  const ends = next.shift() as Ends;
  const killed: string[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<Ending>();
  workers.push({ ends, killed, end });
  const process = { kill: (signal: string) => killed.push(signal) };
  return { process: process as never, channel: ends.parent, ended };
}

const firstOf = () => workers[0] as TestWorker;
const ask = ({ ends }: TestWorker) => ends.child.by<StartQuestions>().ask;

test("a worker that serves just when all are to end takes nobody's place", async () => {
  const one = firstOf();
  await ask(one)("worker.begin", hello());
  // It is killed, since it does not serve yet; what it says of that is on its way.
  supervisor.end(0, "close");
  expect(one.killed).toEqual(["SIGKILL"]);
  await ask(one)("worker.ready", null);
  expect(served).toEqual([]);
  expect(supervisor.counts().serving).toBe(0);
  one.end({ code: null, signal: "SIGKILL" });
  expect(await supervisor.ended).toBe(0);
  expect(workers).toHaveLength(1);
});

test("a worker that is to let go of the database ends by itself, and another takes its place", async () => {
  const one = firstOf();
  const asked: string[] = [];
  one.ends.child.answer<Pick<WorkerQuestions, "worker.yield">>({ "worker.yield": () => void asked.push("yield") });
  await ask(one)("worker.begin", hello());
  await ask(one)("worker.ready", null);
  expect(served).toEqual([1]);
  supervisor.yieldDatabase();
  await eventually(() => expect(asked).toEqual(["yield"]));
  expect(one.killed).toEqual([]);
  one.end({ code: 0, signal: null });
  await eventually(() => expect(workers).toHaveLength(2));
  expect(supervisor.counts()).toEqual({ serving: 0, replaced: 1 });
  // One that serves nobody yet need not be asked.
  supervisor.yieldDatabase();
  expect(workers[1]?.killed).toEqual(["SIGKILL"]);
});

test("a worker that does not end in time is killed, and the log says so", async () => {
  const one = firstOf();
  await ask(one)("worker.begin", hello());
  one.ends.child.answer<Pick<WorkerQuestions, "worker.end">>({ "worker.end": () => {} });
  await ask(one)("worker.ready", null);
  endMs = 200;
  supervisor.end(0, "close");
  expect(one.killed).toEqual([]);
  await eventually(() => expect(one.killed).toEqual(["SIGKILL"]));
  expect(told).toEqual([[{ worker: 1, after_ms: 200 }, "a worker has not ended in time, and is killed"]]);
  one.end({ code: null, signal: "SIGKILL" });
  expect(await supervisor.ended).toBe(0);
});
