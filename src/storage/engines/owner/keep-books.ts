/**
 * Keeps the books of all workers of a machine: the owner's side of `contract.ts`. Each worker is a node of its own, with its own journal.
 *
 * A worker whose owner has died, or gives way to this one, has its books opened here with all that it knows. In this order: what the other
 * has kept is posted, then the worker's records, as far as those are not among it, and then all is released that none of its calls holds.
 * Each step may be repeated, so that any of the two may die at any moment.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Answers, Channel } from "../../../runtime/ipc/channel.ts";
import type { MaybePromise } from "../../../runtime/maybe-promise.ts";
import { type OpenBooks, type Recalled, sweepMs } from "../../money/books.ts";
import type { TakeOver } from "../sqlite/journal/take-over.ts";
import type { Before, BooksQuestions, Opening } from "./contract.ts";
import { comingMs, type DecideOptions, decide, type Keeping, recallMs } from "./decide.ts";
import { createHeldLeases } from "./held-leases.ts";
import { giveBack, recallFrom, type Served, tracked, write } from "./served.ts";
import { createTellState, type StateSource } from "./tell-state.ts";

export interface OwnerOptions extends StateSource, DecideOptions, Pick<TakeOver, "post" | "move"> {
  readonly openBooks: (hasJournal: boolean) => OpenBooks;
  /** Has all that is written applied, unless another process is writing. */
  readonly flush: () => void;
  /** Ends the deadlines of a node's holds and leases. */
  readonly endDeadlines: (node: string) => Promise<void>;
  /** keepUntil moves the deadlines of all holds and leases on that are before `until`, in milliseconds since 1970. */
  readonly keepUntil: (until: number) => Promise<void>;
  /**
   * recordSent has calls recorded as lost that a worker noted before it sent them, and of which nothing is known. Resolves to false where
   * its process lives.
   */
  readonly recordSent: (sender: string) => Promise<boolean>;
  /** isSuccessor says that it takes the place of another: workers that live may come, and what they hold does not expire before. */
  readonly isSuccessor: boolean;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  readonly onError: (error: unknown) => void;
}

export interface BooksKeeper {
  /** Answers a worker until it is gone. What it leaves is released then. */
  serve(channel: Channel): void;
  /** Ends the books of all workers. */
  close(): Promise<void>;
}

export function keepBooks(options: OwnerOptions): BooksKeeper {
  const { node, clock, openBooks, onError } = options;
  const own = openBooks(false)({ node, clock, onError, recall: () => nothing, takesNoHolds: true });
  const state = createTellState(options);
  // While there was no owner nobody moved the deadlines of holds on.
  const kept = options.isSuccessor ? options.keepUntil(clock() + comingMs).catch(onError) : undefined;
  const sweep = async () => {
    await kept;
    await own.renew();
    while ((await own.expire()) > 0);
  };
  const sweeper = setInterval(() => void sweep().catch(onError), sweepMs).unref();
  const swept = sweep().catch(onError);
  const served = createServedWorkers(options, sweep, swept);
  const { workers } = served;
  return {
    serve(channel) {
      const recall = (accountId: string) => recallFrom([...workers], [accountId], recallMs);
      channel.answer<Pick<BooksQuestions, "books.open" | "database.flush" | "database.recall">>({
        "books.open": (opening) => served.open(channel, opening),
        "database.flush": options.flush,
        "database.recall": recall,
      });
      state.serve(channel);
    },
    async close() {
      clearInterval(sweeper);
      state.close();
      for (const { channel } of workers) channel.close();
      await Promise.all([...workers].map(({ channel }) => channel.closed));
      await served.ended();
      await own.close();
    },
  };
}

const nothing: Recalled = { records: [], leases: [] };

/** createServedWorkers opens the books of workers and ends them. `sweep` expires what has reached its deadline; `swept` is the first time. */
function createServedWorkers(options: OwnerOptions, sweep: () => Promise<void>, swept: Promise<void>) {
  const { clock, openBooks, onError } = options;
  const workers = new Set<Served>();
  const ending = new Set<Promise<void>>();
  const keeping: Keeping = { workers, options, startedAt: performance.now() };

  async function end(worker: Served): Promise<void> {
    workers.delete(worker);
    // Questions that it asked while it lived count: a turn that waits for others brings records of calls that it has noted.
    while (worker.underWay.size > 0) await Promise.allSettled(worker.underWay);
    await worker.books.releaseLeases([...worker.leases.all(), ...worker.unreleased]);
    await worker.books.close();
    await options.endDeadlines(worker.node);
    await sweep();
    if (worker.sender !== undefined) await recordSentOf(worker.sender, options);
  }

  function add(channel: Channel, { node, hasJournal, sender }: Opening, written: number): Served {
    const books = openBooks(hasJournal)({ node, clock, onError, recall: () => nothing, isElsewhere: true });
    const left = { unreleased: [], underWay: new Set<PromiseLike<unknown>>(), hasLeft: false };
    const worker: Served = { channel, node, sender, books, leases: createHeldLeases(), written, ...left };
    workers.add(worker);
    void channel.closed.then(() => {
      if (worker.hasLeft) return;
      const over = end(worker).catch(onError);
      ending.add(over);
      void over.finally(() => ending.delete(over));
    });
    return worker;
  }

  /** Lets a worker go on with other books: what its calls hold stays. */
  async function leave(worker: Served, left: Recalled): Promise<void> {
    worker.hasLeft = true;
    await giveBack(worker, left);
    while (worker.underWay.size > 0) await Promise.allSettled(worker.underWay);
    workers.delete(worker);
    await worker.books.close();
  }

  function open(channel: Channel, opening: Opening): MaybePromise<void> {
    const { node, before } = opening;
    const answer = (worker: Served) => channel.answer<BooksAnswers>(answersOf(worker, keeping, leave, swept));
    if (!before) return answer(add(channel, opening, 0));
    return options.post(before.nodes, node).then(async (posted) => {
      const worker = add(channel, opening, posted);
      await goOn(worker, before, options).catch(async (error: unknown) => {
        // It is opened anew, under another name.
        await leave(worker, nothing);
        throw error;
      });
      answer(worker);
    });
  }

  return { workers, open, ended: () => Promise.all(ending) };
}

/**
 * endedMs is how long a process that ends may take to close its files, in milliseconds. What is not found by then is recorded by a sweep.
 */
const endedMs = 200;
/** lookMs is how often they are looked at, in milliseconds. */
const lookMs = 10;

async function recordSentOf(sender: string, { recordSent }: Pick<OwnerOptions, "recordSent">): Promise<void> {
  for (const until = performance.now() + endedMs; performance.now() < until; await delay(lookMs))
    if (await recordSent(sender)) return;
}

/** Brings in order what another owner left of a worker's books. */
async function goOn(
  worker: Served,
  { nodes, records, calls }: Before,
  { move }: Pick<OwnerOptions, "move">,
): Promise<void> {
  await giveBack(worker, { records, leases: [] });
  // Leases go behind the records of calls that drew on them.
  await move(nodes, worker.node, calls);
}

type BooksAnswers = Omit<BooksQuestions, "books.open" | `database.${string}`>;

type Leave = (worker: Served, left: Recalled) => Promise<void>;

function answersOf(worker: Served, keeping: Keeping, leave: Leave, swept: Promise<void>): Answers<BooksAnswers> {
  const { books } = worker;
  return {
    "books.decide": (turn) => tracked(worker, decide(worker, turn, keeping)),
    "books.write": (record) => tracked(worker, write(worker, record)),
    "books.touch": ([keyId, at]) => books.touch(keyId, at),
    "books.release": (leases) => giveBack(worker, { records: [], leases }),
    async "books.renew"() {
      // A worker that starts goes on behind it: what processes that ended had journalled is posted then.
      await swept;
      await books.renew();
      await giveBack(worker, { records: [], leases: [] });
    },
    "books.close": (left) => giveBack(worker, left),
    "books.leave": (left) => leave(worker, left),
  };
}
