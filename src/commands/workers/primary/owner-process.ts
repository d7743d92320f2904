/** An owner as the primary sees it: a child that listens for workers. */
import type { Config } from "../../../config/config.ts";
import { type Ending, socketFd, startChild, unpackConfig } from "../child.ts";
import {
  type Hello,
  hello,
  type OwnerQuestions,
  type OwnerTask,
  type PrimaryQuestions,
  type WorkerCounts,
} from "../contract.ts";
import { createPings } from "./pings.ts";

export interface OwnerProcessOptions {
  readonly task: Omit<OwnerTask, "metrics">;
  /** The bound socket for metrics, and its port; null where nobody reads them. */
  readonly metrics: { readonly fd: number; readonly port: number } | null;
  /** onConfigured is called with each configuration that it serves by, and with the text of the file in it. */
  readonly onConfigured: (config: Config, fileText: string | null) => void;
  /** Called when workers find it at its path. */
  readonly onListens: (owner: OwnerProcess) => void;
  /** onWaits is called when it waits for workers to let go of the database. */
  readonly onWaits: () => void;
}

export interface OwnerProcess {
  readonly path: string;
  /** hello is what it is, once it listens. */
  readonly hello: Hello;
  /** Resolves to how it has ended. */
  readonly ended: Promise<Ending>;
  /** Reports whether it listens. */
  listens(): boolean;
  /** Asks whether it answers, and reports whether enough of what it was asked before was answered. */
  answers(): boolean;
  count(counts: WorkerCounts): void;
  /** Has it answer who reads metrics, or leave that to another. */
  readMetrics(isOwn: boolean): void;
  greet(): void;
  stop(): void;
  kill(): void;
}

export function startOwner({ task, metrics, onConfigured, onListens, onWaits }: OwnerProcessOptions): OwnerProcess {
  const child = startChild("owner", metrics ? [metrics.fd] : []);
  const { ask, tell } = child.channel.by<OwnerQuestions>();
  let its = hello();
  let isListening = false;
  const owner: OwnerProcess = {
    path: task.path,
    ended: child.ended,
    get hello() {
      return its;
    },
    listens: () => isListening,
    answers: createPings(() => ask("owner.ping", null)),
    count: (counts) => tell("owner.count", counts),
    readMetrics: (isOwn) => tell("owner.metrics", isOwn),
    greet: () => tell("owner.greet", null),
    stop: () => tell("owner.stop", null),
    kill: () => void child.process.kill("SIGKILL"),
  };
  child.channel.answer<PrimaryQuestions>({
    "owner.begin"(said) {
      its = said;
      return { ...task, metrics: metrics && { fd: socketFd(0), port: metrics.port } };
    },
    "owner.configured": ({ config, fileText }) => onConfigured(unpackConfig(config), fileText),
    "owner.listens"() {
      isListening = true;
      onListens(owner);
    },
    "owner.waits": onWaits,
  });
  return owner;
}
