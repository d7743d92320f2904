/**
 * The books of a worker: its owner decides and writes, and is asked over the channel between them. Once the owner has died, everything is
 * refused, as while a database is away: what was answered before is durable there.
 */
import { type Channel, errorOf } from "../../../runtime/ipc/channel.ts";
import type { Books, BooksOptions, Decision, Decisions, Granted, HoldEntry, Turn } from "../../money/books.ts";
import type { Captured } from "../../money/contract.ts";
import type { BooksQuestions, LedgerQuestions, NotedHold, ToldDecision, ToldDecisions } from "./contract.ts";

export interface OwnedBooksOptions
  extends Omit<BooksOptions, "clock">,
    Pick<Books, "version" | "changedSince" | "mayLease"> {
  readonly channel: Channel;
  readonly hasJournal: boolean;
}

/** A call that ends within this time is told to the owner once, but for a note. */
const holdDelayMs = 5;

export function openOwnedBooks(options: OwnedBooksOptions): Books {
  const { channel, node, hasJournal, recall, version, changedSince, mayLease, onError } = options;
  const { ask, tell } = channel.by<BooksQuestions>();
  channel.answer<Pick<LedgerQuestions, "ledger.recall">>({
    "ledger.recall"(accountIds) {
      const recalled = accountIds.map((id) => recall(id));
      // Each has all records.
      return { records: recalled[0]?.records ?? [], leases: recalled.flatMap(({ leases }) => leases) };
    },
  });
  ask("books.open", { node, hasJournal }).then(undefined, onError);
  return {
    version,
    changedSince,
    mayLease,
    holdDelayMs,
    // It is with the owner before the calls are sent: the channel writes behind each step of the event loop.
    note: (holds, seq) => tell("books.note", { holds: holds.map(notedOf), seq }),
    decide: (next) => ask("books.decide", plainTurn(next())).then(decisionsOf),
    write: (record) => ask("books.write", record),
    // Its owner knows sooner than a read could tell.
    apply: () => false,
    touch: (keyId, at) => tell("books.touch", [keyId, at]),
    releaseLeases: (ids) => ask("books.release", ids),
    renew: () => ask("books.renew", null),
    // The owner sees to that.
    expire: () => 0,
    async close() {
      await ask("books.close", recall("")).then(undefined, onError);
    },
  };
}

function notedOf({ requestId, accountId, keyId, operation, model, createdAt }: HoldEntry): NotedHold {
  return { requestId, accountId, keyId, operation, model, createdAt };
}

/** Returns a turn with what its owner needs of it: leases and requests know more. */
function plainTurn({ records, leases, captures, releases, holds }: Turn): Turn {
  return {
    records,
    leases,
    captures,
    releases,
    holds: holds.map(({ requestId, accountId, keyId, operation, model, max, min, now, lease }) => ({
      ...{ requestId, accountId, keyId, operation, model, max, min, now },
      lease: lease && { id: lease.id, isOfKey: lease.isOfKey },
    })),
  };
}

function decisionsOf({ captures, releases, holds }: ToldDecisions): Decisions {
  return {
    captures: captures.map(decisionOf<Captured | undefined>),
    releases: releases.map(decisionOf<undefined>),
    holds: holds.map(decisionOf<Granted>),
  };
}

/** A value that is undefined does not pass: it arrives as null. */
function decisionOf<T>(told: ToldDecision): Decision<T> {
  if (told[0] === 0) return { kind: "decided", value: (told[1] ?? undefined) as T };
  return { kind: "failed", error: errorOf({ message: told[1], code: told[2] }) };
}
