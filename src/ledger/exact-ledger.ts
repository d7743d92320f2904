/**
 * The ledger without leases: the database decides each hold and each charge, and all that come in one turn of the event loop are
 * one transaction. `leases/leased-ledger.ts` keeps the same contract and is faster.
 *
 * A charge is committed when `capture` resolves. While this process lives it moves the deadlines of its holds on; those of a
 * process that died expire. What such a process has left in a journal is posted first.
 */
import { newId } from "../runtime/ids.ts";
import { SlotSet } from "../runtime/slot-set.ts";
import {
  type Capture,
  type Captured,
  closeMs,
  type Hold,
  type HoldRequest,
  holdMs,
  type Ledger,
  type LedgerOptions,
  type Short,
  sweepMs,
} from "./contract.ts";
import { type Credit, createCredit } from "./credit.ts";
import { createGroupCommit } from "./journal/group-commit.ts";
import { createJournal } from "./journal/journal.ts";
import { createTotalsMerger } from "./journal/totals-merger.ts";
import { createLeases } from "./leases/leases.ts";
import { retry } from "./retry.ts";
import { createRunningCalls } from "./running-calls.ts";

export function createExactLedger({ store, clock, onError }: LedgerOptions): Ledger {
  const node = newId("nod", clock());
  const credit = createCredit();
  const running = createRunningCalls();
  const merger = createTotalsMerger({ store, onError });
  const { transact, withoutWaiting } = store;
  const groupCommit = createGroupCommit({ transact, withoutWaiting, flush: () => {}, append: () => {}, onError });
  const enlist: Enlist = (accountId, work) => groupCommit.enlist({ accountId, work, after: (result) => result });
  const calls = createExactCalls({ store, clock, onError }, { node, credit, enlist });
  const { hold, release, capture } = calls;
  // No call of this process is added to the journal. It posts what others have left, and records when keys were used.
  const leases = createLeases({ node, version: store.version, mayLease: () => false });
  const own = { node, leases, credit, unpostedHolds: () => [], onFlushed: merger.start };
  const journal = createJournal({ store, ...own, clock, onError });

  async function sweep(): Promise<void> {
    const now = clock();
    await enlist("", () => store.renew(node, now + holdMs));
    await calls.releaseAgain();
    // What dead processes have journaled is paid from what they hold: so it comes first.
    const unreadable = journal.recover();
    merger.start();
    while ((await enlist("", () => store.expire(now, unreadable))) > 0);
  }

  const sweeper = setInterval(() => void sweep().catch(onError), sweepMs);
  sweeper.unref();
  return {
    hold,
    release,
    begin: running.begin,
    capture,
    credit,
    sweep,
    touch: journal.touch,
    flushCallsOf: () => false,
    async close() {
      clearInterval(sweeper);
      await running.ended(closeMs);
      await groupCommit.settled();
      await calls.releaseAgain().catch(onError);
      for (const part of [journal, merger]) part.close();
    },
  };
}

/** Runs work for an account in the transaction of this turn, and resolves when that is committed. */
type Enlist = <T>(accountId: string, work: () => T) => Promise<T>;

interface ExactCallsParts {
  readonly node: string;
  readonly credit: Credit;
  readonly enlist: Enlist;
}

function createExactCalls({ store, clock, onError }: LedgerOptions, { node, credit, enlist }: ExactCallsParts) {
  const holds = new SlotSet<Hold>();
  /** Calls whose holds could not be released. */
  const unreleased = new Set<string>();

  return {
    async hold(request: HoldRequest): Promise<Hold | Short> {
      const { accountId, keyId } = request;
      const held = await enlist(accountId, () => store.hold({ ...request, node, expiresAt: clock() + holdMs }));
      if (held.kind === "short") return held;
      const own: Hold = { ...held, request, lease: undefined, isExact: true };
      holds.add(own);
      credit.held(accountId, keyId, held.amount);
      return own;
    },
    async release(own: Hold): Promise<void> {
      if (!holds.delete(own)) return;
      const { requestId, accountId, keyId } = own.request;
      try {
        await retry(() => enlist(accountId, () => store.release(requestId)), onError);
      } catch (error) {
        unreleased.add(requestId);
        throw error;
      }
      credit.held(accountId, keyId, -own.amount);
    },
    async capture(call: Capture, held?: Hold): Promise<Captured | undefined> {
      const { id, account_id: accountId, key_id: keyId } = call;
      const own = held && holds.delete(held) ? held : undefined;
      try {
        const captured = await retry(() => enlist(accountId, () => store.capture(call, held?.amount)), onError);
        credit.held(accountId, keyId, (captured?.cost ?? 0) - (own?.amount ?? 0));
        return captured;
      } catch (error) {
        if (own) unreleased.add(id);
        throw error;
      }
    },
    /** Releases what could not be released when its call ended. */
    async releaseAgain(): Promise<void> {
      for (const id of unreleased) {
        await enlist("", () => store.release(id));
        unreleased.delete(id);
      }
    },
  };
}
