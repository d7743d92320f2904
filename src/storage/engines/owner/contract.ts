/**
 * The contract between a worker and the owner of its database about money: the books of `money/books.ts` in questions and answers, as
 * plain data. A worker asks, and its owner asks back for what the worker's ledger keeps of credit.
 *
 * The owner decides and writes in the order in which a worker asks. A record counts once by its number, whatever question brings it. What
 * was answered is durable in the owner's database or journal. A worker that dies is as one that gave everything back: its leases are
 * released, and its running calls are recorded as lost, at once.
 */
import type { Done } from "../../../runtime/ipc/channel.ts";
import type { Decisions, HoldEntry, JournalRecord, Recalled, Turn } from "../../money/books.ts";

/** BooksQuestions are asked by a worker, and answered by its owner. */
export type BooksQuestions = {
  /** Opens the books of a node. `hasJournal` has them write into a journal first. */
  readonly "books.open": readonly [asked: { readonly node: string; readonly hasJournal: boolean }, answer: Done];
  readonly "books.decide": readonly [turn: Turn, decisions: ToldDecisions];
  readonly "books.write": readonly [record: JournalRecord, answer: Done];
  /** Notes calls that run, whose holds are in a record that is still to come, with a number up to `seq`. */
  readonly "books.note": readonly [noted: Noted, answer: Done];
  readonly "books.touch": readonly [used: readonly [keyId: string, at: number], answer: Done];
  readonly "books.release": readonly [leases: readonly string[], answer: Done];
  readonly "books.renew": readonly [asked: null, answer: Done];
  /** Gives back what is left. Nothing more is asked of the books. */
  readonly "books.close": readonly [left: Recalled, answer: Done];
  /** Asks how the database is, and to be told whenever that changes. */
  readonly "database.watch": readonly [asked: null, state: DatabaseState];
  /** Has all that is written applied, so that the worker's reads see it. */
  readonly "database.settle": readonly [asked: null, answer: Done];
  /** Says that the worker has changed something. Answered once all workers know. */
  readonly "database.changed": readonly [asked: null, answer: Done];
  /** Has what workers hold of an account without need given back, or of all accounts for an empty id. */
  readonly "database.recall": readonly [accountId: string, answer: Done];
};

/** Noted is calls that run: should their worker die before their record is written, they are recorded as lost. */
export interface Noted {
  readonly holds: readonly NotedHold[];
  readonly seq: number;
}

export type NotedHold = Pick<HoldEntry, "requestId" | "accountId" | "keyId" | "operation" | "model" | "createdAt">;

/** LedgerQuestions are asked by an owner, and answered by a worker. */
export type LedgerQuestions = {
  /** Gives back what the worker's ledger keeps of these accounts, or of all for an empty id. */
  readonly "ledger.recall": readonly [accountIds: readonly string[], recalled: Recalled];
  /** Tells how the database is. Answered once the worker goes by it. */
  readonly "database.state": readonly [state: DatabaseState, answer: Done];
};

/** DatabaseState is what an owner tells its workers of the database. */
export interface DatabaseState {
  /** Another number after any change of keys, limits or accounts, by whatever process. */
  readonly version: number;
  /** trouble is what keeps the owner's writes from arriving; null while they arrive. */
  readonly trouble: string | null;
}

/** ToldDecisions are decisions whose errors are told by their message and code. */
export type ToldDecisions = {
  readonly [K in keyof Decisions]: readonly ToldDecision[];
};

/** ToldDecision is a decision, or what made it fail. */
export type ToldDecision = readonly [failed: 0, value: unknown] | readonly [failed: 1, message: string, code?: string];
