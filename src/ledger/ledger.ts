/**
 * Holds and settlements: what a call reserves before it is sent, and what it is charged when it is over.
 *
 * Where credit is ample a call takes its hold from a lease of this process, which asks nobody, and its charge is noted in the
 * journal, one write for all calls of a turn. Where it is not, the database decides, call by call, and nothing is left over.
 *
 * What `settle` and `free` give survives this process. A hold from a lease need not: the lease covers it.
 * A settlement is safe to repeat, and is tried again while the database is busy; one that fails for good is the caller's to
 * tell. While this process lives it moves the deadlines of its holds on; those of a process that died lapse, here or in
 * whatever process looks first, and free what they reserved.
 */
import { newId } from "../runtime/ids.ts";
import type { Deferred, MaybePromise } from "../runtime/maybe-promise.ts";
import { SlotSet } from "../runtime/slot-set.ts";
import type { Capture, Captured, Entry, LedgerStore } from "../storage/money/ledger.ts";
import { type Credit, createCredit } from "./credit.ts";
import { createTurns } from "./group-commit.ts";
import { createJournal } from "./journal.ts";
import { createLeases, type Lease, leaseFor, type Payer } from "./leases.ts";
import { createMerging } from "./merge-totals.ts";
import { type Hold, type HoldRequest, holdOf, mayBeLimited, type Short } from "./reserved.ts";
import { retried } from "./retry.ts";
import { createRunning } from "./running-calls.ts";

export type { Capture as Settlement, Captured as Charged, Hold as Reserved, HoldRequest as Wish, Short };

export interface LedgerOptions {
  readonly store: LedgerStore;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

export interface Ledger {
  hold(wish: HoldRequest): MaybePromise<Hold | Short>;
  /** Gives back what a call has reserved, which may then reserve anew. */
  release(reserved: Hold): Promise<void>;
  /** Says that a call runs which will be settled. Returns what says that it has been. */
  begin(): () => void;
  /** Charges a call, at most what it has reserved, and frees that, once; undefined where that was done before. */
  capture(settlement: Capture, reserved?: Hold): MaybePromise<Captured | undefined>;
  /** Notes that a key was used, at some time soon. */
  touch(keyId: string, now: number): void;
  /** Writes what is not written of this account's calls that are over, unless another process writes. Returns whether it did. */
  writeCallsOf(accountId: string): boolean;
  /** What is left of accounts and keys, as far as this process knows. */
  readonly credit: Credit;
  /** Frees the holds of processes that died, and moves on those of this one. */
  sweep(): Promise<void>;
  /** Finishes what is begun: calls that were broken off are settled first. */
  close(): Promise<void>;
}

/** How long a hold outlives its process, and how often its deadline is moved on. */
export const holdMs = 90_000;
export const sweepMs = 20_000;

/** How long closing waits for calls to be settled, which were all broken off before. */
export const closeMs = 10_000;

export function createLedger({ store, clock, onError }: LedgerOptions): Ledger {
  const node = newId("nod", clock());
  const credit = createCredit();
  const mayLease = ({ keyId, isLimited }: Payer) => store.leases.mayLease(keyId, isLimited);
  const leases = createLeases({ node, version: store.version, mayLease });
  const calls = new SlotSet<Hold>();
  /** Calls whose charge the database decides at this moment. */
  const settling = new Set<string>();
  /** Those that took from a lease since the journal was last written: none has a hold of its own. */
  let young: Hold[] = [];
  const merging = createMerging({ store, onError });
  const onWritten = () => {
    for (const reserved of young) reserved.lease = undefined;
    if (young.length > 0) young = [];
    merging.start();
  };
  /** The holds that calls are to get which have none of their own. */
  const openHolds = () => young.filter((one) => calls.has(one)).flatMap((reserved) => holdOf(reserved) ?? []);
  const journal = createJournal({ store, node, leases, credit, clock, holdMs, openHolds, onWritten, onError });
  const write = (accounts: ReadonlySet<string>) => journal.write(({ accountId }) => accounts.has(accountId));
  const turns = createTurns({ ...store, write, save: journal.save, onError });
  const unsettled = createRunning();
  let renewedAt = clock();

  /** A process that stood still for long has lost its leases, and may not know it yet. */
  const isAwake = () => clock() - renewedAt < holdMs;

  function hold(wish: HoldRequest): MaybePromise<Hold | Short> {
    const lease = isAwake() ? leases.draw(wish, wish.max) : undefined;
    return lease ? takenFrom(lease, wish) : holdAnew(wish);
  }

  function takenFrom(lease: Lease, wish: HoldRequest): Hold {
    const { max: amount } = wish;
    credit.used(lease, amount);
    const reserved: Hold = { kind: "held", wish, amount, lease, isExact: false };
    calls.add(reserved);
    young.push(reserved);
    journal.writeLater();
    return reserved;
  }

  /** It is there when that is noted. */
  function note(entry: Entry, accountId: string): Deferred<void> {
    journal.add(entry, accountId);
    return turns.saved();
  }

  /** Asks the database: for a lease where credit is ample, and else for this call alone. */
  function holdAnew(wish: HoldRequest): Promise<Hold | Short> {
    const { accountId, keyId, max, now } = wish;
    // The call may have come long ago.
    const expiresAt = clock() + holdMs;
    const lease = { ...leases.namesOf(wish), node, now, expiresAt };
    return turns.step({
      accountId,
      work(leased) {
        const isAllowed = max > 0 && mayLease(wish);
        const left = leased.get(lease.id) ?? 0;
        const grown = left >= max ? 0 : leaseFor(max, store.left(keyId).available);
        const isLeased = isAllowed && (left >= max || (grown > 0 && store.leases.grow({ ...lease, amount: grown })));
        if (!isLeased) return { grown: 0, held: store.hold({ ...wish, node, expiresAt }) };
        leased.set(lease.id, left + grown - max);
        return { grown, held: undefined };
      },
      after({ grown, held }) {
        if (held?.kind === "short") return held;
        if (held) {
          const reserved: Hold = { ...held, wish, lease: undefined, isExact: true };
          calls.add(reserved);
          credit.reserved(accountId, keyId, held.amount);
          return reserved;
        }
        const own = leases.grow(wish, grown);
        credit.leased(own, grown);
        leases.use(own, max);
        return takenFrom(own, wish);
      },
    });
  }

  /** Who is told that it failed is not charged, and holds nothing. */
  function freeLater(requestId: string, accountId: string): void {
    journal.add({ kind: "free", requestId }, accountId);
    journal.writeLater();
  }

  async function free(reserved: Hold): Promise<void> {
    if (!calls.delete(reserved)) return;
    const { amount, lease, isExact } = reserved;
    const { requestId, accountId, keyId } = reserved.wish;
    if (isExact) {
      const step = { accountId, work: () => store.free(requestId), after: () => {} };
      const freed = retried(() => turns.step(step), onError);
      freed.catch(() => freeLater(requestId, accountId));
      await freed;
      credit.reserved(accountId, keyId, -amount);
    } else {
      adjust(reserved, -amount);
      if (!lease) await note({ kind: "free", requestId }, accountId);
    }
  }

  /** Notes that a call has more, or less, of its account's credit than it reserved. */
  function adjust({ wish, lease }: Hold, amount: number): void {
    if (lease) {
      leases.use(lease, amount);
      credit.used(lease, amount);
    } else credit.reserved(wish.accountId, wish.keyId, amount);
  }

  function settle(settlement: Capture, held?: Hold): MaybePromise<Captured | undefined> {
    const { id, cost } = settlement;
    // One that is being settled by the database keeps its place among the calls until then.
    const reserved = held && !settling.has(id) && calls.delete(held) ? held : undefined;
    const isCovered = reserved ? covers(reserved, cost) : cost === 0 && !settling.has(id);
    if (!isCovered) return settleAnew(settlement, reserved, held?.amount);
    if (reserved) adjust(reserved, cost - reserved.amount);
    const taken = reserved?.lease?.taken;
    const isLimited = !reserved || mayBeLimited(reserved.wish, store.version());
    const entry: Entry = { kind: "settle", call: settlement, isHeld: reserved !== undefined, isLimited, taken };
    const charged = () => ({ cost, waived: 0 });
    return note(entry, settlement.account_id).then(charged, (error: unknown) => {
      // What another write has noted meanwhile is charged.
      if (!journal.withdraw(entry)) return charged();
      if (reserved) adjust(reserved, -cost);
      if (reserved && !taken) freeLater(id, settlement.account_id);
      throw error;
    });
  }

  /** Whether a call is charged in full by what it has reserved, which this process knows to be there. */
  const covers = ({ amount, isExact }: Hold, cost: number) => !isExact && isAwake() && cost <= amount;

  /** Has the database decide what is charged, and write down what is waived. */
  async function settleAnew(settlement: Capture, reserved?: Hold, most?: number): Promise<Captured | undefined> {
    const { id, account_id: accountId, key_id: keyId } = settlement;
    // What it took from a lease becomes a hold of its own before that is given back.
    if (reserved) calls.add(reserved);
    const step = {
      accountId,
      work: () => store.settle(settlement, most),
      after(charged: Captured | undefined) {
        if (reserved) calls.delete(reserved);
        credit.reserved(accountId, keyId, (charged?.cost ?? 0) - (reserved?.amount ?? 0));
        return charged;
      },
    };
    settling.add(id);
    try {
      return await retried(() => turns.step(step), onError);
    } catch (error) {
      if (reserved && calls.delete(reserved)) freeLater(id, accountId);
      throw error;
    } finally {
      settling.delete(id);
    }
  }

  /** Who stood still no longer knows what it has: leases and holds may have lapsed. */
  function beginAnew(): void {
    journal.write(() => true);
    for (const reserved of calls.all()) reserved.isExact = true;
  }

  async function sweep(): Promise<void> {
    const now = clock();
    const inTurn = <T>(work: () => T) => turns.step({ accountId: "", work, after: (result) => result });
    if (!isAwake()) await store.whenFree(beginAnew);
    await inTurn(() => store.renew(node, now + holdMs));
    renewedAt = now;
    // What they have noted is paid from what they hold.
    const kept = journal.recover();
    while ((await inTurn(() => store.lapse(now, kept))) > 0);
  }

  const sweeper = setInterval(() => void sweep().catch(onError), sweepMs);
  sweeper.unref();
  return {
    ...{ hold, release: free, begin: unsettled.begin, capture: settle, credit, sweep, touch: journal.touch },
    writeCallsOf: journal.writeCallsOf,
    async close() {
      clearInterval(sweeper);
      await unsettled.none(closeMs);
      await turns.settled();
      for (const part of [journal, merging]) part.close();
    },
  };
}
