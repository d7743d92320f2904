/**
 * Learns what a worker knows of its database by its owner: whether anything has changed there, and whether writes arrive. While the owner
 * is away, or stands still, everything counts as changed at every look, for nobody tells what others change; what is asked waits for it, or
 * for the next owner, for some seconds.
 */
import { ClosedError } from "../../../runtime/ipc/channel.ts";
import { silentAfterMs } from "../../../runtime/ipc/hearing.ts";
import type { Link } from "../../../runtime/ipc/link.ts";
import { maxWaitMs } from "../../money/books.ts";
import type { DatabaseOwner } from "../sqlite/database.ts";
import type { Writable } from "../writable.ts";
import type { BooksQuestions, DatabaseState, LedgerQuestions } from "./contract.ts";

export interface WatchedOwner extends DatabaseOwner {
  /** Has what all workers hold of an account without need given back. */
  recall(accountId: string): Promise<boolean>;
  /** Adds the owner's trouble with writes to the worker's own. */
  writableBeside(own: Writable): Writable;
}

/** awayMs is how long an owner may be away before that is trouble, in milliseconds: until then another has mostly taken its place. */
const awayMs = 1_000;

/** watchOwner resolves when the owner has told how the database is. Rejects where it has ended. */
export async function watchOwner(link: Link): Promise<WatchedOwner> {
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const state = createState(link, changed);
  await state.watch();
  let isAwayForLong = false;
  let late: NodeJS.Timeout | undefined;
  link.onClose(() => {
    clearTimeout(late);
    late = setTimeout(() => {
      isAwayForLong = link.isClosed();
      if (isAwayForLong) changed();
    }, awayMs).unref();
  });
  link.onConnect(() => {
    clearTimeout(late);
    if (!isAwayForLong) return;
    isAwayForLong = false;
    changed();
  });
  link.hearing.onChange(changed);
  const ask = askPatiently(link);
  const ownerTrouble = () => (isAwayForLong ? gone : isSilent(link) ? silent : undefined);
  return {
    version: state.version,
    flushed: async () => void (await ask("database.flush", null)),
    // While there is no owner nobody goes by what was known before.
    changed: async () => void (await ask("database.changed", null).then(undefined, () => {})),
    recall: (accountId) => ask("database.recall", accountId),
    writableBeside: (own) => ({
      trouble: () => ownerTrouble() ?? own.trouble() ?? state.trouble() ?? undefined,
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
const silent = "the process that owns the database does not answer";

/** isSilent reports whether an owner is there, and stands still. */
function isSilent({ hearing }: Pick<Link, "hearing">): boolean {
  return hearing.silentMs() >= silentAfterMs;
}

/** createState follows what owners tell of the database. Their versions begin anew with each: what is returned of them only rises. */
function createState(link: Link, onChange: () => void) {
  const { ask } = link.by<BooksQuestions>();
  /** told is undefined from when an owner is gone until the next has told. */
  let told: DatabaseState | undefined;
  let trouble: DatabaseState["trouble"] = null;
  let base = 0;

  function learn(state: DatabaseState): void {
    // An owner that has just started tells of no earlier change, so its first word counts as a new version: something may have changed
    // while there was no owner.
    if (!told) base++;
    const isOther = (trouble === null) !== (state.trouble === null);
    ({ trouble } = state);
    told = state;
    if (isOther) onChange();
  }

  async function watch(): Promise<void> {
    const first = await ask("database.watch", null);
    // Told before it is answered: a change in between is known.
    if (!told) learn(first);
  }

  link.answer<Pick<LedgerQuestions, "database.state">>({ "database.state": learn });
  link.onClose(() => {
    base += (told?.version ?? 0) + 1;
    told = undefined;
  });
  // One that is gone again has another after it.
  link.onConnect(() => void watch().catch(() => {}));
  return {
    watch,
    trouble: () => trouble,
    version() {
      if (!told || isSilent(link)) base++;
      return base + (told?.version ?? 0);
    },
  };
}

/**
 * askPatiently returns what asks an owner, and the next one where that is gone. Rejects with a ClosedError where there is none that
 * answers for too long.
 */
function askPatiently(link: Link) {
  const { ask } = link.by<BooksQuestions>();
  const { whileHeard, silentMs } = link.hearing;
  return async <N extends "database.flush" | "database.changed" | "database.recall">(
    name: N,
    asked: BooksQuestions[N][0],
  ): Promise<BooksQuestions[N][1]> => {
    for (const until = performance.now() + maxWaitMs; ; ) {
      await link.whenConnected(Math.max(0, until - performance.now()));
      try {
        return await whileHeard(ask(name, asked), maxWaitMs);
      } catch (error) {
        if (!(error instanceof ClosedError) || silentMs() >= maxWaitMs) throw error;
      }
    }
  };
}
