/**
 * The owner of a machine's workers: it has SQLite's ledger, rates and places in memory, and the metrics of all. Workers find it at a
 * socket. Over Postgres it owns no money: each worker is a node.
 */
import { createServer, type Server } from "node:net";
import type { Logger } from "pino";
import { createRetention } from "../../composition/retention.ts";
import { logFailures } from "../../composition/trouble-log.ts";
import { createWorkersMetrics, type WorkersMetrics } from "../../composition/workers-metrics.ts";
import type { Config } from "../../config/config.ts";
import { keepLimits } from "../../limits/owner/keep-limits.ts";
import { newId } from "../../runtime/ids.ts";
import { type Channel, createChannel } from "../../runtime/ipc/channel.ts";
import type { Storage } from "../../storage/storage.ts";
import { type OwnerInit, openStorageOfOwner } from "../../storage/storage-of-owner.ts";
import { databasePath, openConfigured } from "../command.ts";
import { setEngine } from "../engine/engine.ts";
import { StartError } from "../line/errors.ts";
import { enginesOf } from "../serving/engines.ts";
import { greeter } from "../serving/greet.ts";
import { openLog } from "../serving/log-lines.ts";
import { channelToParent, ignoreSignals, packConfig, unpackConfig } from "./child.ts";
import { configureAll, createJoined, type Joined } from "./configure-workers.ts";
import {
  hello,
  type LinkQuestions,
  type OwnerQuestions,
  type OwnerTask,
  type PrimaryQuestions,
  type WorkerCounts,
} from "./contract.ts";
import { type OwnerConfiguration, openOwnerConfiguration } from "./owner-configuration.ts";
import { configuredFor } from "./share.ts";

/** orphanMs is how long an owner whose primary has died waits for its workers to end, in milliseconds. */
const orphanMs = 5_000;

export async function owner(): Promise<void> {
  ignoreSignals();
  const parent = channelToParent();
  // Until it has begun nothing is under way.
  const control: Control = { stop: () => process.exit(0), greet: () => {}, count: () => {}, metrics: () => {} };
  parent.answer<OwnerQuestions>({
    "owner.greet": () => control.greet(),
    "owner.count": (counts) => control.count(counts),
    "owner.metrics": (isOwn) => control.metrics(isOwn),
    "owner.stop": () => control.stop(),
    "owner.ping": () => {},
  });
  try {
    const task = await parent.by<PrimaryQuestions>().ask("owner.begin", hello());
    if (!task.path) throw new StartError(tooOld);
    await own(parent, task, control);
  } finally {
    parent.close();
  }
  process.exit();
}

const tooOld =
  "this version cannot take the place of the one that serves, whose processes share work in another way: stop the gateway and start it anew";

/** Control is what the primary may ask. */
interface Control {
  stop: () => void;
  greet: () => void;
  count: (counts: WorkerCounts) => void;
  metrics: (isOwn: boolean) => void;
}

async function own(parent: Channel, task: OwnerTask, control: Control): Promise<void> {
  const given = unpackConfig(task.config);
  const log = openLog(given.logLevel);
  const { tell } = parent.by<PrimaryQuestions>();
  // The workers that it is to serve may be of a program that was replaced.
  const onOutdated = task.isRestarted ? () => tell("owner.waits", null) : undefined;
  const shared = await openShared(given, { isSuccessor: task.isSuccessor, onOutdated }, log);
  log.info(enginesOf(given, task.workers), "the gateway starts");
  const configuration = await openOwnerConfiguration({ task, given, storage: shared.storage, log });
  let counts: WorkerCounts = { serving: 0, replaced: 0 };
  const metrics = createWorkersMetrics({
    fd: task.metrics?.fd ?? null,
    serving: () => counts.serving,
    replaced: () => counts.replaced,
    log,
  });
  const joined = createJoined(task.generation);
  const fileText = () => configuration.fileText() ?? null;
  const configured = async () => {
    const config = configuration.current();
    tell("owner.configured", { config: packConfig(config), fileText: fileText() });
    shared.configured(config);
    await configureAll(joined, configuredFor(task.workers, config, fileText()));
  };
  void configured();
  const following = configuration.follow(configured);
  const stored = () => following.reload("a worker has found another version");
  const server = await listenForWorkers(task, { shared, metrics, joined, configuration, stored });
  const stopped = new Promise<void>((resolve) => {
    control.stop = resolve;
  });
  control.count = (next) => {
    counts = next;
  };
  control.metrics = (isOwn) => takeMetrics(metrics, isOwn, log);
  control.greet = () => void greet(task, configuration.current(), shared, log);
  setEngine();
  tell("owner.listens", null);
  await Promise.race([stopped, parent.closed.then(() => joined.ended(orphanMs))]);
  following.close();
  server.close();
  await metrics.close();
  await shared.close();
}

interface Parts {
  readonly shared: Shared;
  readonly metrics: WorkersMetrics;
  readonly joined: Joined;
  readonly configuration: OwnerConfiguration;
  readonly stored: () => Promise<void>;
}

/** listenForWorkers answers each worker once it has joined. */
async function listenForWorkers(
  { path, workers }: OwnerTask,
  { shared, metrics, joined, configuration, stored }: Parts,
): Promise<Server> {
  const limits = keepLimits(performance.now.bind(performance), () => workers);
  const server = createServer((socket) => {
    const channel = createChannel(socket);
    channel.answer<LinkQuestions>({
      "worker.join"({ number, generation }) {
        limits(channel, `${generation}.${number}`);
        shared.serve(channel);
        metrics.add(channel);
        joined.add(
          channel,
          generation,
          configuredFor(workers, configuration.current(), configuration.fileText() ?? null),
        );
      },
      "worker.stored": stored,
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(path, resolve);
  });
  return server;
}

function takeMetrics(metrics: WorkersMetrics, isOwn: boolean, log: Logger): void {
  const taken = isOwn ? metrics.listen() : metrics.close();
  void taken.catch((err: unknown) => log.error({ err }, "metrics cannot be read"));
}

interface Shared {
  readonly storage: Storage;
  /** Goes by another configuration. */
  configured(config: Config): void;
  /** Answers a worker what it asks of the database. */
  serve(channel: Channel): void;
  close(): Promise<void>;
}

/** openShared opens the database and brings its tables up to date, before any worker does. Throws a StorageError. */
async function openShared(
  config: Config,
  init: Pick<OwnerInit, "isSuccessor" | "onOutdated">,
  log: Logger,
): Promise<Shared> {
  const onError = logFailures(log, "work on the database failed, and goes on");
  if (config.database) return overPostgres(await openConfigured(config, onError));
  const node = newId("nod");
  const of = { node, clock: Date.now, onError, ...init };
  const opened = await openStorageOfOwner(databasePath(config), config.durability, of);
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
    async close() {
      await retention.close();
      await books.close();
      await storage.close();
    },
  };
}

function overPostgres(storage: Storage): Shared {
  return { storage, configured: () => {}, serve: () => {}, close: storage.close };
}

async function greet(task: OwnerTask, config: Config, { storage }: Shared, log: Logger): Promise<void> {
  const at = { host: config.host, port: task.port, metricsPort: task.metrics?.port };
  await greeter(config, task.file ?? undefined)(at, storage).catch((err: unknown) =>
    log.error({ err }, "the link for the first user could not be made"),
  );
}
