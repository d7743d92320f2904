/**
 * Applies entries of calls to the tables: holds of calls that still run, charges of those that have ended, and all sums. What calls add
 * to the same account, key or hour is summed first, for many calls at once. Where that still concerns many keys and hours, it stays
 * pending for now (`pending-totals.ts`).
 *
 * A call that came and ended in one batch never has a hold of its own: it is charged out of its lease. One that still runs gets its hold
 * now, out of the lease; when it ends, the lease gets the rest back. Where a lease or a hold has expired, because its process stood
 * still for long, its calls are charged one by one, by what is available; and where a lease is gone, rests go to the account.
 */
import type { Entry, HoldEntry, Taken } from "../../../money/books.ts";
import type { Capture } from "../../../money/contract.ts";
import { createTotals, hourValues, type Totals } from "../../../money/totals.ts";
import type { BudgetBooks } from "./budgets.ts";
import { type GroupedCapture, type GroupedEntries, groupEntries, type OwnHold } from "./group-entries.ts";
import type { EndedCall, InsertCalls } from "./insert-calls.ts";
import { hasCalls, type PendingTotals } from "./pending-totals.ts";
import type { LedgerStatements } from "./statements.ts";

/**
 * Apply writes entries, in the caller's transaction. `mayStayPending` says that no key has been given a limit since its calls drew on a
 * lease: then sums of keys and hours may be merged later.
 */
export type Apply = (entries: readonly Entry[], node: string, expiresAt: number, mayStayPending?: boolean) => void;

export interface ApplyParts {
  readonly statements: LedgerStatements;
  readonly pendingTotals: PendingTotals;
  readonly insertCalls: InsertCalls;
  readonly budgets: Pick<BudgetBooks, "charging">;
  /** Charges one call by what is available. */
  readonly captureAlone: (call: Capture) => unknown;
  /** Holds for one call by what is available. */
  readonly holdAlone: (entry: HoldEntry, node: string, expiresAt: number) => void;
}

/** Totals of more than so many keys, hours and models stay pending: fewer are as quickly merged at once. */
const maxTotalsAtOnce = 16;

/** Batch is what one `Apply` has to write. */
interface Batch {
  readonly grouped: GroupedEntries;
  readonly leases: Leases;
  readonly keys: OwnerSums;
  readonly accounts: OwnerSums;
  readonly totals: Totals;
  /** node is written into holds of calls that still run. */
  readonly node: string;
  readonly expiresAt: number;
}

export function createApply(parts: ApplyParts): Apply {
  return (entries, node, expiresAt, mayStayPending = false) => {
    const leases = createLeases(parts.statements);
    const [keys, accounts] = [createOwnerSums(), createOwnerSums()];
    const batch = { grouped: groupEntries(entries), node, expiresAt, leases, keys, accounts, totals: createTotals() };
    const released = endHolds(batch, parts.statements);
    leases.draw();
    applyCaptures(batch, parts);
    for (const { own, taken } of released) freeOwn(batch, own, taken);
    applyHolds(batch, parts);
    writeSums(batch, mayStayPending, parts);
  };
}

/** Leases are what the entries take from leases and give back to them. */
interface Leases {
  take(taken: Taken, amount: number): void;
  /** Writes all that was taken and given back. */
  draw(): void;
  /** Reports, once that is written, whether the lease was there and had as much. */
  isThere(taken: Taken): boolean;
}

function createLeases({ drawLease }: LedgerStatements): Leases {
  const drawn = new Map<string, number>();
  const gone = new Set<string>();
  return {
    take: ({ leaseId }, amount) => void drawn.set(leaseId, (drawn.get(leaseId) ?? 0) + amount),
    draw() {
      for (const [id, amount] of drawn) if (drawLease.run(amount, id, amount) === 0) gone.add(id);
    },
    isThere: ({ leaseId }) => !gone.has(leaseId),
  };
}

/** ReleasedHold is a hold of its own that a call had, and has released. */
interface ReleasedHold {
  readonly own: OwnHold;
  readonly taken: Taken | undefined;
}

/**
 * endHolds deletes the holds of calls that have ended or released them, and counts what everything takes from leases. Returns those that
 * were released.
 */
function endHolds({ grouped, leases }: Batch, { deleteHold }: LedgerStatements): readonly ReleasedHold[] {
  const released: ReleasedHold[] = [];
  for (const capture of grouped.captures) {
    const { entry, taken, isOfBatch } = capture;
    if (entry.isHeld && !isOfBatch) capture.own = deleteHold.get(entry.call.id);
    if (taken) leases.take(taken, capture.own ? restOf(capture.own, entry.call.cost) : entry.call.cost);
  }
  for (const { requestId, taken } of grouped.releases) {
    const own = deleteHold.get(requestId);
    if (!own) continue;
    if (taken) leases.take(taken, restOf(own, 0));
    released.push({ own, taken });
  }
  for (const { taken, amount } of grouped.holds) if (taken) leases.take(taken, amount);
  return released;
}

/** restOf returns what a lease gets back of a hold, as what is taken from it. */
function restOf({ amount }: OwnHold, cost: number): number {
  return -Math.max(0, amount - cost);
}

/** applyCaptures inserts the rows of calls that have ended, and counts what they spent and no longer hold. */
function applyCaptures(batch: Batch, { insertCalls, captureAlone, budgets }: ApplyParts): void {
  const { grouped, keys, accounts, totals } = batch;
  const charges: Charge[] = [];
  const alone: Capture[] = [];
  for (const one of grouped.captures) {
    const freed = freedOf(batch, one);
    if (freed)
      charges.push({
        call: one.entry.call,
        isKnown: false,
        isLimited: one.entry.isLimited ?? true,
        hadHold: one.own !== undefined,
        ...freed,
      });
    else alone.push(one.entry.call);
  }
  insertCalls(charges);
  const chargeBudgets = budgets.charging();
  alone.forEach(captureAlone);
  for (const { call, isKnown, isLimited, ofKey, ofAccount } of charges) {
    // A call that has a row already costs nothing more. What it held is released all the same.
    const cost = isKnown ? 0 : call.cost;
    accounts.add(call.account_id, ofAccount, cost);
    chargeBudgets?.(call, cost);
    // The row of a key with a limit decides what the key may spend: it never stays pending.
    const isAtOnce = isLimited || isKnown;
    if (isAtOnce) keys.add(call.key_id, ofKey, cost);
    if (!isKnown) totals.addCall(call, isAtOnce ? 0 : cost, isAtOnce ? 0 : ofKey);
  }
}

/** Freed is what is no longer held, in millionths of the unit. */
interface Freed {
  readonly ofKey: number;
  readonly ofAccount: number;
}

/** Charge is a call that has ended, and what it no longer holds. */
interface Charge extends EndedCall, Freed {
  readonly isLimited: boolean;
}

/** freedOf returns what a call that has ended no longer holds; undefined for one that should hold something and does not. */
function freedOf(batch: Batch, { entry, own, taken, isOfBatch }: GroupedCapture): Freed | undefined {
  const { call, isHeld } = entry;
  // A call that costs nothing held nothing.
  const isFree = isOfBatch ? taken === undefined && call.cost === 0 : !isHeld;
  if (isFree) return { ofKey: 0, ofAccount: 0 };
  if (own) return freedByOwn(batch, own, taken, call.cost);
  // Out of the lease. Of the key nothing is held for a lease of the whole account.
  if (taken && batch.leases.isThere(taken)) return { ofKey: taken.isOfKey ? call.cost : 0, ofAccount: call.cost };
  return undefined;
}

/** freedByOwn returns what is no longer held once a hold of its own has ended: all of it, but for what its lease got back. */
function freedByOwn({ leases }: Batch, own: OwnHold, taken: Taken | undefined, cost: number): Freed {
  const rest = taken && leases.isThere(taken) ? -restOf(own, cost) : 0;
  return { ofKey: own.amount - (taken?.isOfKey ? rest : 0), ofAccount: own.amount - rest };
}

function freeOwn(batch: Batch, own: OwnHold, taken: Taken | undefined): void {
  const { ofKey, ofAccount } = freedByOwn(batch, own, taken, 0);
  batch.keys.add(own.key_id, ofKey, 0);
  batch.accounts.add(own.account_id, ofAccount, 0);
}

/** applyHolds gives calls that still run holds of their own. */
function applyHolds(batch: Batch, { statements, holdAlone }: ApplyParts): void {
  const { grouped, leases, totals, node, expiresAt } = batch;
  for (const hold of grouped.holds) {
    const { requestId, taken, accountId, keyId, operation, model, amount, createdAt } = hold;
    if (taken && !leases.isThere(taken)) holdAlone(hold, node, expiresAt);
    else {
      statements.insertHold.run(requestId, node, accountId, keyId, operation, model, amount, createdAt, expiresAt);
      // The lease was the account's: of the key it is held from now on.
      if (taken?.isOfKey === false) totals.addHold(hold);
    }
  }
}

function writeSums({ keys, accounts, totals }: Batch, mayStayPending: boolean, parts: ApplyParts): void {
  const { addToHour, captureOfKey, captureOfAccount } = parts.statements;
  if (mayStayPending && totals.rows.length > maxTotalsAtOnce) parts.pendingTotals.add(totals.rows);
  else
    for (const total of totals.rows) {
      if (hasCalls(total)) addToHour.run(...hourValues(total));
      keys.add(total.key_id, total.freed, total.spent);
    }
  keys.each((id, { freed, spent }) => captureOfKey.run(freed, spent, id));
  accounts.each((id, { freed, spent }) => captureOfAccount.run(freed, spent, id));
}

/** OwnerSum is what an account's or a key's calls no longer hold, and what they have spent. */
interface OwnerSum {
  freed: number;
  spent: number;
}

interface OwnerSums {
  add(id: string, freed: number, spent: number): void;
  /** Calls `write` for each owner whose sum is not zero. */
  each(write: (id: string, sum: OwnerSum) => void): void;
}

function createOwnerSums(): OwnerSums {
  const sums = new Map<string, OwnerSum>();
  let last: OwnerSum = { freed: 0, spent: 0 };
  let lastId: string | undefined;

  /** sumOf remembers the last owner: most calls are of the same one as the call before. */
  function sumOf(id: string): OwnerSum {
    if (id === lastId) return last;
    lastId = id;
    last = sums.get(id) ?? { freed: 0, spent: 0 };
    sums.set(id, last);
    return last;
  }

  return {
    add(id, freed, spent) {
      const sum = sumOf(id);
      sum.freed += freed;
      sum.spent += spent;
    },
    each(write) {
      for (const [id, sum] of sums) if (sum.freed !== 0 || sum.spent !== 0) write(id, sum);
    },
  };
}
