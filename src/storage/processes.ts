/**
 * Ends the deadlines of what processes had under way that are known to have ended, by their locks (`engines/sqlite/node-lock.ts`): claims of
 * keys for repeated calls, and responses in the background. Of a process on another machine nothing is known: its deadlines pass.
 */
import { retry } from "../runtime/time/retry.ts";
import type { NodeDeadlines } from "./answers/node-deadlines.ts";
import { createNodeLocks, lockedBy, type NodeLocks } from "./engines/sqlite/node-lock.ts";
import { sweepMs } from "./money/books.ts";

export interface ProcessOptions {
  /** The name by which this process claims keys and makes responses. */
  readonly node: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly onError: (error: unknown) => void;
  /**
   * Puts what processes that ended had journalled into the database: which of their calls were answered shows only then. It is called until it
   * resolves.
   */
  readonly post: () => Promise<unknown>;
}

/**
 * MayLive reports whether a process may live, though a deadline of it has passed: its lock says so, or deadlines mean little at the moment,
 * as where the clock was set forward and nobody had the time to move them on, or what it had journalled may not be posted yet.
 */
export type MayLive = (node: string) => Promise<boolean>;

/**
 * createProcesses goes by the locks in a folder, which is beside the database, or beside what is kept on this machine of one elsewhere.
 * `doDeadlinesCount` decides on processes of which nothing is known there.
 */
export function createProcesses(
  folder: string,
  stores: ProcessStores,
  doDeadlinesCount: () => Promise<boolean> = async () => true,
): { readonly showProcess: ShowProcess; readonly mayLive: MayLive } {
  /** starting are the processes shown here behind which something that others had journalled may not be posted yet. */
  const starting = new Set<string>();
  const mayLive = createMayLive(folder, doDeadlinesCount);
  return {
    showProcess: createShowProcess(folder, stores, starting),
    mayLive: async (node) => starting.size > 0 || mayLive(node),
  };
}

function createMayLive(folder: string, doDeadlinesCount: () => Promise<boolean>): MayLive {
  // A lock that cannot be read is reported by each process that starts.
  const locks = createNodeLocks(folder, () => {}, "calls");
  return async (node) => {
    const lock = locks.takeEnded(node, true);
    if (lock === "unknown") return !(await doDeadlinesCount());
    if (lock === "lives") return true;
    lock.leave();
    return false;
  };
}

/**
 * ShowProcess shows others that this process lives, until the returned function is called, and ends the deadlines of those that have ended
 * by now.
 */
export type ShowProcess = (options: ProcessOptions) => () => void;

export interface ProcessStores {
  readonly replays: NodeDeadlines;
  readonly backgroundResponses: NodeDeadlines;
}

/** postPauses are those between tries to post. */
const postPauses = { firstMs: 1_000, longestMs: sweepMs, holdsProcess: false };

function createShowProcess(
  folder: string,
  { replays, backgroundResponses }: ProcessStores,
  starting: Set<string>,
): ShowProcess {
  return ({ node, clock, onError, post }) => {
    const locks = createNodeLocks(folder, onError, "calls");
    starting.add(node);
    const posted = retry(
      async () => starting.has(node) && post(),
      postPauses,
      ({ error }) => onError(error),
    );
    // A process that is not shown any more looks for no others.
    void posted.then(() => (starting.delete(node) ? endGone(locks) : undefined)).catch(onError);
    const unlock = locks.keep(node);
    return () => {
      starting.delete(node);
      unlock();
    };

    async function endGone({ nodes, takeEnded }: NodeLocks): Promise<void> {
      const running = await Promise.all([replays.running(clock()), backgroundResponses.running(clock())]);
      // The lock comes before the first call: a process that has none may be about to take its lock, unless it is old.
      const [known, old] = [new Set(running.flat()), lockedBy(clock())];
      const ended = nodes().flatMap((other) => {
        const lock = known.has(other) || other < old ? takeEnded(other, true) : "unknown";
        return typeof lock === "string" ? [] : [{ other, lock }];
      });
      try {
        const gone = ended.flatMap(({ other }) => (known.has(other) ? [other] : []));
        if (gone.length > 0)
          await Promise.all([replays.endOf(gone, clock()), backgroundResponses.endOf(gone, clock())]);
      } catch (error) {
        for (const { lock } of ended) lock.leave();
        throw error;
      }
      for (const { lock } of ended) lock.end();
    }
  };
}
