/**
 * The ledger with leases: an accelerator. `exact-ledger.ts` keeps the same contract without them.
 *
 * A call takes its hold from a lease of this process while credit is ample: that asks nobody, and its record is written without a
 * decision, with those of all calls of the turn. While credit is not ample, the books decide, call by call.
 *
 * Captures survive this process. A hold from a lease need not: the lease covers it, and the record that is written of it makes a lost
 * call known. A capture may be repeated, and is retried where it fails; one that fails for good is the caller's to report. A process
 * that lives moves the deadlines of its holds on; those of a process that died expire, in whatever process looks first, and what they
 * reserved is released.
 */
import { newId } from "../../runtime/ids.ts";
import { SlotSet } from "../../runtime/slot-set.ts";
import type { Recalled } from "../../storage/money/books.ts";
import { closeMs, type Hold, type Ledger, type LedgerOptions, sweepMs } from "../contract.ts";
import { createCredit } from "../credit.ts";
import { createGroupCommit } from "../group-commit.ts";
import { createRunningCalls } from "../running-calls.ts";
import { capture } from "./capture.ts";
import { hold } from "./hold.ts";
import { createLeases, type Lease } from "./leases.ts";
import type { LedgerState } from "./ledger-state.ts";
import { release } from "./release.ts";
import { sweep } from "./sweep.ts";

export function createLeasedLedger(options: LedgerOptions): Ledger {
  const { onError } = options;
  const state = createState(options);
  const { books, groupCommit, credit } = state;
  const running = createRunningCalls();
  const ending = () => books.ending?.();
  const sweeper = setInterval(() => void sweep(state).catch(onError), sweepMs);
  sweeper.unref();
  return {
    credit,
    begin: running.begin,
    touch: books.touch,
    ending,
    flushCallsOf: books.apply,
    hold: (request) => hold(state, request),
    release: (held) => release(state, held),
    capture: (call, held) => capture(state, call, held),
    sweep: () => sweep(state),
    async close() {
      clearInterval(sweeper);
      ending();
      await running.ended(closeMs);
      await groupCommit.settled();
      clearTimeout(state.releasing);
      clearTimeout(state.watching);
      await books.close();
    },
  };
}

function createState({ openBooks, clock, onError }: LedgerOptions): LedgerState {
  const node = newId("nod", clock());
  const credit = createCredit();
  const leases = createLeases(node, credit);
  const recall = (accountId: string): Recalled => {
    const records = groupCommit.unwritten();
    // One that has not grown yet may do so at this moment, by a turn that is being decided.
    const isAsked = (lease: Lease) => lease.isGrown && (accountId === "" || lease.accountId === accountId);
    return { records, leases: leases.giveBack(isAsked) };
  };
  const holds = new SlotSet<Hold>();
  const holding = () => [...holds.all().map(({ request }) => request.requestId), ...groupCommit.unwrittenCalls()];
  const books = openBooks({ node, clock, onError, recall, holding });
  const groupCommit = createGroupCommit({
    books,
    clock,
    onError,
    giveBack: (accountIds) => leases.giveBack(({ accountId }) => accountIds.has(accountId)),
    leaseFor: (request) => (request.max > 0 && !request.budgets ? leases.open(request) : undefined),
  });
  return {
    books,
    clock,
    onError,
    credit,
    leases,
    groupCommit,
    holds,
    capturing: new Set(),
    renewedAt: clock(),
    releasing: undefined,
    watching: undefined,
  };
}
