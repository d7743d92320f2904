/**
 * The primary of a machine's processes: it binds the port, keeps an owner running, and passes signals on. It serves nothing itself and knows
 * no database, so that there is little that could end it.
 *
 * SIGTERM and SIGINT end everything once calls are over; a second one ends it at once. SIGHUP reads the configuration anew and starts
 * another owner from the program as it is now: each of its workers takes the place of one of the old ones, which leaves when its calls are
 * over. Where the new one cannot start, the old one goes on.
 */
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../config/config.ts";
import { restartFor } from "../engine/restart.ts";
import { refuseTakenPorts } from "../serving/listening.ts";
import { openLog } from "../serving/log-lines.ts";
import { echoMs } from "../serving/stop-signal.ts";
import { createIsTerminalClosed } from "../serving/terminal.ts";
import { type Child, packConfig, socketFd, startChild, unpackConfig } from "./child.ts";
import type { OwnerQuestions, OwnerTask, PrimaryQuestions } from "./contract.ts";
import { createPauses } from "./pauses.ts";
import { createPings, pingMs } from "./pings.ts";
import { bindSockets, type Sockets } from "./sockets.ts";

export interface PrimaryOptions {
  /** Reads the configuration anew. Throws a ConfigError. */
  readonly load: () => Config;
  /** The configuration file that was named on the command line. */
  readonly file: string | undefined;
}

/** Generation is an owner with its workers. */
interface Generation {
  readonly child: Child;
  /** config is what it was started with, or serves by now. */
  config: Config;
  /** Says that a worker of it has served: it is no longer at work on the tables of the database. */
  hasServed: boolean;
  /** Asks whether it answers. */
  readonly answers: () => boolean;
}

interface State extends PrimaryOptions {
  readonly log: Logger;
  readonly sockets: Sockets;
  /** The newest generation that serves, or the first. */
  current: Generation | undefined;
  /** The one before it, while its workers leave. */
  previous: Generation | undefined;
  /** The one that is to follow, until a worker of it serves. */
  next: Generation | undefined;
  hasServed: boolean;
  isStopping: boolean;
  /** Ends the primary with an exit code. */
  readonly finish: (code: number) => void;
  readonly pause: ReturnType<typeof createPauses>;
}

/** Serves until a signal ends it. Throws a StartError. */
export async function runPrimary(config: Config, options: PrimaryOptions): Promise<void> {
  restartFor(config.memory);
  const log = openLog(config.logLevel);
  await refuseTakenPorts(config);
  const sockets = await bindSockets(config, workersOf(config), log);
  const { promise, resolve: finish } = Promise.withResolvers<number>();
  const state: State = {
    ...options,
    ...{ log, sockets, finish, pause: createPauses() },
    ...{ current: undefined, previous: undefined, next: undefined, hasServed: false, isStopping: false },
  };
  listenForSignals(state);
  setInterval(() => ping(state), pingMs).unref();
  state.current = startGeneration(state, config, { isSuccessor: false, isReplacing: false });
  process.exit(await promise);
}

function workersOf({ workers }: Config): number {
  return typeof workers === "number" ? workers : availableParallelism();
}

type Place = Pick<OwnerTask, "isSuccessor" | "isReplacing">;

function startGeneration(state: State, config: Config, place: Place): Generation {
  const { sockets } = state;
  const startedAt = performance.now();
  sockets.growTo(workersOf(config));
  const { port, metricsFd, metricsPort } = sockets;
  const given = sockets.fds();
  const child = startChild("owner", metricsPort === undefined ? given : [...given, metricsFd]);
  const answers = createPings(() => child.channel.by<OwnerQuestions>().ask("owner.ping", null));
  const generation: Generation = { child, config, hasServed: false, answers };
  const task: OwnerTask = {
    config: packConfig(config),
    file: state.file ?? null,
    workers: workersOf(config),
    fds: given.map((_, index) => socketFd(index)),
    port,
    metrics: metricsPort === undefined ? null : { fd: socketFd(given.length), port: metricsPort },
    ...place,
  };
  child.channel.answer<PrimaryQuestions>({
    "owner.begin": () => task,
    "owner.serves": (worker) => onServes(state, generation, worker),
    "owner.configured": (text) => {
      generation.config = unpackConfig(text);
    },
    "owner.ready": () => retire(state, generation, 0),
    "owner.outdated": () => reload(state, "the program was replaced by another version"),
  });
  void child.ended.then(({ code, signal }) => {
    const livedMs = performance.now() - startedAt;
    onEnd(state, generation, { code: code ?? 1, signal, livedMs });
  });
  return generation;
}

/** Has a worker of the generation before leave, now that another serves in its place. */
function onServes(state: State, generation: Generation, worker: number): void {
  if (state.next === generation) {
    state.previous = state.current;
    state.current = generation;
    state.next = undefined;
  }
  generation.hasServed = true;
  state.hasServed = true;
  retire(state, generation, worker);
}

function retire({ current, previous }: State, generation: Generation, worker: number): void {
  if (current === generation) previous?.child.channel.by<OwnerQuestions>().tell("owner.retire", worker);
}

interface Ended {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
  readonly livedMs: number;
}

function onEnd(state: State, generation: Generation, { code, signal, livedMs }: Ended): void {
  const { log, finish } = state;
  if (state.previous === generation) state.previous = undefined;
  if (state.next === generation) {
    state.next = undefined;
    log.error({ code, signal }, "the new processes could not start, and the old ones go on: see the lines before");
  }
  if (state.current !== generation) return;
  state.current = undefined;
  if (state.isStopping) return;
  // The process that failed has written why; one that was killed could not.
  if (!state.hasServed && signal === null) return void finish(code);
  const pauseMs = state.pause(livedMs);
  log.error({ code, signal, pause_ms: pauseMs }, "the process that owns the database has ended, and is started again");
  void delay(pauseMs).then(() => {
    if (state.isStopping || state.current) return;
    state.current = startGeneration(state, generation.config, { isSuccessor: state.hasServed, isReplacing: false });
  });
}

/** Kills an owner that does not answer: another is started then. */
function ping({ current, log }: State): void {
  if (!current?.hasServed || current.answers()) return;
  log.error("the process that owns the database does not answer, and is killed");
  current.child.process.kill("SIGKILL");
}

/** Starts what is to follow, from the configuration and the program as they are now. */
function reload(state: State, why: string): void {
  const { log, load, current, previous, next, isStopping, sockets } = state;
  if (isStopping || !current) return;
  if (next || previous)
    return void log.warn("the processes are being replaced already: repeat the signal when that is over");
  try {
    const config = load();
    // Old processes and new ones serve side by side for a while: on the same data, or one of them would be wrong.
    if (isElsewhere(config, current.config)) return void log.error(elsewhere);
    if (config.host !== current.config.host || (config.port !== 0 && config.port !== sockets.port))
      log.warn({ port: sockets.port }, "the address stays as it is until the gateway is started anew");
    log.info({ why }, "the processes are replaced, one by one");
    const place = { isSuccessor: true, isReplacing: true };
    state.next = startGeneration(state, { ...config, host: current.config.host }, place);
  } catch (error) {
    log.error({ cause: (error as Error).message }, "the new configuration is not taken, and the old one stays");
  }
}

const elsewhere =
  "the new configuration has its data elsewhere, and the old one stays: stop the gateway and start it for that";

function isElsewhere(one: Config, other: Config): boolean {
  return one.dataDir !== other.dataDir || one.database?.url !== other.database?.url;
}

function listenForSignals(state: State): void {
  const isTerminalClosed = createIsTerminalClosed();
  let askedAt: number | undefined;
  const stop = () => {
    if (askedAt !== undefined && performance.now() - askedAt > echoMs) killAll(state);
    askedAt ??= performance.now();
    state.isStopping = true;
    const running = [state.current, state.previous, state.next].filter((one) => one !== undefined);
    for (const { child } of running) child.channel.by<OwnerQuestions>().tell("owner.stop", null);
    void Promise.all(running.map(({ child }) => child.ended)).then(() => state.finish(0));
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
  // A closed terminal sends it, too: then everything ends.
  process.on("SIGHUP", () => (isTerminalClosed() ? stop() : reload(state, "SIGHUP")));
}

/** Their workers end with them, at once. */
function killAll({ current, previous, next, finish }: State): void {
  for (const one of [current, previous, next]) one?.child.process.kill("SIGKILL");
  finish(1);
}
