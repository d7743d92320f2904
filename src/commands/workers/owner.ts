/**
 * The owner of a machine's workers: it has SQLite's ledger, rates and places in memory, and the metrics of all. It starts the workers and
 * keeps them running. Over Postgres it owns no money: each worker is a node.
 */
import type { Logger } from "pino";
import { createCrewMetrics } from "../../composition/crew-metrics.ts";
import { createRetention } from "../../composition/retention.ts";
import type { Config } from "../../config/config.ts";
import { keepLimits } from "../../limits/owner/keep-limits.ts";
import { newId } from "../../runtime/ids.ts";
import type { Channel } from "../../runtime/ipc/channel.ts";
import type { Storage } from "../../storage/storage.ts";
import { openStorageOfOwner } from "../../storage/storage-of-owner.ts";
import { databasePath, openConfigured } from "../command.ts";
import { setEngine } from "../engine/engine.ts";
import { enginesOf } from "../serving/engines.ts";
import { greeter } from "../serving/greet.ts";
import { openLog } from "../serving/log-lines.ts";
import { channelToParent, ignoreSignals, packConfig, unpackConfig } from "./child.ts";
import { hello, type OwnerQuestions, type OwnerTask, type PrimaryQuestions } from "./contract.ts";
import { type Crew, startCrew } from "./crew.ts";
import { openCrewConfiguration } from "./crew-configuration.ts";
import { shareOf } from "./share.ts";

/** endMs is how long a worker may take beyond its calls to end, in milliseconds. */
const endMs = 30_000;

export async function owner(): Promise<void> {
  ignoreSignals();
  const parent = channelToParent();
  // Until there are workers nothing is under way.
  const control: Control = { stop: () => process.exit(0), retire: () => {} };
  parent.answer<OwnerQuestions>({
    "owner.retire": (number) => control.retire(number),
    "owner.stop": () => control.stop(),
    "owner.ping": () => {},
  });
  try {
    const task = await parent.by<PrimaryQuestions>().ask("owner.begin", hello());
    process.exitCode = await own(parent, task, control);
  } finally {
    parent.close();
  }
  process.exit();
}

/** Control is what the primary may ask. */
interface Control {
  stop: () => void;
  retire: (worker: number) => void;
}

async function own(parent: Channel, task: OwnerTask, control: Control): Promise<number> {
  const given = unpackConfig(task.config);
  setEngine();
  const log = openLog(given.logLevel);
  const shared = await openShared(given, log);
  log.info(enginesOf(given, task.workers), "the gateway starts");
  const configuration = await openCrewConfiguration({ task, given, storage: shared.storage, log });
  const config = configuration.current();
  const limits = keepLimits(performance.now.bind(performance), () => task.workers);
  const { tell } = parent.by<PrimaryQuestions>();
  const configured = () => {
    tell("owner.configured", packConfig(configuration.current()));
    shared.configured(configuration.current());
  };
  configured();
  const metrics = createCrewMetrics({
    fd: task.metrics?.fd ?? null,
    serving: () => crew.serving(),
    replaced: () => crew.replaced(),
    log,
  });
  const current = () => packConfig(shareOf(configuration.current(), task.workers));
  const crew = startCrew({
    ...{ file: task.file, config: current, count: task.workers, fds: task.fds, oneByOne: task.isReplacing, log },
    endMs: config.drainMs + config.stopDelayMs + endMs,
    serve(channel, number) {
      limits(channel, String(number));
      shared.serve(channel);
      metrics.add(channel);
    },
    onServes(number) {
      void metrics.listen().catch((err: unknown) => log.error({ err }, "metrics cannot be read"));
      tell("owner.serves", number);
    },
    onStored: () => following.reload("a worker has found another version"),
    onOutdated: () => tell("owner.outdated", null),
  });
  const following = configuration.follow(async () => {
    configured();
    await crew.configure();
  });
  control.stop = () => crew.end(0, "close");
  control.retire = (number) => {
    // From now on the successor answers who reads metrics.
    void metrics.close();
    crew.end(number, "leave");
  };
  void parent.closed.then(control.stop);
  void whenReady(crew, config, task, { shared, log, tell });
  const code = await crew.ended;
  following.close();
  await metrics.close();
  await shared.close();
  return code;
}

interface Shared {
  readonly storage: Storage;
  /** Goes by another configuration. */
  configured(config: Config): void;
  /** Answers a worker what it asks of the database. */
  serve(channel: Channel): void;
  /** Runs work on the stores. */
  with(work: (storage: Storage) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Opens the database and brings its tables up to date, before any worker does. Throws a StorageError. */
async function openShared(config: Config, log: Logger): Promise<Shared> {
  const onError = (err: unknown) => log.error({ err }, "work on the database failed, and goes on");
  if (config.database) return overPostgres(await openConfigured(config, onError));
  const node = newId("nod");
  const opened = await openStorageOfOwner(databasePath(config), config.durability, { node, clock: Date.now, onError });
  const { storage, books } = opened;
  let current = config;
  const retention = createRetention({ store: storage.retention, settings: () => current, clock: Date.now, onError });
  void retention.run();
  return {
    storage,
    configured(next) {
      const isOther = next.retention !== current.retention;
      current = next;
      if (isOther) void retention.run();
    },
    serve: books.serve,
    with: (work) => work(storage),
    async close() {
      await retention.close();
      await books.close();
      await storage.close();
    },
  };
}

function overPostgres(storage: Storage): Shared {
  return { storage, configured: () => {}, serve: () => {}, with: (work) => work(storage), close: storage.close };
}

interface Told {
  readonly shared: Shared;
  readonly log: Logger;
  readonly tell: ReturnType<Channel["by"]>["tell"];
}

async function whenReady(crew: Crew, config: Config, task: OwnerTask, { shared, log, tell }: Told): Promise<void> {
  await crew.ready;
  tell("owner.ready", null);
  if (task.isSuccessor) return log.info({ workers: task.workers }, "the new workers serve");
  const at = { host: config.host, port: task.port, metricsPort: task.metrics?.port };
  const greet = greeter(config, task.file ?? undefined);
  await shared
    .with((storage) => greet(at, storage))
    .catch((err: unknown) => log.error({ err }, "the link for the first user could not be made"));
}
