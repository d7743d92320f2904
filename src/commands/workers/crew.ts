/**
 * Keeps the workers of an owner running: one that dies is replaced at once, and later and later where it keeps dying. Then another worker
 * accepts its connections, too. One that no longer answers is killed.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { type Channel, ClosedError } from "../../runtime/ipc/channel.ts";
import { type Child, type Ending, socketFd, startChild } from "./child.ts";
import { type CrewQuestions, hello, type WorkerQuestions, type WorkerTask } from "./contract.ts";
import { createPauses } from "./pauses.ts";
import { createPings, pingMs } from "./pings.ts";

export interface CrewOptions {
  /** Returns the configuration of each worker as it is now, serialised. */
  readonly config: () => string;
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
  /** Answers a worker what it asks its owner. */
  readonly serve: (channel: Channel, number: number) => void;
  /** Called when a worker serves, by its number. */
  readonly onServes: (number: number) => void;
  /** Called when a worker has found another version of the configuration. Resolves when the workers serve by it, or it is refused. */
  readonly onStored: () => Promise<void>;
  /** Called when a worker turns out to be of another version. */
  readonly onOutdated: () => void;
}

export interface Crew {
  /** Resolves once all workers have served. */
  readonly ready: Promise<void>;
  /** Resolves once all have ended, with the exit code of the owner. */
  readonly ended: Promise<number>;
  /** Has a worker end, or all for 0. It is not replaced. */
  end(number: number, how: "close" | "leave"): void;
  /** Has all workers serve by the configuration as it is now. Resolves once they do; rejects where one cannot. */
  configure(): Promise<void>;
  /** Returns how many workers serve. */
  serving(): number;
  /** Returns how many workers were replaced because they had died. */
  replaced(): number;
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
  readonly options: CrewOptions;
  readonly own: ReturnType<typeof hello>;
  readonly slots: readonly Slot[];
  readonly onReady: () => void;
  readonly onEnded: (code: number) => void;
  replaced: number;
}

/** From such a pause on another worker accepts the connections of one that keeps dying, in milliseconds. */
const adoptMs = 1_000;
/** cleanEndMs is how long a worker that ended by itself is waited for before it is replaced: all processes may have been asked to end. */
const cleanEndMs = 200;
const outdatedMs = 5_000;
/** configureMs is how long a change of the configuration waits for a worker that has not taken it, in milliseconds. */
const configureMs = 1_000;

export function startCrew(options: CrewOptions): Crew {
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<number>();
  const slots = Array.from({ length: options.count }, (_, i) => newSlot(i + 1));
  const state: State = {
    ...{ options, own: hello(), slots, replaced: 0 },
    ...{ onReady: ready.resolve, onEnded: ended.resolve },
  };
  for (const slot of options.oneByOne ? slots.slice(0, 1) : slots) start(state, slot);
  const pinging = setInterval(() => pingAll(state), pingMs).unref();
  void ended.promise.then(() => clearInterval(pinging));
  return {
    ready: ready.promise,
    ended: ended.promise,
    end(number, how) {
      for (const slot of slots) if (number === 0 || slot.number === number) end(state, slot, how);
    },
    configure: () => configure(state),
    serving: () => slots.filter(({ serves }) => serves).length,
    replaced: () => state.replaced,
  };
}

function newSlot(number: number): Slot {
  const before = { child: undefined, startedAt: 0, serves: false, hasServed: false, isOver: false };
  return { number, pause: createPauses(), answers: () => true, ...before };
}

function start(state: State, slot: Slot): void {
  const { options, own } = state;
  const child = startChild("worker", options.fds);
  const answers = createPings(() => child.channel.by<WorkerQuestions>().ask("worker.ping", null));
  Object.assign(slot, { child, answers, startedAt: performance.now() });
  let pauseMs: number | undefined;
  child.channel.answer<CrewQuestions>({
    "worker.begin"(its) {
      if (its.protocol === own.protocol && its.version === own.version) return taskOf(slot, options);
      pauseMs = outdatedMs;
      options.onOutdated();
      return null;
    },
    "worker.ready": () => onServes(state, slot),
    "worker.stored": () => options.onStored(),
  });
  options.serve(child.channel, slot.number);
  void child.ended.then((ending) => onEnd(state, slot, ending, pauseMs));
}

function taskOf({ number }: Slot, { config, file, count, fds }: CrewOptions): WorkerTask {
  const all = fds.map((_, index) => socketFd(index));
  const own = all.filter((_, index) =>
    fds.length < count ? index === (number - 1) % fds.length : index % count === number - 1,
  );
  return { config: config(), file, number, count, fds: own };
}

function onServes(state: State, slot: Slot): void {
  const { slots, options } = state;
  Object.assign(slot, { serves: true, hasServed: true });
  options.onServes(slot.number);
  const following = slots.find(({ child, hasServed, isOver }) => !child && !hasServed && !isOver);
  if (following) start(state, following);
  else if (slots.every(({ hasServed }) => hasServed)) state.onReady();
}

function onEnd(state: State, slot: Slot, { code, signal }: Ending, outdated: number | undefined): void {
  const { options, slots } = state;
  Object.assign(slot, { child: undefined, serves: false });
  if (slot.isOver) return void endIfOver(state, 0);
  if (!slots.some(({ hasServed }) => hasServed) && outdated === undefined && signal === null) {
    // It has said why it could not start, as one that is killed cannot. So nothing serves.
    for (const one of slots) end(state, one, "close");
    return void state.onEnded(code || 1);
  }
  state.replaced++;
  const isClean = code === 0 ? cleanEndMs : 0;
  const pauseMs = outdated ?? Math.max(isClean, slot.pause(performance.now() - slot.startedAt));
  options.log.error({ worker: slot.number, code, signal, pause_ms: pauseMs }, "a worker has ended, and is replaced");
  if (pauseMs >= adoptMs) adopt(state, slot);
  void delay(pauseMs).then(() => {
    if (!slot.isOver) start(state, slot);
  });
}

/** Has another worker accept the connections that wait for this one. */
function adopt({ slots, options }: State, slot: Slot): void {
  const other = slots.find(({ serves }) => serves);
  for (const fd of taskOf(slot, options).fds) other?.child?.channel.by<WorkerQuestions>().tell("worker.adopt", fd);
}

function end(state: State, slot: Slot, how: "close" | "leave"): void {
  if (slot.isOver) return;
  slot.isOver = true;
  const { child } = slot;
  if (!child) return void endIfOver(state, 0);
  const kill = () => void child.process.kill("SIGKILL");
  if (!slot.serves) return void kill();
  child.channel.by<WorkerQuestions>().tell("worker.end", how);
  const late = setTimeout(kill, state.options.endMs);
  void child.ended.then(() => clearTimeout(late));
}

function endIfOver({ slots, onEnded }: State, code: number): void {
  if (slots.every(({ isOver, child }) => isOver && !child)) onEnded(code);
}

async function configure({ slots, options }: State): Promise<void> {
  const config = options.config();
  const told = slots
    .flatMap(({ child }) => (child ? [child] : []))
    .map(async ({ channel }) => {
      const late = delay(configureMs, undefined, { ref: false });
      const asking = channel.by<WorkerQuestions>().ask("worker.configure", config);
      // One that is not as far yet takes it when it begins, and one that ends needs none.
      const taken = asking.then(undefined, (error: unknown) => {
        if (!(error instanceof ClosedError)) throw error;
      });
      await Promise.race([taken, late]);
    });
  await Promise.all(told);
}

function pingAll({ slots, options: { log } }: State): void {
  for (const { child, serves, number, answers } of slots) {
    if (!child || !serves || answers()) continue;
    log.error({ worker: number }, "a worker does not answer, and is killed");
    child.process.kill("SIGKILL");
  }
}
