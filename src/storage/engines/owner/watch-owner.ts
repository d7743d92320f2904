/** Learns what a worker knows of its database by its owner: whether anything has changed there, and whether writes arrive. */
import type { Channel } from "../../../runtime/ipc/channel.ts";
import type { DatabaseOwner } from "../sqlite/database.ts";
import type { Writable } from "../writable.ts";
import type { BooksQuestions, DatabaseState, LedgerQuestions } from "./contract.ts";

export interface WatchedOwner extends DatabaseOwner {
  /** Has what all workers hold of an account without need given back. */
  recall(accountId: string): Promise<void>;
  /** Adds the owner's trouble with writes to the worker's own. */
  writableBeside(own: Writable): Writable;
}

/** Resolves when the owner has told how the database is. Rejects where it has ended. */
export async function watchOwner(channel: Channel): Promise<WatchedOwner> {
  const { ask } = channel.by<BooksQuestions>();
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  // Told before it is asked for: a change in between is known.
  let state: DatabaseState = { version: 0, trouble: null };
  let isTold = false;
  channel.answer<Pick<LedgerQuestions, "database.state">>({
    "database.state"(told) {
      const isOther = (told.trouble === null) !== (state.trouble === null);
      state = told;
      isTold = true;
      if (isOther) changed();
    },
  });
  const first = await ask("database.watch", null);
  if (!isTold) state = first;
  void channel.closed.then(changed);
  return {
    version: () => state.version,
    settled: () => ask("database.settle", null),
    // Once the owner has ended, so does this process: nobody goes by what it knows.
    changed: async () => void (await ask("database.changed", null).then(undefined, () => {})),
    recall: async (accountId) => void (await ask("database.recall", accountId)),
    writableBeside: (own) => ({
      trouble: () => (channel.isClosed() ? gone : (own.trouble() ?? state.trouble ?? undefined)),
      onChange(listener) {
        listeners.add(listener);
        const forget = own.onChange(listener);
        return () => {
          listeners.delete(listener);
          forget();
        };
      },
    }),
  };
}

const gone = "the process that owns the database has ended, and is started again";
