/** Keeps what an owner knows of a worker whose books are open, and does what it asks of them. */
import { setTimeout as delay } from "node:timers/promises";
import type { Channel } from "../../../runtime/ipc/channel.ts";
import { andThen, isPromise, type MaybePromise } from "../../../runtime/maybe-promise.ts";
import type { Books, Recalled } from "../../money/books.ts";
import type { LedgerQuestions } from "./contract.ts";
import type { HeldLeases } from "./held-leases.ts";

/** Served is a worker whose books are open. */
export interface Served {
  readonly channel: Channel;
  readonly node: string;
  /** sender is the name under which it notes calls before it sends them; undefined for one of an older version, which does not. */
  readonly sender: string | undefined;
  readonly books: Books;
  readonly leases: HeldLeases;
  /** The last record that is written or applied. */
  written: number;
  /** unreleased are leases that a failed turn was to give back: they are given back with the next ones. */
  unreleased: readonly string[];
  /** underWay is what it has asked and is not done. */
  readonly underWay: Set<PromiseLike<unknown>>;
  /** hasLeft says that it goes on with other books: its calls run on. */
  hasLeft: boolean;
}

/** tracked keeps what a worker has asked among what is under way, until it is done. */
export function tracked<T>({ underWay }: Served, made: MaybePromise<T>): MaybePromise<T> {
  if (!isPromise(made)) return made;
  underWay.add(made);
  const done = () => void underWay.delete(made);
  made.then(done, done);
  return made;
}

/** write writes a record, unless a question before this one has brought it. */
export function write(worker: Served, record: Recalled["records"][number]): MaybePromise<void> {
  if (record.seq <= worker.written) return undefined;
  return andThen(worker.books.write(record), () => wrote(worker, [record]));
}

export function wrote(worker: Served, records: Recalled["records"]): void {
  worker.written = Math.max(worker.written, records.at(-1)?.seq ?? 0);
}

/** giveBack writes records, and releases leases behind them. */
export function giveBack(worker: Served, left: Recalled): MaybePromise<void> {
  return tracked(worker, writeAndRelease(worker, left));
}

/**
 * writeAndRelease writes records, then gives leases back. Where the records cannot be written, the leases are given back with the next
 * ones: the worker counts them as gone.
 */
async function writeAndRelease(worker: Served, { records, leases }: Recalled): Promise<void> {
  const given = [...worker.unreleased, ...leases];
  worker.unreleased = given;
  for (const id of given) worker.leases.remove(id);
  const writing = records.map((record) => write(worker, record));
  worker.unreleased = [];
  const releasing = given.length > 0 ? worker.books.releaseLeases(given) : undefined;
  await Promise.all([...writing, releasing]);
}

export function haveLeases(workers: readonly Served[], accountId: string): boolean {
  return workers.some(({ leases }) => leases.hasOf(accountId));
}

/**
 * recallFrom has workers give back what they keep of accounts, or of all for an empty id. Resolves after `maxMs` milliseconds at most, to
 * whether all have done so.
 */
export async function recallFrom(
  workers: readonly Served[],
  accounts: readonly string[],
  maxMs: number,
): Promise<boolean> {
  const asked = workers.filter(({ leases }) => accounts.some((id) => leases.hasOf(id)));
  if (asked.length === 0) return true;
  const waiting = new AbortController();
  const recalled = asked.map(async (worker) => {
    const left = await worker.channel.by<LedgerQuestions>().ask("ledger.recall", accounts);
    await giveBack(worker, left);
  });
  const late = delay(Math.max(1, maxMs), false, waiting).catch(() => false);
  const all = Promise.allSettled(recalled).then((ends) => ends.every(({ status }) => status === "fulfilled"));
  const isWhole = await Promise.race([all, late]);
  waiting.abort();
  return isWhole;
}
