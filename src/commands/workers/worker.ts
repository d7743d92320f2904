/**
 * A worker: serves calls on the machine's port. Its owner decides on money, keeps rates and places, and is asked over the link between
 * them.
 *
 * When the owner dies, the worker's calls go on: those that end meanwhile are charged by the next owner. New calls wait for it, and get
 * 503 after some seconds. When the primary dies, the worker ends.
 */
import type { Logger } from "pino";
import type { Gateway } from "../../composition/gateway.ts";
import { logFailures } from "../../composition/trouble-log.ts";
import { type Config, unusedKeys } from "../../config/config.ts";
import { withOperational } from "../../config/live/live-config.ts";
import type { Link } from "../../runtime/ipc/link.ts";
import type { Storage } from "../../storage/storage.ts";
import { openStorageOfWorker, type StorageOfWorker } from "../../storage/storage-of-owner.ts";
import { databasePath, openConfigured } from "../command.ts";
import { openSource } from "../serving/configuration-source.ts";
import { openLog } from "../serving/log-lines.ts";
import { type Stop, serveUntil } from "../serving/run-gateway.ts";
import { channelToParent, ignoreSignals, unpackConfig } from "./child.ts";
import {
  type Configured,
  type ConfigureQuestions,
  hello,
  type LinkQuestions,
  type StartQuestions,
  type WorkerQuestions,
  type WorkerTask,
} from "./contract.ts";
import { createOwnerLink } from "./owner-link.ts";

/** orphanMs is how long a worker whose primary has died may take to end, in milliseconds. */
const orphanMs = 1_000;

export async function worker(): Promise<void> {
  ignoreSignals();
  const channel = channelToParent();
  const control = createControl();
  channel.answer<WorkerQuestions>({
    "worker.owner": (path) => control.lead(path),
    "worker.adopt": (fd) => control.gateway?.adopt(fd),
    "worker.end": (how) => control.end(how),
    async "worker.yield"() {
      control.end("leave");
      await control.letGo?.();
    },
    "worker.ping": () => {},
  });
  process.on("SIGTERM", () => control.end("leave"));
  const { ask } = channel.by<StartQuestions>();
  void channel.closed.then(() => {
    setTimeout(() => process.exit(1), orphanMs).unref();
    control.end("leave");
  });
  try {
    const task = await ask("worker.begin", hello());
    if (task) await serveTask(task, control, async () => void (await ask("worker.ready", null)));
  } finally {
    channel.close();
  }
  process.exit(0);
}

/** Control is what the primary may ask. What it says while the worker starts holds from the start. */
interface Control {
  lead(path: string): Promise<void>;
  readonly end: (how: Stop) => void;
  readonly ended: Promise<Stop>;
  /** Returns the path that it was led to, or `path` where it was led to none. Has `lead` lead from now on. */
  begin(path: string, lead: (path: string) => Promise<void>): string;
  /** The gateway, once it serves. */
  gateway: Gateway | undefined;
  /** letGo lets go of the database, once that is open; undefined where other processes may change it meanwhile. */
  letGo: (() => Promise<void>) | undefined;
}

function createControl(): Control {
  const { promise, resolve } = Promise.withResolvers<Stop>();
  let leading: ((path: string) => Promise<void>) | undefined;
  let latest: string | undefined;
  return {
    async lead(path) {
      latest = path;
      await leading?.(path);
    },
    begin(path, lead) {
      leading = lead;
      return latest ?? path;
    },
    ...{ end: resolve, ended: promise, gateway: undefined, letGo: undefined },
  };
}

interface Followed {
  /** fileText returns the text of the file in the configuration that the owner told last; undefined for none. */
  fileText(): string | undefined;
  /** follow has `take` called with what the owner says, at once where it has said something meanwhile. Returns what ends that. */
  follow(take: (next: Config) => void): () => void;
}

/** followOwner hears from the beginning: what the owner says while the worker starts is newer than its task. */
function followOwner(link: Link, task: Configured): Followed {
  let { config, fileText } = task;
  let latest: Config | undefined;
  let taking: ((next: Config) => void) | undefined;
  link.answer<ConfigureQuestions>({
    "worker.configure"(next) {
      // An owner that has taken another's place says what it has read: mostly that is what is served.
      fileText = next.fileText;
      if (next.config === config) return;
      config = next.config;
      latest = unpackConfig(config);
      taking?.(latest);
    },
  });
  return {
    fileText: () => fileText ?? undefined,
    follow(take) {
      taking = take;
      if (latest) take(latest);
      return () => (taking = undefined);
    },
  };
}

async function serveTask(task: WorkerTask, control: Control, onReady: () => Promise<void>): Promise<void> {
  const config = unpackConfig(task.config);
  const { number, count, generation } = task;
  const [fd, ...others] = task.fds;
  const log = openLog(config.logLevel, number);
  const { link, lead, onLost } = createOwnerLink({ number, generation });
  const { fileText, follow } = followOwner(link, task);
  onLost(() =>
    log.warn("the process that owns the database is gone: calls go on, and are charged once there is another"),
  );
  await lead(control.begin(task.path, lead));
  let inForce = config;
  const storage = await openStorage(config, link, log, () => inForce);
  if ("letGo" in storage) control.letGo = storage.letGo;
  const source = openSource({ config, storage, file: task.file ?? undefined, readBefore: fileText, log });
  // The owner reads for all workers, so that they serve by the same.
  source.onStoredChange(async () => {
    await link.by<LinkQuestions>().ask("worker.stored", null);
  });
  await serveUntil(config, {
    ...{ log, storage, source, fd, worker: { number, count, link }, unusedKeys: unusedKeys(task.file ?? undefined) },
    stop: () => control.ended,
    follow: (take) =>
      follow((next) => {
        take(next);
        inForce = withOperational(inForce, next);
      }),
    async greet(gateway) {
      control.gateway = gateway;
      for (const other of others) gateway.adopt(other);
      await onReady();
    },
  }).finally(async () => {
    source.close();
    await storage.close();
  });
}

function openStorage(
  config: Config,
  link: Link,
  log: Logger,
  inForce: () => Config,
): Promise<Storage | StorageOfWorker> {
  const onError = logFailures(log, "work on the database failed, and goes on");
  // Each worker is a node of its own there.
  if (config.database) return openConfigured(config, onError, inForce);
  return openStorageOfWorker(databasePath(config), config.durability, link);
}
