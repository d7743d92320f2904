/**
 * Keeps a generation of workers running: one that dies is replaced at once, and later and later where it keeps dying. Then another worker
 * accepts its connections, too. One that no longer answers is killed. Their owner may change meanwhile.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { type Child, type Ending, socketFd, startChild } from "../child.ts";
import type { Configured, Hello, StartQuestions, WorkerCounts, WorkerQuestions, WorkerTask } from "../contract.ts";
import { createPauses } from "./pauses.ts";
import { createPings, pingMs } from "./pings.ts";

/** Ownership is what workers need to know of their owner. */
export interface Ownership {
  readonly hello: Hello;
  /** path is where it listens. */
  readonly path: string;
}

export interface SupervisorOptions {
  readonly generation: number;
  /** configured returns what each worker serves by, as it is now. */
  readonly configured: () => Configured;
  /** The configuration file that was named on the command line; null for none. */
  readonly file: string | null;
  readonly count: number;
  /** The bound sockets, of which each is a worker's; workers share them where there are fewer. */
  readonly fds: readonly number[];
  /** Starts a worker only once the one before it serves. */
  readonly oneByOne: boolean;
  /** endMs is how long a worker may take to end, in milliseconds. */
  readonly endMs: number;
  readonly log: Logger;
  /** Resolves to their owner, once there is one. */
  readonly owner: () => Promise<Ownership>;
  /** Called when a worker serves, by its number. */
  readonly onServes: (number: number) => void;
  /** Called when a worker serves no more, or another has taken its place. */
  readonly onCount: (counts: WorkerCounts) => void;
  /** Called when a worker turns out to be of another version than its owner. */
  readonly onOutdated: () => void;
  /** startWorker starts a process that has these sockets. Default: one of this program. */
  readonly startWorker?: (fds: readonly number[]) => Child;
}

export interface Supervisor {
  /** Resolves once all workers have served. */
  readonly ready: Promise<void>;
  /** Resolves once all have ended, with an exit code: another than 0 where none could start. */
  readonly ended: Promise<number>;
  /** Has all workers go on with the owner at a path. Resolves once those that live do. */
  join(path: string): Promise<void>;
  /** Has a worker end, or all for 0. It is not replaced. */
  end(number: number, how: "close" | "leave"): void;
  /** yieldDatabase has all let go of the database, and end once their calls are over: each is replaced, unless it was to end. */
  yieldDatabase(): void;
  /** Kills all that there are: each is replaced, unless it was to end. */
  kill(): void;
  counts(): WorkerCounts;
}

interface Slot {
  readonly number: number;
  readonly pause: ReturnType<typeof createPauses>;
  child: Child | undefined;
  startedAt: number;
  serves: boolean;
  hasServed: boolean;
  isOver: boolean;
  /** Asks whether it answers. */
  answers: () => boolean;
}

interface State {
  readonly options: SupervisorOptions;
  readonly slots: readonly Slot[];
  readonly onReady: () => void;
  readonly onEnded: (code: number) => void;
  replaced: number;
  /** code is what it ends with. */
  code: number;
}

/** adoptMs is the pause, in milliseconds, from which on another worker accepts the connections of one that keeps dying. */
const adoptMs = 1_000;
/** cleanEndMs is how long a worker that ended by itself is waited for before it is replaced: all processes may have been asked to end. */
const cleanEndMs = 200;
const outdatedMs = 5_000;

export function superviseWorkers(options: SupervisorOptions): Supervisor {
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<number>();
  const slots = Array.from({ length: options.count }, (_, i) => newSlot(i + 1));
  const state: State = { options, slots, replaced: 0, code: 0, onReady: ready.resolve, onEnded: ended.resolve };
  for (const slot of options.oneByOne ? slots.slice(0, 1) : slots) start(state, slot);
  const pinging = setInterval(() => pingAll(state), pingMs).unref();
  void ended.promise.then(() => clearInterval(pinging));
  return {
    ready: ready.promise,
    ended: ended.promise,
    async join(path) {
      await Promise.allSettled(
        slots.map(({ child }) => child?.channel.by<WorkerQuestions>().ask("worker.owner", path)),
      );
    },
    end(number, how) {
      for (const slot of slots) if (number === 0 || slot.number === number) end(state, slot, how);
    },
    yieldDatabase() {
      for (const { child, serves } of slots) {
        if (serves) child?.channel.by<WorkerQuestions>().tell("worker.yield", null);
        // It may have the database, or not: it serves nobody.
        else child?.process.kill("SIGKILL");
      }
    },
    kill() {
      for (const { child } of slots) child?.process.kill("SIGKILL");
    },
    counts: () => countsOf(state),
  };
}

function newSlot(number: number): Slot {
  const before = { child: undefined, startedAt: 0, serves: false, hasServed: false, isOver: false };
  return { number, pause: createPauses(), answers: () => true, ...before };
}

function countsOf({ slots, replaced }: State): WorkerCounts {
  return { serving: slots.filter(({ serves }) => serves).length, replaced };
}

function start(state: State, slot: Slot): void {
  const { options } = state;
  const { startWorker = (fds) => startChild("worker", fds) } = options;
  const child = startWorker(options.fds);
  const answers = createPings(() => child.channel.by<WorkerQuestions>().ask("worker.ping", null));
  Object.assign(slot, { child, answers, startedAt: performance.now() });
  let pauseMs: number | undefined;
  child.channel.answer<StartQuestions>({
    async "worker.begin"(its) {
      const { hello, path } = await options.owner();
      if (its.protocol === hello.protocol && its.version === hello.version) return taskOf(slot, options, path);
      pauseMs = outdatedMs;
      options.onOutdated();
      return null;
    },
    "worker.ready": () => onServes(state, slot),
  });
  void child.ended.then((ending) => onEnd(state, slot, ending, pauseMs));
}

function taskOf(slot: Slot, options: SupervisorOptions, path: string): WorkerTask {
  const { configured, file, count, generation } = options;
  return { ...configured(), file, number: slot.number, count, fds: fdsOf(slot, options), generation, path };
}

/** fdsOf returns the sockets that a worker accepts connections of. */
function fdsOf({ number }: Slot, { count, fds }: SupervisorOptions): number[] {
  const all = fds.map((_, index) => socketFd(index));
  return all.filter((_, index) =>
    fds.length < count ? index === (number - 1) % fds.length : index % count === number - 1,
  );
}

function onServes(state: State, slot: Slot): void {
  // It is to end: what it said before nobody goes by.
  if (slot.isOver) return;
  const { slots, options } = state;
  Object.assign(slot, { serves: true, hasServed: true });
  options.onCount(countsOf(state));
  options.onServes(slot.number);
  const following = slots.find(({ child, hasServed, isOver }) => !child && !hasServed && !isOver);
  if (following) start(state, following);
  else if (slots.every(({ hasServed }) => hasServed)) state.onReady();
}

function onEnd(state: State, slot: Slot, { code, signal }: Ending, outdated: number | undefined): void {
  const { options, slots } = state;
  Object.assign(slot, { child: undefined, serves: false });
  if (slot.isOver) return void endIfOver(state);
  if (!slots.some(({ hasServed }) => hasServed) && outdated === undefined && signal === null) {
    // It has said why it could not start, as one that is killed cannot. So nothing serves.
    state.code = code || 1;
    for (const one of slots) end(state, one, "close");
    return;
  }
  state.replaced++;
  options.onCount(countsOf(state));
  const isClean = code === 0 ? cleanEndMs : 0;
  const pauseMs = outdated ?? Math.max(isClean, slot.pause(performance.now() - slot.startedAt));
  options.log.error({ worker: slot.number, code, signal, pause_ms: pauseMs }, "a worker has ended, and is replaced");
  if (pauseMs >= adoptMs) adopt(state, slot);
  void delay(pauseMs).then(() => {
    if (!slot.isOver) start(state, slot);
  });
}

/** adopt has another worker accept the connections that wait for this one. */
function adopt({ slots, options }: State, slot: Slot): void {
  const other = slots.find(({ serves }) => serves);
  for (const fd of fdsOf(slot, options)) other?.child?.channel.by<WorkerQuestions>().tell("worker.adopt", fd);
}

function end(state: State, slot: Slot, how: "close" | "leave"): void {
  if (slot.isOver) return;
  slot.isOver = true;
  const { child } = slot;
  if (!child) return void endIfOver(state);
  const kill = () => void child.process.kill("SIGKILL");
  if (!slot.serves) return void kill();
  child.channel.by<WorkerQuestions>().tell("worker.end", how);
  const { endMs, log } = state.options;
  const late = setTimeout(() => {
    log.error({ worker: slot.number, after_ms: endMs }, "a worker has not ended in time, and is killed");
    kill();
  }, endMs);
  void child.ended.then(() => clearTimeout(late));
}

function endIfOver({ slots, onEnded, code }: State): void {
  if (slots.every(({ isOver, child }) => isOver && !child)) onEnded(code);
}

function pingAll({ slots, options: { log } }: State): void {
  for (const { child, serves, number, answers } of slots) {
    if (!child || !serves || answers()) continue;
    log.error({ worker: number }, "a worker does not answer, and is killed");
    child.process.kill("SIGKILL");
  }
}
