/**
 * A worker: serves calls on the machine's port. Its owner decides on money, keeps rates and places, and is asked over their channel.
 *
 * Where the owner has died, the worker refuses calls with 503 for a moment, and ends: another owner starts others.
 */
import type { Logger } from "pino";
import type { Gateway } from "../../composition/gateway.ts";
import type { Config } from "../../config/config.ts";
import type { Channel } from "../../runtime/ipc/channel.ts";
import { openStorageOfWorker } from "../../storage/storage-of-owner.ts";
import { databasePath, openConfigured } from "../command.ts";
import { setEngine } from "../engine/engine.ts";
import { openSource } from "../serving/configuration-source.ts";
import { openLog } from "../serving/log-lines.ts";
import { type Stop, serveUntil } from "../serving/run-gateway.ts";
import { channelToParent, ignoreSignals, unpackConfig } from "./child.ts";
import { type CrewQuestions, hello, type WorkerQuestions, type WorkerTask } from "./contract.ts";

/** orphanMs is how long a worker whose owner has died may take to end, in milliseconds. */
const orphanMs = 1_000;

export async function worker(): Promise<void> {
  ignoreSignals();
  const channel = channelToParent();
  const configured = followOwner(channel);
  try {
    const task = await channel.by<CrewQuestions>().ask("worker.begin", hello());
    if (task) await serveTask(channel, task, configured);
  } finally {
    channel.close();
  }
  process.exit(0);
}

interface Configured {
  /** follow has `take` called with what the owner says, at once where it has said something meanwhile. Returns what ends that. */
  follow(take: (next: Config) => void): () => void;
}

/** followOwner hears from the beginning: what the owner says while the worker starts is newer than its task. */
function followOwner(channel: Channel): Configured {
  let latest: Config | undefined;
  let taking: ((next: Config) => void) | undefined;
  channel.answer<Pick<WorkerQuestions, "worker.configure">>({
    "worker.configure"(config) {
      latest = unpackConfig(config);
      taking?.(latest);
    },
  });
  return {
    follow(take) {
      taking = take;
      if (latest) take(latest);
      return () => (taking = undefined);
    },
  };
}

async function serveTask(channel: Channel, task: WorkerTask, { follow }: Configured): Promise<void> {
  const config = unpackConfig(task.config);
  const [fd, ...others] = task.fds;
  setEngine();
  const log = openLog(config.logLevel, task.number);
  const storage = await openStorage(config, channel, log);
  const source = openSource({ config, storage, file: task.file ?? undefined, log });
  // The owner reads for all workers, so that they serve by the same.
  source.onStoredChange(async () => {
    await channel.by<CrewQuestions>().ask("worker.stored", null);
  });
  let serving: Gateway | undefined;
  const { promise, resolve: end } = Promise.withResolvers<Stop>();
  channel.answer<Omit<WorkerQuestions, "worker.configure">>({
    "worker.adopt": (of) => serving?.adopt(of),
    "worker.end": end,
    "worker.ping": () => {},
  });
  process.on("SIGTERM", () => end("leave"));
  void channel.closed.then(() => {
    log.error("the process that owns the database has ended, and so does this worker");
    setTimeout(() => process.exit(1), orphanMs).unref();
    end("leave");
  });
  await serveUntil(config, {
    ...{ log, storage, source, fd, worker: { number: task.number, count: task.count, channel } },
    stop: () => promise,
    follow,
    async greet(gateway) {
      serving = gateway;
      for (const other of others) gateway.adopt(other);
      await channel.by<CrewQuestions>().ask("worker.ready", null);
    },
  }).finally(async () => {
    source.close();
    await storage.close();
  });
}

function openStorage(config: Config, channel: Channel, log: Logger) {
  const onError = (err: unknown) => log.error({ err }, "work on the database failed, and goes on");
  // Each worker is a node of its own there.
  if (config.database) return openConfigured(config, onError);
  return openStorageOfWorker(databasePath(config), config.durability, channel);
}
