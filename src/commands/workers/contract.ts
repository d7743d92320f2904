/**
 * The questions that the processes of one machine ask each other. The primary binds the port and starts all others; the owner has what
 * workers share; a worker serves. Owner and workers are children of the primary, and ask it first what they are to do. A worker has a link
 * to its owner besides, over a socket that the owner listens on: it outlives the owner, and another takes its place.
 *
 * A process that finds the primary gone ends, too.
 */

import { version } from "../../package/version.ts";
import type { Done } from "../../runtime/ipc/channel.ts";

/** Changes with what processes of different versions could not say to each other. */
const protocol = 3;

/** Hello is how a process begins. */
export interface Hello {
  readonly protocol: number;
  /** The version of the program, which may have been replaced since the primary was started. */
  readonly version: string;
}

export function hello(): Hello {
  return { protocol, version: version() };
}

/** OwnerTask is what an owner is to do. */
export interface OwnerTask {
  /** The configuration, serialised. */
  readonly config: string;
  /** The configuration file that was named on the command line; null for none. */
  readonly file: string | null;
  /** fileText is the text of the file that the owner before it went by; null where there was none. */
  readonly fileText: string | null;
  readonly workers: number;
  /** Its workers go by its configuration; those of other generations, which are leaving, by their own. */
  readonly generation: number;
  /** The path of the socket that workers find it at. */
  readonly path: string;
  readonly port: number;
  /** The bound socket for metrics, and its port; null where nobody reads them. */
  readonly metrics: { readonly fd: number; readonly port: number } | null;
  /**
   * isRestarted says that it takes the place of one that has died: what that served by is served on where the configuration cannot be read,
   * and its workers let go of the database where its program has to change that.
   */
  readonly isRestarted: boolean;
  /** isSuccessor says that there are workers that another owner has served. */
  readonly isSuccessor: boolean;
}

/** WorkerCounts is what the primary knows of workers, for their metrics. */
export interface WorkerCounts {
  /** serving is how many serve. */
  readonly serving: number;
  /** replaced is how many were replaced because they had died. */
  readonly replaced: number;
}

/** Configured is what an owner, or a worker, serves by. */
export interface Configured {
  /** config is the configuration, serialised. */
  readonly config: string;
  /** fileText is the text of the file in it; null for none. */
  readonly fileText: string | null;
}

/** PrimaryQuestions are asked by an owner, and answered by the primary. */
export type PrimaryQuestions = {
  readonly "owner.begin": readonly [hello: Hello, task: OwnerTask];
  /** Says by what it serves: an owner that has to start in its place begins with it. */
  readonly "owner.configured": readonly [configured: Configured, answer: Done];
  /** Says that workers find it at its path. */
  readonly "owner.listens": readonly [asked: null, answer: Done];
  /** Says that its program has to change the database, and waits for those who work on it to let go of it. */
  readonly "owner.waits": readonly [asked: null, answer: Done];
};

/** OwnerQuestions are asked by the primary, and answered by an owner. */
export type OwnerQuestions = {
  /** Has it tell whoever started the gateway where it serves. */
  readonly "owner.greet": readonly [asked: null, answer: Done];
  readonly "owner.count": readonly [counts: WorkerCounts, answer: Done];
  /** Has it answer who reads metrics, or leave that to another. */
  readonly "owner.metrics": readonly [isOwn: boolean, answer: Done];
  /** Ends it: no worker goes by it any more. */
  readonly "owner.stop": readonly [asked: null, answer: Done];
  /** Asks whether its event loop runs. */
  readonly "owner.ping": readonly [asked: null, answer: Done];
};

/** WorkerTask is what a worker is to do. */
export interface WorkerTask extends Configured {
  /** The configuration file that was named on the command line; null for none. */
  readonly file: string | null;
  /** From 1 on. */
  readonly number: number;
  readonly count: number;
  /** The bound sockets that it accepts connections of: one at least. */
  readonly fds: readonly number[];
  /** Numbers the workers that were started together. */
  readonly generation: number;
  /** path is where its owner listens. */
  readonly path: string;
}

/** StartQuestions are asked by a worker, and answered by the primary. */
export type StartQuestions = {
  /** Answered once there is an owner; by null where the worker is of another version than that. */
  readonly "worker.begin": readonly [hello: Hello, task: WorkerTask | null];
  readonly "worker.ready": readonly [asked: null, answer: Done];
};

/** WorkerQuestions are asked by the primary, and answered by a worker. */
export type WorkerQuestions = {
  /** Goes on with the owner that listens at this path. */
  readonly "worker.owner": readonly [path: string, answer: Done];
  /** Accepts the connections of another socket, too: nobody else does. */
  readonly "worker.adopt": readonly [fd: number, answer: Done];
  /** Ends, once its calls are over: for good, or because another has taken its place. */
  readonly "worker.end": readonly [how: "close" | "leave", answer: Done];
  /** Lets go of the database, and ends as one that leaves: its calls run on, and are charged by the next owner. */
  readonly "worker.yield": readonly [asked: null, answer: Done];
  /** Asks whether its event loop runs. */
  readonly "worker.ping": readonly [asked: null, answer: Done];
};

/** Joining is how a worker begins with an owner. */
export interface Joining {
  readonly number: number;
  readonly generation: number;
}

/** LinkQuestions are asked by a worker, and answered by its owner, over the link between them. */
export type LinkQuestions = {
  readonly "worker.join": readonly [joining: Joining, answer: Done];
  /** Has the owner read what is stored of the configuration anew. It answers once all workers serve by it, or it is refused. */
  readonly "worker.stored": readonly [asked: null, answer: Done];
};

/** ConfigureQuestions are asked by an owner, and answered by a worker. */
export type ConfigureQuestions = {
  /** Serves by another configuration from now on. What is bound to the process stays. */
  readonly "worker.configure": readonly [configured: Configured, answer: Done];
};
