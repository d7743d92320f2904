/**
 * Keeps the books of all workers of a machine: the owner's side of `contract.ts`. Each worker is a node of its own, with its own journal.
 *
 * Before a hold is refused for want of credit, and before more is charged than was held, the idle leases that other workers have of the
 * account come back, for which a turn waits up to 0.4 s. A worker that does not answer keeps its own until it answers or dies.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Answers, type Channel, toldError } from "../../../runtime/ipc/channel.ts";
import { andThen, catchError, isPromise, type MaybePromise } from "../../../runtime/maybe-promise.ts";
import {
  type Books,
  type Decision,
  type Decisions,
  type OpenBooks,
  type Recalled,
  sweepMs,
  type Turn,
  whenKnown,
} from "../../money/books.ts";
import type { Available } from "../../money/contract.ts";
import type { BooksQuestions, LedgerQuestions, Noted, ToldDecision, ToldDecisions } from "./contract.ts";
import { createHeldLeases, type HeldLeases } from "./held-leases.ts";
import { createTellState, type StateSource } from "./tell-state.ts";

export interface OwnerOptions extends StateSource {
  /** Names the owner's own books, which expire what others left. */
  readonly node: string;
  readonly openBooks: (hasJournal: boolean) => OpenBooks;
  readonly available: (keyId: string) => Available;
  /** Has all that is written applied, unless another process is writing. */
  readonly settle: () => void;
  /** Ends the deadlines of a node's holds and leases. */
  readonly endDeadlines: (node: string) => Promise<void>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly onError: (error: unknown) => void;
}

export interface BooksKeeper {
  /** Answers a worker until it is gone. What it leaves is settled then. */
  serve(channel: Channel): void;
  /** Ends the books of all workers. */
  close(): Promise<void>;
}

/** Served is a worker whose books are open. */
interface Served {
  readonly channel: Channel;
  readonly node: string;
  readonly books: Books;
  readonly leases: HeldLeases;
  /** The last record that is written or applied. */
  written: number;
  /** Calls whose records are still to come. */
  noted: Noted[];
  /** Leases that a turn that failed was to give back: they go with what is given back next. */
  unreleased: readonly string[];
  /** underWay is what it has asked and is not done. */
  readonly underWay: Set<PromiseLike<unknown>>;
}

/** recallMs is how long a turn waits for the idle leases of other workers, in milliseconds. */
const recallMs = 400;

export function keepBooks(options: OwnerOptions): BooksKeeper {
  const { node, clock, openBooks, onError } = options;
  const workers = new Set<Served>();
  const ending = new Set<Promise<void>>();
  const nothing: Recalled = { records: [], leases: [] };
  const own = openBooks(false)({ node, clock, onError, recall: () => nothing });
  const state = createTellState(options);
  const sweep = async () => {
    await own.renew();
    while ((await own.expire()) > 0);
  };
  const sweeper = setInterval(() => void sweep().catch(onError), sweepMs).unref();
  void sweep().catch(onError);

  async function end(worker: Served): Promise<void> {
    workers.delete(worker);
    // What it has told while it lived counts: a turn of its that waits for others brings records of what it has noted.
    while (worker.underWay.size > 0) await Promise.allSettled(worker.underWay);
    await recordNoted(worker, clock());
    await worker.books.releaseLeases([...worker.leases.all(), ...worker.unreleased]);
    await worker.books.close();
    await options.endDeadlines(worker.node);
    await sweep();
  }

  return {
    serve(channel) {
      const open = ({ node, hasJournal }: { readonly node: string; readonly hasJournal: boolean }) => {
        const books = openBooks(hasJournal)({ node, clock, onError, recall: () => nothing, isElsewhere: true });
        const left = { written: 0, noted: [], unreleased: [], underWay: new Set<PromiseLike<unknown>>() };
        const worker: Served = { channel, node, books, leases: createHeldLeases(), ...left };
        workers.add(worker);
        void channel.closed.then(() => {
          const over = end(worker).catch(onError);
          ending.add(over);
          void over.finally(() => ending.delete(over));
        });
        channel.answer<BooksAnswers>(answersOf(worker, workers, options));
      };
      const recall = (accountId: string) => recallFrom([...workers], [accountId], recallMs);
      channel.answer<Pick<BooksQuestions, "books.open" | "database.settle" | "database.recall">>({
        "books.open": open,
        "database.settle": options.settle,
        "database.recall": recall,
      });
      state.serve(channel);
    },
    async close() {
      clearInterval(sweeper);
      state.close();
      for (const { channel } of workers) channel.close();
      await Promise.all([...workers].map(({ channel }) => channel.closed));
      await Promise.all(ending);
      await own.close();
    },
  };
}

type BooksAnswers = Omit<BooksQuestions, "books.open" | `database.${string}`>;

function answersOf(worker: Served, workers: ReadonlySet<Served>, options: OwnerOptions): Answers<BooksAnswers> {
  const { books } = worker;
  return {
    "books.decide": (turn) => tracked(worker, decide(worker, turn, workers, options)),
    "books.write": (record) => tracked(worker, write(worker, record)),
    "books.note": (noted) => note(worker, noted),
    "books.touch": ([keyId, at]) => books.touch(keyId, at),
    "books.release": (leases) => giveBack(worker, { records: [], leases }),
    async "books.renew"() {
      await books.renew();
      await giveBack(worker, { records: [], leases: [] });
    },
    "books.close": (left) => giveBack(worker, left),
  };
}

/** Keeps what a worker has asked among what is under way, until it is done. */
function tracked<T>({ underWay }: Served, made: MaybePromise<T>): MaybePromise<T> {
  if (!isPromise(made)) return made;
  underWay.add(made);
  const done = () => void underWay.delete(made);
  made.then(done, done);
  return made;
}

/** Notes calls whose record is still to come: a turn that was asked just before may have brought it. */
function note({ noted, written }: Served, calls: Noted): void {
  if (calls.seq > written) noted.push(calls);
}

/** Writes a record, unless a question before this one has brought it. */
function write(worker: Served, record: Recalled["records"][number]): MaybePromise<void> {
  if (record.seq <= worker.written) return undefined;
  return andThen(worker.books.write(record), () => wrote(worker, [record]));
}

function wrote(worker: Served, records: Recalled["records"]): void {
  worker.written = Math.max(worker.written, records.at(-1)?.seq ?? 0);
  while (worker.noted[0] && worker.noted[0].seq <= worker.written) worker.noted.shift();
}

/** Has calls of a worker that died held for nothing, where its record of them never came: they are lost with all that it held. */
async function recordNoted({ books, noted, written }: Served, at: number): Promise<void> {
  const entries = noted.flatMap(({ holds }) =>
    holds.map((hold) => ({ kind: "hold" as const, ...hold, amount: 0, taken: undefined })),
  );
  if (entries.length > 0) await books.write({ seq: written + 1, at, entries });
}

/** Writes records, and releases leases behind them. */
function giveBack(worker: Served, left: Recalled): MaybePromise<void> {
  return tracked(worker, writeAndRelease(worker, left));
}

async function writeAndRelease(worker: Served, { records, leases }: Recalled): Promise<void> {
  const writing = records.map((record) => write(worker, record));
  const given = [...worker.unreleased, ...leases];
  worker.unreleased = [];
  for (const id of given) worker.leases.remove(id);
  const releasing = given.length > 0 ? worker.books.releaseLeases(given) : undefined;
  await Promise.all([...writing, releasing]);
}

function decide(
  worker: Served,
  turn: Turn,
  workers: ReadonlySet<Served>,
  options: OwnerOptions,
): MaybePromise<ToldDecisions> {
  const others = [...workers].filter((one) => one !== worker);
  const until = performance.now() + recallMs;
  const decideAll = () =>
    andThen(decideOnce(worker, turn), (decisions) => decideAgain({ worker, turn, others, until }, decisions));
  const accounts = accountsShort(turn, others, options);
  if (accounts.length === 0) return decideAll();
  return recallFrom(others, accounts, recallMs).then(decideAll);
}

function decideOnce(worker: Served, turn: Turn): MaybePromise<Decisions> {
  const { books, leases } = worker;
  let records: Recalled["records"] = [];
  const given = [...worker.unreleased, ...turn.leases];
  worker.unreleased = [];
  const next = () => {
    records = turn.records.filter(({ seq }) => seq > worker.written);
    return { ...turn, records, leases: given };
  };
  const failed = (error: unknown) => {
    worker.unreleased = [...given, ...worker.unreleased];
    throw error;
  };
  const deciding = catchError(() => books.decide(next), failed);
  return andThen(andThen(deciding, allKnown), (decisions) => {
    wrote(worker, records);
    for (const id of given) leases.remove(id);
    for (const [i, { lease, accountId }] of turn.holds.entries()) {
      const decision = decisions.holds[i];
      if (lease && decision?.kind === "decided" && decision.value.kind === "leased") leases.add(lease.id, accountId);
    }
    return decisions;
  });
}

/** Waits for what the books decide later: a worker is told of a turn at once. */
function allKnown(decisions: Decisions): MaybePromise<Decisions> {
  const { captures, releases, holds } = decisions;
  if (![...captures, ...releases, ...holds].some(({ kind }) => kind === "later")) return decisions;
  return (async () => ({
    captures: await Promise.all(captures.map(whenKnown)),
    releases: await Promise.all(releases.map(whenKnown)),
    holds: await Promise.all(holds.map(whenKnown)),
  }))();
}

interface Deciding {
  readonly worker: Served;
  readonly turn: Turn;
  readonly others: readonly Served[];
  /** Until when leases of others are waited for, by `performance.now()`. */
  readonly until: number;
}

/** Decides anew what is short while other workers have leases of its account, once those have come back. */
function decideAgain({ worker, turn, others, until }: Deciding, before: Decisions): MaybePromise<ToldDecisions> {
  const holds = [...before.holds];
  const short = () =>
    [...holds.keys()].filter((i) => {
      const decision = holds[i];
      // A budget that is spent has nothing to gain from leases.
      const isShort = decision?.kind === "decided" && decision.value.kind === "short" && decision.value.of !== "budget";
      return isShort && haveLeases(others, turn.holds[i]?.accountId ?? "");
    });
  if (short().length === 0) return toldDecisions(before);
  return (async () => {
    for (let places = short(); places.length > 0 && performance.now() < until; places = short()) {
      const asked = places.flatMap((i) => turn.holds[i] ?? []);
      await recallFrom(others, [...new Set(asked.map(({ accountId }) => accountId))], until - performance.now());
      const again = await decideOnce(worker, { records: [], leases: [], captures: [], releases: [], holds: asked });
      for (const [at, i] of places.entries()) holds[i] = again.holds[at] as (typeof holds)[number];
    }
    return toldDecisions({ ...before, holds });
  })();
}

/** Returns the accounts of a turn of which other workers have leases, and whose credit beyond those may not suffice. */
function accountsShort({ captures, holds }: Turn, others: readonly Served[], { available }: OwnerOptions): string[] {
  const accounts = new Set<string>();
  for (const { call, isCovered } of captures)
    if (!isCovered && haveLeases(others, call.account_id)) accounts.add(call.account_id);
  const wanted = new Map<string, number>();
  for (const { accountId, keyId, max } of holds) {
    if (accounts.has(accountId) || !haveLeases(others, accountId)) continue;
    const sum = (wanted.get(accountId) ?? 0) + max;
    wanted.set(accountId, sum);
    if (available(keyId).available < sum) accounts.add(accountId);
  }
  return [...accounts];
}

function haveLeases(workers: readonly Served[], accountId: string): boolean {
  return workers.some(({ leases }) => leases.hasOf(accountId));
}

/** Has workers give back what they keep of accounts, or of all for an empty id. Resolves after `maxMs` milliseconds at most. */
async function recallFrom(workers: readonly Served[], accounts: readonly string[], maxMs: number): Promise<void> {
  const asked = workers.filter(({ leases }) => accounts.some((id) => leases.hasOf(id)));
  if (asked.length === 0) return;
  const waiting = new AbortController();
  const recalled = asked.map(async (worker) => {
    const left = await worker.channel.by<LedgerQuestions>().ask("ledger.recall", accounts);
    await giveBack(worker, left);
  });
  const late = delay(Math.max(1, maxMs), undefined, waiting).catch(() => {});
  await Promise.race([Promise.allSettled(recalled), late]);
  waiting.abort();
}

function toldDecisions({ captures, releases, holds }: Decisions): ToldDecisions {
  return { captures: captures.map(toldDecision), releases: releases.map(toldDecision), holds: holds.map(toldDecision) };
}

function toldDecision(decision: Decision<unknown>): ToldDecision {
  if (decision.kind === "decided") return [0, decision.value];
  if (decision.kind === "later") throw new Error("a decision is told when it is known");
  const { message, code } = toldError(decision.error);
  return code === undefined ? [1, message] : [1, message, code];
}
