/**
 * Writes what was noted of calls where it belongs: holds of calls that still run, charges of those that are over, and all
 * sums. Many calls at once: what they sum of the same account, key or hour is summed first. Where that is still much of keys
 * and hours, it stays due for now (`pending-totals.ts`).
 *
 * A call that came and ended between two postings never had a hold of its own: it is charged out of its lease. One that
 * still runs gets its hold now, out of the lease. Where a lease or a hold has lapsed, because its process stood still for
 * long, its calls are charged one by one, by what is left.
 */

import type { Capture } from "../money/ledger.ts";
import { createDueRows, hasCalls, keySum, usageOf } from "../money/ledger-rows.ts";
import type { LedgerStatements } from "../money/ledger-statements.ts";
import type { InsertCalls, Over } from "./bulk-insert.ts";
import type { Entry, HoldEntry, SettleEntry, Taken } from "./journal.ts";
import type { DueSums } from "./pending-totals.ts";

export interface PostingParts {
  readonly statements: LedgerStatements;
  readonly due: DueSums;
  readonly insertCalls: InsertCalls;
  /** Charges one call by what is left. */
  readonly settleAlone: (call: Capture) => unknown;
  /** Reserves for one call by what is left. */
  readonly holdAlone: (entry: HoldEntry, node: string, expiresAt: number) => void;
}

/** `mayStayDue`: no key has been given a limit since its calls took from a lease. */
export type Post = (entries: readonly Entry[], node: string, expiresAt: number, mayStayDue?: boolean) => void;

/** Sums of more than so many keys, hours and models stay due: fewer take no longer to write where they belong. */
const mostAtOnce = 16;

/** What becomes of an account's or a key's sums. */
interface Sum {
  /** What is no longer held. */
  freed: number;
  spent: number;
}

export function createPost({ statements, due, insertCalls, settleAlone, holdAlone }: PostingParts): Post {
  const { drawLease, deleteHold, insertHold, freeKey, freeAccount, addToHour } = statements;

  /** Ends what calls that are over still hold. Those that should hold something and do not are to be settled alone. */
  function chargesOf(settled: readonly SettleEntry[], lapsed: ReadonlySet<string>) {
    const charges: Charge[] = [];
    const alone: Capture[] = [];
    for (const entry of settled) {
      const { call, isHeld, taken } = entry;
      // Out of the lease; of the key nothing is held for a lease of the whole account.
      if (taken && !lapsed.has(taken.leaseId)) charges.push(chargeOf(entry, taken.isOfKey ? call.cost : 0, call.cost));
      else if (!isHeld) charges.push(chargeOf(entry, 0, 0));
      else {
        const own = taken ? undefined : deleteHold.get(call.id);
        if (own) charges.push(chargeOf(entry, own.amount, own.amount));
        else alone.push(call);
      }
    }
    return { charges, alone };
  }

  return (entries, node, expiresAt, mayStayDue = false) => {
    const { young, freed, settled, drawn } = grouped(entries);
    const lapsed = new Set<string>();
    for (const [id, amount] of drawn) if (amount > 0 && drawLease.run(amount, id, amount) === 0) lapsed.add(id);
    const keys = createSums();
    const accounts = createSums();
    const sums = createDueRows();
    const { charges, alone } = chargesOf(settled, lapsed);
    insertCalls(charges);
    alone.forEach(settleAlone);
    for (const { call, isKnown, isLimited, freedOfKey, freedOfAccount } of charges) {
      // One that is known already costs nothing more, and what it held is freed all the same.
      const cost = isKnown ? 0 : call.cost;
      accounts.add(call.account_id, freedOfAccount, cost);
      const isAtOnce = isLimited || isKnown;
      if (isAtOnce) keys.add(call.key_id, freedOfKey, cost);
      if (!isKnown) sums.addCall(call, isAtOnce ? 0 : cost, isAtOnce ? 0 : freedOfKey);
    }
    for (const requestId of freed) {
      const own = deleteHold.get(requestId);
      if (!own) continue;
      keys.add(own.key_id, own.amount, 0);
      accounts.add(own.account_id, own.amount, 0);
    }
    for (const hold of young) {
      const { requestId, taken, accountId, keyId, operation, model, amount, createdAt } = hold;
      if (lapsed.has(taken.leaseId)) holdAlone(hold, node, expiresAt);
      else {
        insertHold.run(requestId, node, accountId, keyId, operation, model, amount, createdAt, expiresAt);
        // The lease was the account's: of the key it is held from now on.
        if (!taken.isOfKey) sums.addHeld(hold);
      }
    }
    const staysDue = mayStayDue && sums.rows.length > mostAtOnce;
    if (staysDue) due.add(sums.rows);
    else
      for (const row of sums.rows) {
        if (hasCalls(row)) addToHour.run(...usageOf(row));
        keys.add(...keySum(row));
      }
    keys.each((id, { freed, spent }) => freeKey.run(freed, spent, id));
    accounts.each((id, { freed, spent }) => freeAccount.run(freed, spent, id));
  };
}

/** A call that is over, and what it no longer holds. */
interface Charge extends Over {
  readonly isLimited: boolean;
  readonly freedOfKey: number;
  readonly freedOfAccount: number;
}

function chargeOf({ call, isLimited = true }: SettleEntry, freedOfKey: number, freedOfAccount: number): Charge {
  return { call, isKnown: false, isLimited, freedOfKey, freedOfAccount };
}

interface Grouped {
  /** Holds of calls that still run. */
  readonly young: readonly HoldEntry[];
  /** Calls that have given back a hold of their own. */
  readonly freed: readonly string[];
  /** Calls that are over. */
  readonly settled: readonly SettleEntry[];
  /** What all of that takes from each lease. */
  readonly drawn: ReadonlyMap<string, number>;
}

function grouped(entries: readonly Entry[]): Grouped {
  const young: HoldEntry[] = [];
  const freed: string[] = [];
  const settled: SettleEntry[] = [];
  const drawn = new Map<string, number>();
  const draw = ({ leaseId }: Taken, amount: number) => drawn.set(leaseId, (drawn.get(leaseId) ?? 0) + amount);
  for (const entry of entries) {
    if (entry.kind === "free") freed.push(entry.requestId);
    else if (entry.kind === "hold") {
      young.push(entry);
      draw(entry.taken, entry.amount);
    } else {
      settled.push(entry);
      if (entry.taken) draw(entry.taken, entry.call.cost);
    }
  }
  return { young, freed, settled, drawn };
}

function createSums() {
  const sums = new Map<string, Sum>();
  let last: Sum = { freed: 0, spent: 0 };
  let lastId: string | undefined;

  /** Most calls are of the same as the one before. */
  function sumOf(id: string): Sum {
    if (id === lastId) return last;
    lastId = id;
    last = sums.get(id) ?? { freed: 0, spent: 0 };
    sums.set(id, last);
    return last;
  }

  return {
    add(id: string, freed: number, spent: number): void {
      const sum = sumOf(id);
      sum.freed += freed;
      sum.spent += spent;
    },
    each(write: (id: string, sum: Sum) => void): void {
      for (const [id, sum] of sums) if (sum.freed !== 0 || sum.spent !== 0) write(id, sum);
    },
  };
}
