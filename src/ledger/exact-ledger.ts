/**
 * The ledger without leases: the books decide each hold and each charge, and all that come in one turn of the event loop are one
 * transaction. `leases/leased-ledger.ts` keeps the same contract and is faster.
 *
 * A charge is committed when `capture` resolves. While this process lives it moves the deadlines of its holds on; those of a
 * process that died expire.
 */
import { newId } from "../runtime/ids.ts";
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import { SlotSet } from "../runtime/slot-set.ts";
import { mayPass, troubleOf } from "../runtime/write-trouble.ts";
import type { Books, DecidedCapture, Granted, HoldEntry, Taken } from "../storage/money/books.ts";
import {
  type Capture,
  type Captured,
  closeMs,
  type Hold,
  type HoldRequest,
  type Ledger,
  type LedgerOptions,
  type Short,
  sweepMs,
} from "./contract.ts";
import { type Credit, createCredit } from "./credit.ts";
import { createGroupCommit, type GroupCommit } from "./group-commit.ts";
import { retry } from "./retry.ts";
import { createRunningCalls } from "./running-calls.ts";

export function createExactLedger({ openBooks, clock, onError }: LedgerOptions): Ledger {
  const node = newId("nod", clock());
  const credit = createCredit();
  const running = createRunningCalls();
  const recall = () => ({ records: groupCommit.unwritten(), leases: [] });
  const holds = new SlotSet<Hold>();
  /** Calls whose charge the books decide at this moment. */
  const capturing = new Set<string>();
  const holding = () => [
    ...holds.all().map(({ request }) => request.requestId),
    ...capturing,
    ...groupCommit.unwrittenCalls(),
  ];
  const books = openBooks({ node, clock, onError, recall, holding });
  const groupCommit = createGroupCommit({ books, clock, onError, giveBack: () => [], leaseFor: () => undefined });
  const { hold, release, capture, releaseAgain } = createExactCalls({ groupCommit, credit, holds, capturing, onError });

  async function sweep(): Promise<void> {
    await books.renew();
    await releaseAgain();
    await expireAll(books);
  }

  const ending = () => books.ending?.();
  const sweeper = setInterval(() => void sweep().catch(onError), sweepMs);
  sweeper.unref();
  return {
    hold,
    release,
    begin: running.begin,
    capture,
    credit,
    sweep,
    touch: books.touch,
    ending,
    flushCallsOf: () => false,
    async close() {
      clearInterval(sweeper);
      ending();
      await running.ended(closeMs);
      await groupCommit.settled();
      await releaseAgain().catch(onError);
      await books.close();
    },
  };
}

/** expireAll expires holds of processes that died, some at a time, until none is left. */
export async function expireAll(books: Pick<Books, "expire">): Promise<void> {
  while ((await books.expire()) > 0);
}

/** holdEntryOf makes what is written of a call that begins. `taken` names the lease of its hold; undefined for one that costs nothing. */
export function holdEntryOf(request: HoldRequest, taken: Taken | undefined): HoldEntry {
  const { requestId, accountId, keyId, operation, model, max: amount, now: createdAt } = request;
  return { kind: "hold", requestId, taken, accountId, keyId, operation, model, amount, createdAt };
}

/** A call that costs nothing needs no decision: what is written of it makes it known as lost if this process dies. */
function holdNothing(
  request: HoldRequest,
  holds: SlotSet<Hold>,
  { add, trouble }: Pick<GroupCommit, "add" | "trouble">,
): MaybePromise<Hold> {
  const failing = trouble();
  // Else more and more calls would wait to be written.
  if (failing) return Promise.reject(failing);
  const entry = holdEntryOf(request, undefined);
  const own: Hold = { kind: "held", amount: 0, request, lease: undefined, entry, isExact: true };
  holds.add(own);
  add(entry);
  return own;
}

/** within returns a call as a hold of `most`, in millionths of the unit, covers it: what it cost beyond that is waived. */
export function within(call: Capture, most: number): Capture {
  const waived = call.cost - most;
  return waived > 0 ? { ...call, cost: most, waived } : call;
}

/**
 * captureLater has the books told of a call that its hold covers as soon as they are back. It counts once, whatever became of the question
 * before. Rejects where it could not be written, and never is.
 */
async function captureLater(
  call: Capture,
  { add, withdraw, written }: Pick<GroupCommit, "add" | "withdraw" | "written">,
): Promise<Captured> {
  const entry = { kind: "settle", call, isHeld: true } as const;
  add(entry);
  try {
    await written();
  } catch (error) {
    // A later write may have taken the entry along: then the call is charged.
    if (withdraw(entry)) throw error;
  }
  return { cost: call.cost, waived: call.waived ?? 0 };
}

interface ExactCallsParts extends Pick<LedgerOptions, "onError"> {
  readonly groupCommit: GroupCommit;
  readonly credit: Credit;
  readonly holds: SlotSet<Hold>;
  readonly capturing: Set<string>;
}

function createExactCalls({ groupCommit, credit, holds, capturing, onError }: ExactCallsParts) {
  /** Calls whose holds could not be released. */
  const unreleased = new Set<string>();
  const releaseOf = (item: string, accountId: string) =>
    groupCommit.enlist("releases", { item, accountId, after: () => {} });

  return {
    hold(request: HoldRequest): MaybePromise<Hold | Short> {
      if (request.max === 0) return holdNothing(request, holds, groupCommit);
      const { accountId, keyId } = request;
      const after = (granted: Granted): Hold | Short => {
        if (granted.kind === "leased") throw new Error("the books grew a lease that nobody asked for");
        if (granted.kind === "short") return granted;
        const own: Hold = { ...granted, request, lease: undefined, entry: undefined, isExact: true };
        holds.add(own);
        credit.held(accountId, keyId, granted.amount);
        return own;
      };
      return groupCommit.enlist("holds", { item: request, accountId, after });
    },
    async release(own: Hold): Promise<void> {
      if (!holds.delete(own)) return;
      const { requestId, accountId, keyId } = own.request;
      if (own.entry && groupCommit.withdraw(own.entry)) return;
      try {
        await retry(() => releaseOf(requestId, accountId), onError);
      } catch (error) {
        unreleased.add(requestId);
        throw error;
      }
      credit.held(accountId, keyId, -own.amount);
    },
    capture: createExactCapture({ groupCommit, credit, holds, capturing, onError }, unreleased),
    /** Releases what could not be released when its call ended. */
    async releaseAgain(): Promise<void> {
      for (const id of unreleased) {
        await releaseOf(id, "");
        unreleased.delete(id);
      }
    },
  };
}

/** createExactCapture returns what charges calls that have ended. `unreleased` gets the calls whose holds stay for now. */
function createExactCapture(
  { groupCommit, credit, holds, capturing, onError }: ExactCallsParts,
  unreleased: Set<string>,
): Ledger["capture"] {
  /**
   * captureByBooks asks once where the books are away and `isHeld`: they may have decided before, and would tell nothing of that the next
   * time.
   */
  const captureByBooks = (item: DecidedCapture, accountId: string, isHeld: boolean) => {
    const isAway = (error: unknown) => isHeld && troubleOf(error) === "away";
    return retry(() => groupCommit.enlist("captures", { item, accountId, after: (result) => result }), onError, isAway);
  };

  /** charged notes what a call was charged. `held` is what it held, in millionths of the unit. */
  function charged(call: Capture, held: number, captured: Captured | undefined): Captured | undefined {
    credit.held(call.account_id, call.key_id, (captured?.cost ?? 0) - held);
    return captured;
  }

  async function captureOwnLater(call: Capture, amount: number): Promise<Captured | undefined> {
    try {
      return charged(call, amount, await captureLater(within(call, amount), groupCommit));
    } catch (error) {
      unreleased.add(call.id);
      throw error;
    }
  }

  return async (call, held) => {
    const own = held && holds.delete(held) ? held : undefined;
    const item = { call, most: held?.amount ?? call.cost, budgets: held?.request.budgets };
    capturing.add(call.id);
    try {
      return charged(call, own?.amount ?? 0, await captureByBooks(item, call.account_id, own !== undefined));
    } catch (error) {
      if (own && mayPass(error)) return await captureOwnLater(call, own.amount);
      if (own) unreleased.add(call.id);
      throw error;
    } finally {
      capturing.delete(call.id);
    }
  };
}
