/**
 * The primary of a machine's processes: it binds the port, keeps an owner and its workers running, and passes signals on. It serves nothing
 * itself and knows no database, so that there is little that could end it.
 *
 * An owner that dies is replaced, and the workers go on with the next. SIGTERM and SIGINT end everything once calls are over; a second one
 * ends it at once. SIGHUP reads the configuration anew and starts another owner from the program as it is now. Once a worker of its serves,
 * all go by that owner, and each of its workers takes the place of one of the old ones, which leaves when its calls are over. Where the new
 * processes cannot start, the old ones go on.
 */
import { availableParallelism } from "node:os";
import type { Config } from "../../../config/config.ts";
import { restartFor } from "../../engine/restart.ts";
import { refuseTakenPorts } from "../../serving/listening.ts";
import { openLog } from "../../serving/log-lines.ts";
import { createStopRequest } from "../../serving/stop-signal.ts";
import { createIsTerminalClosed } from "../../serving/terminal.ts";
import { makeSocketFolder } from "./folder.ts";
import { countsOf, type Generations, giveOwner, newGeneration } from "./generations.ts";
import { createPauses } from "./pauses.ts";
import { pingMs } from "./pings.ts";
import { bindSockets } from "./sockets.ts";

export interface PrimaryOptions {
  /** Reads the configuration anew. Throws a ConfigError. */
  readonly load: () => Config;
  /** The configuration file that was named on the command line. */
  readonly file: string | undefined;
}

/** The longest pause before an owner is started again, in milliseconds: until it is there calls wait, and then are refused. */
const maxPauseMs = 2_000;

type Load = PrimaryOptions["load"];

/** runPrimary serves until a signal ends it. Throws a StartError. */
export async function runPrimary(config: Config, { load, file }: PrimaryOptions): Promise<void> {
  restartFor(config.memory);
  const log = openLog(config.logLevel);
  await refuseTakenPorts(config);
  const sockets = await bindSockets(config, workersOf(config), log);
  const folder = await makeSocketFolder(config);
  const { promise, resolve: finish } = Promise.withResolvers<number>();
  const all: Generations = {
    ...{ log, sockets, folder, file, finish, pause: createPauses(maxPauseMs), owners: new Set() },
    ...{ current: newGeneration(1, workersOf(config), config), previous: undefined, next: undefined },
    ...{ hasServed: false, isStopping: false },
    onOutdated: () => reload(all, load, "the program was replaced by another version"),
  };
  listenForSignals(all, load);
  setInterval(() => pingOwners(all), pingMs).unref();
  giveOwner(all, all.current);
  const code = await promise;
  folder.remove();
  process.exit(code);
}

function workersOf({ workers }: Config): number {
  return typeof workers === "number" ? workers : availableParallelism();
}

/** Kills an owner that does not answer: another is started then. */
function pingOwners({ owners, log }: Generations): void {
  for (const owner of owners) {
    if (!owner.listens() || owner.answers()) continue;
    log.error("the process that owns the database does not answer, and is killed");
    owner.kill();
  }
}

/** reload starts what is to follow, from the configuration and the program as they are now. */
function reload(all: Generations, load: Load, why: string): void {
  const { log, current, previous, next, isStopping, sockets } = all;
  if (isStopping || !current.supervisor) return;
  if (next || previous)
    return void log.warn("the processes are being replaced already: repeat the signal when that is over");
  try {
    const config = load();
    // Old processes and new ones serve side by side for a while: on the same data, or one of them would be wrong.
    if (isElsewhere(config, current.config)) return void log.error(elsewhere);
    if (config.host !== current.config.host || (config.port !== 0 && config.port !== sockets.port))
      log.warn({ port: sockets.port }, "the address stays as it is until the gateway is started anew");
    log.info({ why }, "the processes are replaced, one by one");
    const workers = workersOf(config);
    sockets.growTo(workers);
    const { replaced } = countsOf(current);
    all.next = newGeneration(current.number + 1, workers, { ...config, host: current.config.host }, replaced);
    all.next.fileText = current.fileText;
    giveOwner(all, all.next);
  } catch (error) {
    log.error({ cause: (error as Error).message }, "the new configuration is not taken, and the old one stays");
  }
}

const elsewhere =
  "the new configuration has its data elsewhere, and the old one stays: stop the gateway and start it for that";

function isElsewhere(one: Config, other: Config): boolean {
  return one.dataDir !== other.dataDir || one.database?.url !== other.database?.url;
}

function listenForSignals(all: Generations, load: Load): void {
  const isTerminalClosed = createIsTerminalClosed();
  const end = () => {
    all.isStopping = true;
    for (const one of [all.current, all.previous, all.next]) {
      if (one?.supervisor) one.supervisor.end(0, "close");
      else one?.owner?.stop();
    }
  };
  const stop = createStopRequest(end, () => killAll(all));
  process.on("SIGTERM", stop).on("SIGINT", stop);
  // A closed terminal sends it, too: then everything ends.
  process.on("SIGHUP", () => (isTerminalClosed() ? stop() : reload(all, load, "SIGHUP")));
}

function killAll({ current, previous, next, owners, finish }: Generations): void {
  for (const one of [current, previous, next]) one?.supervisor?.kill();
  for (const owner of owners) owner.kill();
  finish(1);
}
