/**
 * Generations of workers and their owners: which serves, which leaves, which is to follow, and what becomes of each when one of its
 * processes ends.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../../config/config.ts";
import { type Ending, packConfig } from "../child.ts";
import type { Hello, WorkerCounts } from "../contract.ts";
import { configuredFor } from "../share.ts";
import type { SocketFolder } from "./folder.ts";
import { type OwnerProcess, startOwner } from "./owner-process.ts";
import type { createPauses } from "./pauses.ts";
import type { Sockets } from "./sockets.ts";
import { type Supervisor, superviseWorkers } from "./supervisor.ts";

/** Generation is workers that were started together. */
export interface Generation {
  readonly number: number;
  readonly workers: number;
  /** config is what its workers serve by. */
  config: Config;
  /** fileText is the text of the file that its last owner went by, and at first that of the generation before; null for none. */
  fileText: string | null;
  /** Its own owner; undefined while there is none, or once its workers go by that of the next generation. */
  owner: OwnerProcess | undefined;
  /** Resolves to the owner that its workers go by, once that listens. */
  owned: PromiseWithResolvers<OwnerProcess>;
  /** Undefined until its first owner listens. */
  supervisor: Supervisor | undefined;
  /** hello is what its workers are. */
  hello: Hello | undefined;
  /** replacedBefore is how many workers of generations before were replaced because they had died. */
  readonly replacedBefore: number;
  /** hasYielded says that its workers were to let go of the database: they serve no more, and others are to take their place. */
  hasYielded: boolean;
  /** isOver says that all its workers have ended for good. */
  isOver: boolean;
}

export interface Generations {
  readonly log: Logger;
  readonly sockets: Sockets;
  readonly folder: SocketFolder;
  /** The configuration file that was named on the command line. */
  readonly file: string | undefined;
  /** The newest generation that serves, or the first. */
  current: Generation;
  /** The one before it, while its workers leave. */
  previous: Generation | undefined;
  /** The one that is to follow, until a worker of it serves. */
  next: Generation | undefined;
  /** All owners that run. */
  readonly owners: Set<OwnerProcess>;
  hasServed: boolean;
  isStopping: boolean;
  /** Ends the primary with an exit code. */
  readonly finish: (code: number) => void;
  readonly pause: ReturnType<typeof createPauses>;
  /** Called when the program turns out to have been replaced by another version. */
  readonly onOutdated: () => void;
}

/** endMs is how long a worker may take beyond its calls to end, in milliseconds. */
const endMs = 30_000;

export function newGeneration(number: number, workers: number, config: Config, replacedBefore = 0): Generation {
  return {
    ...{ number, workers, config, fileText: null, replacedBefore, isOver: false, hasYielded: false },
    ...{ owner: undefined, owned: Promise.withResolvers(), supervisor: undefined, hello: undefined },
  };
}

export function countsOf({ supervisor, replacedBefore }: Generation): WorkerCounts {
  const { serving, replaced } = supervisor?.counts() ?? { serving: 0, replaced: 0 };
  return { serving, replaced: replacedBefore + replaced };
}

/** giveOwner starts an owner for a generation: its first, or one in the place of one that has died. */
export function giveOwner(all: Generations, generation: Generation): void {
  const { sockets, folder, file } = all;
  const { config, number, workers } = generation;
  const startedAt = performance.now();
  const path = folder.next();
  const isRestarted = generation === all.current && all.hasServed;
  const owner = startOwner({
    task: {
      ...{ config: packConfig(config), file: file ?? null, fileText: generation.fileText, workers, generation: number },
      ...{ path, port: sockets.port, isRestarted, isSuccessor: all.hasServed },
    },
    metrics: sockets.metricsPort === undefined ? null : { fd: sockets.metricsFd, port: sockets.metricsPort },
    onConfigured(next, fileText) {
      generation.config = next;
      generation.fileText = fileText;
    },
    onListens: () => onListens(all, generation, owner),
    onWaits: () => onWaits(all, generation, owner),
  });
  generation.owner = owner;
  all.owners.add(owner);
  void owner.ended.then((ending) => {
    all.owners.delete(owner);
    onOwnerEnd(all, generation, owner, { ...ending, livedMs: performance.now() - startedAt });
    finishIfOver(all);
  });
}

/** onListens has workers go by their owner, or starts them. */
function onListens(all: Generations, generation: Generation, owner: OwnerProcess): void {
  // Its workers were handed over to the owner of another generation while it started: it is asked to stop.
  if (generation.owner !== owner) return;
  const { supervisor, hello } = generation;
  generation.owned.resolve(owner);
  if (!supervisor) return void startWorkers(all, generation);
  owner.count(countsOf(generation));
  if (all.hasServed) owner.readMetrics(generation === all.current);
  if (owner.hello.protocol !== hello?.protocol) {
    all.log.error("the program was replaced by a version that these workers cannot go on with: they are started again");
    generation.hello = owner.hello;
    return void supervisor.kill();
  }
  void supervisor.join(owner.path);
  // Workers that leave are to go by it, too, as they went by the one that has died.
  if (all.previous && !all.previous.owner) {
    all.previous.owned = generation.owned;
    void all.previous.supervisor?.join(owner.path);
  }
  if (owner.hello.version !== hello.version || generation.hasYielded) all.onOutdated();
  generation.hasYielded = false;
}

/**
 * onWaits has workers let go of the database, which the program of their next owner is to change: they are of the program that was
 * replaced.
 */
function onWaits(all: Generations, generation: Generation, owner: OwnerProcess): void {
  if (generation.owner !== owner) return;
  all.log.warn(
    "the program was replaced by a version that changes the database: the workers end their calls, and new ones take their place",
  );
  generation.hasYielded = true;
  for (const one of [generation, all.previous]) one?.supervisor?.yieldDatabase();
}

function startWorkers(all: Generations, generation: Generation): void {
  const { sockets, file, log } = all;
  const { config, number, workers: count } = generation;
  generation.hello = generation.owner?.hello;
  const supervisor = superviseWorkers({
    ...{ generation: number, file: file ?? null, count, fds: sockets.fds(), log },
    configured: () => configuredFor(count, generation.config, generation.fileText),
    oneByOne: generation === all.next,
    endMs: config.drainMs + config.stopDelayMs + endMs,
    owner: () => generation.owned.promise,
    onServes: (worker) => onServes(all, generation, worker),
    onCount: () => generation.owner?.count(countsOf(generation)),
    onOutdated: all.onOutdated,
  });
  generation.supervisor = supervisor;
  void supervisor.ready.then(() => onReady(all, generation));
  void supervisor.ended.then((code) => {
    generation.isOver = true;
    onWorkersEnd(all, generation, code);
    finishIfOver(all);
  });
  if (all.isStopping) supervisor.end(0, "close");
}

/** onServes has a worker of the generation before leave, now that another serves in its place. */
function onServes(all: Generations, generation: Generation, worker: number): void {
  if (all.next === generation) {
    all.previous = all.current;
    all.current = generation;
    all.next = undefined;
    handOver(all.previous, generation);
  }
  all.hasServed = true;
  generation.owner?.readMetrics(true);
  if (all.current === generation) all.previous?.supervisor?.end(worker, "leave");
}

/** handOver has the workers of a generation go by the owner of another. Their own ends then. */
function handOver(from: Generation, to: Generation): void {
  const { owner: before, supervisor, hello } = from;
  const after = to.owner;
  before?.readMetrics(false);
  // Processes of another kind keep an owner of their own until they have ended.
  if (!after || after.hello.protocol !== hello?.protocol) {
    if (!before) supervisor?.kill();
    return;
  }
  from.owner = undefined;
  from.owned = to.owned;
  void supervisor?.join(after.path).then(() => before?.stop());
}

function onReady(all: Generations, generation: Generation): void {
  if (generation.number === 1) void generation.owned.promise.then((owner) => owner.greet());
  else all.log.info({ workers: generation.workers }, "the new workers serve");
  if (all.current === generation) all.previous?.supervisor?.end(0, "leave");
}

function onWorkersEnd(all: Generations, generation: Generation, code: number): void {
  if (all.previous === generation) all.previous = undefined;
  for (const one of new Set([generation, all.current])) if (!needsOwner(all, one)) one.owner?.stop();
  if (all.next === generation) {
    all.next = undefined;
    all.log.error({ code }, "the new processes could not start, and the old ones go on: see the lines before");
  }
  if (all.current !== generation || all.isStopping) return;
  // It has said why nothing serves.
  const ended = generation.owner?.ended ?? Promise.resolve();
  void ended.then(() => all.finish(code));
}

/** needsOwner reports whether workers go by the owner of a generation: its own, or those before it that are leaving. */
function needsOwner({ current, previous }: Generations, generation: Generation): boolean {
  return !generation.isOver || (generation === current && previous !== undefined && !previous.owner);
}

interface OwnerEnding extends Ending {
  readonly livedMs: number;
}

function onOwnerEnd(all: Generations, generation: Generation, owner: OwnerProcess, ending: OwnerEnding): void {
  const { code, signal, livedMs } = ending;
  // Its workers have ended, or go by another.
  if (generation.owner !== owner || !needsOwner(all, generation)) return;
  generation.owner = undefined;
  if (owner.listens()) generation.owned = Promise.withResolvers();
  const { supervisor } = generation;
  if (all.next === generation) {
    if (supervisor) return void supervisor.end(0, "close");
    all.next = undefined;
    return void all.log.error(
      { code, signal },
      "the new processes could not start, and the old ones go on: see the lines before",
    );
  }
  if (all.previous === generation) return void supervisor?.kill();
  if (all.isStopping && !supervisor) return;
  // The process that failed has written why; one that was killed could not.
  if (!all.hasServed && signal === null) return void all.finish(code ?? 1);
  const pauseMs = all.pause(livedMs);
  all.log.error(
    { code, signal, pause_ms: pauseMs },
    "the process that owns the database has ended, and is started again",
  );
  void delay(pauseMs).then(() => {
    if (!generation.owner && needsOwner(all, generation) && generation === all.current) giveOwner(all, generation);
  });
}

/** finishIfOver ends the primary once everything has ended that was to. */
function finishIfOver({ isStopping, owners, current, previous, next, finish }: Generations): void {
  if (!isStopping || owners.size > 0) return;
  if ([current, previous, next].every((one) => !one?.supervisor || one.isOver)) finish(0);
}
