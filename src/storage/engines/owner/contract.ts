/**
 * The contract between a worker and the owner of its database about money: the books of `money/books.ts` in questions and answers, as
 * plain data. A worker asks, and its owner asks back for what the worker's ledger keeps of credit.
 *
 * The owner decides and writes in the order in which a worker asks. A record counts once by its number, whatever question brings it. What
 * was answered is durable in the owner's database or journal. A worker that dies is as one that gave everything back: its leases are
 * released, and its running calls are recorded as lost, at once. Those that it had sent and not told of yet it has noted on the machine's
 * disk, so that the next owner finds them where this one dies in the same moment.
 *
 * An owner that dies leaves its workers alive. Each opens its books with the next owner, and tells what it does not know to be written
 * and which calls run: nothing that was told is lost, and nothing counts twice. So it goes from owner to owner on SIGHUP, too.
 */
import type { Done } from "../../../runtime/ipc/channel.ts";
import type { Decisions, JournalRecord, Recalled, Turn } from "../../money/books.ts";

/** BooksQuestions are asked by a worker, and answered by its owner. */
export type BooksQuestions = {
  /** Opens the books of a node, or goes on with those that another owner kept. Answered once what that one left is in order. */
  readonly "books.open": readonly [asked: Opening, answer: Done];
  readonly "books.decide": readonly [turn: AskedTurn, decisions: ToldDecisions];
  readonly "books.write": readonly [record: JournalRecord, answer: Done];
  readonly "books.touch": readonly [used: readonly [keyId: string, at: number], answer: Done];
  readonly "books.release": readonly [leases: readonly string[], answer: Done];
  readonly "books.renew": readonly [asked: null, answer: Done];
  /** Gives back what is left. Nothing more is asked of the books. */
  readonly "books.close": readonly [left: Recalled, answer: Done];
  /** Gives back what is left before the worker goes on with another owner: its calls run on, and keep their holds. */
  readonly "books.leave": readonly [left: Recalled, answer: Done];
  /** Asks how the database is, and to be told whenever that changes. */
  readonly "database.watch": readonly [asked: null, state: DatabaseState];
  /** Has all that is written applied, so that the worker's reads see it. */
  readonly "database.flush": readonly [asked: null, answer: Done];
  /** Says that the worker has changed something. Answered once all workers know. */
  readonly "database.changed": readonly [asked: null, answer: Done];
  /** Has what workers hold of an account without need given back, or of all accounts for an empty id. Answers whether all have done so. */
  readonly "database.recall": readonly [accountId: string, isWhole: boolean];
};

/** Opening is what books are opened with. */
export interface Opening {
  /** Names them. Each owner knows them by another name: no journal has two writers. */
  readonly node: string;
  /** Has them write into a journal first. */
  readonly hasJournal: boolean;
  /** sender is the name under which the worker notes calls before it sends them (`journal/sent-log.ts`). */
  readonly sender: string;
  /** before is what other owners that kept them know of, or may know of; null where there was none. */
  readonly before: Before | null;
}

/** Before is what a worker knows of its books when an owner has taken the place of another, which may have died at any moment. */
export interface Before {
  /** The names under which the books were kept, or may have been. */
  readonly nodes: readonly string[];
  /** All records that are not known to be written, oldest first. Those that are written count once. */
  readonly records: readonly JournalRecord[];
  /** The ids of calls that have holds. All else that is held under those names is released, leases among it. */
  readonly calls: readonly string[];
}

/** AskedTurn is a turn that a worker has decided. */
export interface AskedTurn extends Turn {
  /** isRepeated says that an owner that has died may have decided it: a call that it has captured is answered by what that was charged. */
  readonly isRepeated?: boolean;
}

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
