/**
 * The ledger without leases: the database decides each hold and each charge, and all that come in one turn of the event loop are
 * one transaction. `ledger.ts` is the faster one; this one keeps the same contract.
 *
 * A charge is committed when `capture` resolves. While this process lives it moves the deadlines of its holds on; those of a process
 * that died lapse. What such a process has left in a journal is written first.
 */
import { newId } from "../runtime/ids.ts";
import { SlotSet } from "../runtime/slot-set.ts";
import type { Capture, Captured } from "../storage/money/ledger.ts";
import { type Credit, createCredit } from "./credit.ts";
import { createTurns } from "./group-commit.ts";
import { createJournal } from "./journal.ts";
import { createLeases } from "./leases.ts";
import { closeMs, holdMs, type Ledger, type LedgerOptions, sweepMs } from "./ledger.ts";
import { createMerging } from "./merge-totals.ts";
import type { Hold, HoldRequest, Short } from "./reserved.ts";
import { retried } from "./retry.ts";
import { createRunning } from "./running-calls.ts";

export function createExactLedger({ store, clock, onError }: LedgerOptions): Ledger {
  const node = newId("nod", clock());
  const credit = createCredit();
  const running = createRunning();
  const merging = createMerging({ store, onError });
  const turns = createTurns({ ...store, write: () => {}, save: () => {}, onError });
  const enlist: Enlist = (accountId, work) => turns.step({ accountId, work, after: (result) => result });
  const calls = createExactCalls({ store, clock, onError }, { node, credit, enlist });
  const { hold, release, capture } = calls;
  // No call of this process is added to it: it writes what others have left, and when keys were used.
  const leases = createLeases({ node, version: store.version, mayLease: () => false });
  const own = { node, leases, credit, holdMs, openHolds: () => [] };
  const journal = createJournal({ store, ...own, clock, onWritten: merging.start, onError });

  async function sweep(): Promise<void> {
    const now = clock();
    await enlist("", () => store.renew(node, now + holdMs));
    await calls.releaseAgain();
    // What they have noted is paid from what they hold.
    const kept = journal.recover();
    merging.start();
    while ((await enlist("", () => store.lapse(now, kept))) > 0);
  }

  const sweeper = setInterval(() => void sweep().catch(onError), sweepMs);
  sweeper.unref();
  return {
    ...{ hold, release, begin: running.begin, capture, credit, sweep, touch: journal.touch },
    writeCallsOf: () => false,
    async close() {
      clearInterval(sweeper);
      await running.none(closeMs);
      await turns.settled();
      await calls.releaseAgain().catch(onError);
      for (const part of [journal, merging]) part.close();
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
  const calls = new SlotSet<Hold>();
  /** Calls whose holds could not be released. */
  const unreleased = new Set<string>();

  return {
    async hold(wish: HoldRequest): Promise<Hold | Short> {
      const { accountId, keyId } = wish;
      const held = await enlist(accountId, () => store.hold({ ...wish, node, expiresAt: clock() + holdMs }));
      if (held.kind === "short") return held;
      const own: Hold = { ...held, wish, lease: undefined, isExact: true };
      calls.add(own);
      credit.reserved(accountId, keyId, held.amount);
      return own;
    },
    async release(own: Hold): Promise<void> {
      if (!calls.delete(own)) return;
      const { requestId, accountId, keyId } = own.wish;
      try {
        await retried(() => enlist(accountId, () => store.free(requestId)), onError);
      } catch (error) {
        unreleased.add(requestId);
        throw error;
      }
      credit.reserved(accountId, keyId, -own.amount);
    },
    async capture(call: Capture, held?: Hold): Promise<Captured | undefined> {
      const { id, account_id: accountId, key_id: keyId } = call;
      const own = held && calls.delete(held) ? held : undefined;
      try {
        const captured = await retried(() => enlist(accountId, () => store.settle(call, held?.amount)), onError);
        credit.reserved(accountId, keyId, (captured?.cost ?? 0) - (own?.amount ?? 0));
        return captured;
      } catch (error) {
        if (own) unreleased.add(id);
        throw error;
      }
    },
    /** Releases what could not be released when its call ended. */
    async releaseAgain(): Promise<void> {
      for (const id of unreleased) {
        await enlist("", () => store.free(id));
        unreleased.delete(id);
      }
    },
  };
}
