/**
 * The questions that the processes of one machine ask each other. The primary binds the port and starts the owner; the owner has what workers share and
 * starts them; a worker serves. Each is a child of the one before, and asks it first what it is to do. A process that finds the one before
 * it gone ends, too.
 */

import { version } from "../../package/version.ts";
import type { Done } from "../../runtime/ipc/channel.ts";

/** Changes with what processes of different versions could not say to each other. */
const protocol = 1;

/** Hello is how a process begins. */
export interface Hello {
  readonly protocol: number;
  /** The version of the program, which may have been replaced since its parent was started. */
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
  readonly workers: number;
  /** The bound sockets for calls. */
  readonly fds: readonly number[];
  readonly port: number;
  /** The bound socket for metrics, and its port; null where nobody reads them. */
  readonly metrics: { readonly fd: number; readonly port: number } | null;
  /** Says that another came before it, which told where the gateway serves. */
  readonly isSuccessor: boolean;
  /** Says that the other's workers serve, and leave one by one as its own come. */
  readonly isReplacing: boolean;
}

/** PrimaryQuestions are asked by an owner, and answered by the primary. */
export type PrimaryQuestions = {
  readonly "owner.begin": readonly [hello: Hello, task: OwnerTask];
  /** Says that a worker serves: its predecessor may leave. */
  readonly "owner.serves": readonly [worker: number, answer: Done];
  /** Says by which configuration its workers serve, serialised: one that has to start in its place begins with it. */
  readonly "owner.configured": readonly [config: string, answer: Done];
  /** Says that all workers serve. */
  readonly "owner.ready": readonly [asked: null, answer: Done];
  /** Says that the program was replaced by another version, which its workers cannot be. */
  readonly "owner.outdated": readonly [asked: null, answer: Done];
};

/** OwnerQuestions are asked by the primary, and answered by an owner. */
export type OwnerQuestions = {
  /** Has a worker leave, or all for 0: others have taken their places. The owner ends once all have left. */
  readonly "owner.retire": readonly [worker: number, answer: Done];
  /** Has all workers end, once their calls are over. The owner ends then. */
  readonly "owner.stop": readonly [asked: null, answer: Done];
  /** Asks whether its event loop runs. */
  readonly "owner.ping": readonly [asked: null, answer: Done];
};

/** WorkerTask is what a worker is to do. */
export interface WorkerTask {
  /** The configuration, serialised. */
  readonly config: string;
  /** The configuration file that was named on the command line; null for none. */
  readonly file: string | null;
  /** From 1 on. */
  readonly number: number;
  readonly count: number;
  /** The bound sockets that it accepts connections of: one at least. */
  readonly fds: readonly number[];
}

/** CrewQuestions are asked by a worker, and answered by its owner. */
export type CrewQuestions = {
  readonly "worker.begin": readonly [hello: Hello, task: WorkerTask | null];
  readonly "worker.ready": readonly [asked: null, answer: Done];
  /** Has the owner read what is stored of the configuration anew. It answers once all workers serve by it, or it is refused. */
  readonly "worker.stored": readonly [asked: null, answer: Done];
};

/** WorkerQuestions are asked by an owner, and answered by a worker. */
export type WorkerQuestions = {
  /** Accepts the connections of another socket, too: nobody else does. */
  readonly "worker.adopt": readonly [fd: number, answer: Done];
  /** Ends, once its calls are over: for good, or because another has taken its place. */
  readonly "worker.end": readonly [how: "close" | "leave", answer: Done];
  /** Serves by another configuration from now on, serialised as that of its task. What is bound to the process stays. */
  readonly "worker.configure": readonly [config: string, answer: Done];
  /** Asks whether its event loop runs. */
  readonly "worker.ping": readonly [asked: null, answer: Done];
};
