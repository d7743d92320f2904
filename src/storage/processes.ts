/**
 * Ends the deadlines of what processes had under way that are known to have ended, by their locks (`engines/sqlite/node-lock.ts`): claims of
 * keys for repeated calls, and responses in the background. Of a process on another machine nothing is known: its deadlines pass.
 */
import { firstIdAt } from "../runtime/ids.ts";
import type { BackgroundStore } from "./answers/background-responses.ts";
import type { ReplayStore } from "./answers/replays.ts";
import { createNodeLocks } from "./engines/sqlite/node-lock.ts";

export interface ProcessOptions {
  /** The name by which this process claims keys and makes responses. */
  readonly node: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * ShowProcess shows others that this process lives, until the returned function is called, and ends the deadlines of those that have ended
 * by now.
 */
export type ShowProcess = (options: ProcessOptions) => () => void;

export interface ProcessStores {
  readonly replays: Pick<ReplayStore, "endOf">;
  readonly backgroundResponses: Pick<BackgroundStore, "endOf">;
}

/** keptMs is for how long a lock is looked at whose process has ended, in milliseconds. Whatever that had under way is over long before. */
const keptMs = 24 * 3_600_000;

/** `folder` is where the locks are: beside the database, or beside what is kept on this machine of one elsewhere. */
export function createShowProcess(folder: string, { replays, backgroundResponses }: ProcessStores): ShowProcess {
  return ({ node, clock, onError }) => {
    const locks = createNodeLocks(folder, onError);
    const oldest = firstIdAt("nod", clock() - keptMs);
    const ended = locks.nodes().filter((other) => {
      const lock = locks.takeEnded(other, true);
      // Others look for it, too: what it leased is the ledger's to end.
      if (other < oldest) lock?.end();
      else lock?.leave();
      return lock !== undefined;
    });
    if (ended.length > 0) {
      const ending = [replays.endOf(ended, clock()), backgroundResponses.endOf(ended, clock())];
      void Promise.all(ending).catch(onError);
    }
    return locks.keep(node);
  };
}
