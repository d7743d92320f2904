/**
 * The ledger with leases: an accelerator. `exact-ledger.ts` keeps the same contract without them.
 *
 * Where credit is ample a call takes its hold from a lease of this process, which asks nobody, and its charge goes into the
 * journal, one write for all calls of a turn. Where credit is not ample, the database decides, call by call.
 *
 * What `capture` and `release` give survives this process. A hold from a lease need not: the lease covers it. A capture may be
 * repeated, and is retried while the database is busy; one that fails for good is the caller's to report. A process that lives
 * moves the deadlines of its holds on; those of a process that died expire, in whatever process looks first, and what they
 * reserved is released.
 */
import { newId } from "../../runtime/ids.ts";
import { SlotSet } from "../../runtime/slot-set.ts";
import { closeMs, type Hold, type Ledger, type LedgerOptions, sweepMs } from "../contract.ts";
import { createCredit } from "../credit.ts";
import { createGroupCommit } from "../journal/group-commit.ts";
import { createJournal } from "../journal/journal.ts";
import { createTotalsMerger, type TotalsMerger } from "../journal/totals-merger.ts";
import { createRunningCalls } from "../running-calls.ts";
import { capture } from "./capture.ts";
import { hold } from "./hold.ts";
import { createLeases } from "./leases.ts";
import { type LedgerState, markHoldsPosted, mayLease, unpostedHolds } from "./ledger-state.ts";
import { release } from "./release.ts";
import { sweep } from "./sweep.ts";

export function createLeasedLedger(options: LedgerOptions): Ledger {
  const { onError } = options;
  const merger = createTotalsMerger(options);
  const state = createState(options, merger);
  const { journal, groupCommit, credit } = state;
  const running = createRunningCalls();
  const sweeper = setInterval(() => void sweep(state).catch(onError), sweepMs);
  sweeper.unref();
  return {
    credit,
    begin: running.begin,
    touch: journal.touch,
    flushCallsOf: journal.flushCallsOf,
    hold: (request) => hold(state, request),
    release: (held) => release(state, held),
    capture: (call, held) => capture(state, call, held),
    sweep: () => sweep(state),
    async close() {
      clearInterval(sweeper);
      await running.ended(closeMs);
      await groupCommit.settled();
      for (const part of [journal, merger]) part.close();
    },
  };
}

function createState({ store, clock, onError }: LedgerOptions, merger: TotalsMerger): LedgerState {
  const node = newId("nod", clock());
  const credit = createCredit();
  const leases = createLeases({ node, version: store.version, mayLease: (payer) => mayLease({ store }, payer) });
  const onFlushed = () => {
    markHoldsPosted(state);
    merger.start();
  };
  const journal = createJournal({
    store,
    node,
    leases,
    credit,
    clock,
    onFlushed,
    onError,
    unpostedHolds: () => unpostedHolds(state),
  });
  const groupCommit = createGroupCommit({
    transact: store.transact,
    withoutWaiting: store.withoutWaiting,
    append: journal.append,
    onError,
    flush: (accounts) => journal.flush(({ accountId }) => accounts.has(accountId)),
  });
  const state: LedgerState = {
    store,
    node,
    clock,
    onError,
    credit,
    leases,
    journal,
    groupCommit,
    holds: new SlotSet<Hold>(),
    capturing: new Set(),
    unposted: [],
    renewedAt: clock(),
  };
  return state;
}
