/**
 * Applies entries of the journal to the tables: holds of calls that still run, charges of those that have ended, and all sums.
 * What calls add to the same account, key or hour is summed first, for many calls at once. Where that still concerns many keys
 * and hours, it stays pending for now (`pending-totals.ts`).
 *
 * A call that came and ended between two flushes never had a hold of its own: it is charged out of its lease. One that still
 * runs gets its hold now, out of the lease. Where a lease or a hold has expired, because its process stood still for long, its
 * calls are charged one by one, by what is available.
 */
import type { Capture } from "../columns.ts";
import type { Apply } from "../money/contract.ts";
import type { LedgerStatements } from "../money/ledger-statements.ts";
import { createTotals, hourValues, type Totals } from "../money/totals.ts";
import type { CaptureEntry, Entry, HoldEntry, Taken } from "./contract.ts";
import type { EndedCall, InsertCalls } from "./insert-calls.ts";
import { hasCalls, type PendingTotals } from "./pending-totals.ts";

export interface ApplyParts {
  readonly statements: LedgerStatements;
  readonly pendingTotals: PendingTotals;
  readonly insertCalls: InsertCalls;
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
  /** Leases that have expired, or have less than calls took from them. */
  readonly expiredLeases: ReadonlySet<string>;
  readonly keys: OwnerSums;
  readonly accounts: OwnerSums;
  readonly totals: Totals;
  /** For holds of calls that still run. */
  readonly node: string;
  readonly expiresAt: number;
}

export function createApply(parts: ApplyParts): Apply {
  return (entries, node, expiresAt, mayStayPending = false) => {
    const grouped = groupEntries(entries);
    const batch: Batch = {
      grouped,
      node,
      expiresAt,
      expiredLeases: drawLeases(grouped.drawn, parts.statements),
      keys: createOwnerSums(),
      accounts: createOwnerSums(),
      totals: createTotals(),
    };
    applyCaptures(batch, parts);
    applyReleases(batch, parts);
    applyHolds(batch, parts);
    writeSums(batch, mayStayPending, parts);
  };
}

/** Takes from leases what calls took from them. Returns those that do not have so much. */
function drawLeases(drawn: ReadonlyMap<string, number>, { drawLease }: LedgerStatements): Set<string> {
  const expired = new Set<string>();
  for (const [id, amount] of drawn) if (amount > 0 && drawLease.run(amount, id, amount) === 0) expired.add(id);
  return expired;
}

/** Inserts the rows of calls that have ended, and counts what they spent and no longer hold. */
function applyCaptures(batch: Batch, { statements, insertCalls, captureAlone }: ApplyParts): void {
  const { keys, accounts, totals } = batch;
  const { charges, alone } = chargesOf(batch, statements);
  insertCalls(charges);
  alone.forEach(captureAlone);
  for (const { call, isKnown, isLimited, freedOfKey, freedOfAccount } of charges) {
    // A call that has a row already costs nothing more. What it held is released all the same.
    const cost = isKnown ? 0 : call.cost;
    accounts.add(call.account_id, freedOfAccount, cost);
    // The row of a key with a limit decides what the key may spend: it never stays pending.
    const isAtOnce = isLimited || isKnown;
    if (isAtOnce) keys.add(call.key_id, freedOfKey, cost);
    if (!isKnown) totals.addCall(call, isAtOnce ? 0 : cost, isAtOnce ? 0 : freedOfKey);
  }
}

/** Charge is a call that has ended, and what it no longer holds. */
interface Charge extends EndedCall {
  readonly isLimited: boolean;
  readonly freedOfKey: number;
  readonly freedOfAccount: number;
}

/** Ends the holds of calls that have ended. Calls that should have a hold and have none are returned as `alone`. */
function chargesOf({ grouped, expiredLeases }: Batch, { deleteHold }: LedgerStatements) {
  const charges: Charge[] = [];
  const alone: Capture[] = [];
  for (const entry of grouped.captures) {
    const { call, isHeld, taken } = entry;
    // Out of the lease. Of the key nothing is held for a lease of the whole account.
    if (taken && !expiredLeases.has(taken.leaseId))
      charges.push(chargeOf(entry, taken.isOfKey ? call.cost : 0, call.cost));
    else if (!isHeld) charges.push(chargeOf(entry, 0, 0));
    else {
      const own = taken ? undefined : deleteHold.get(call.id);
      if (own) charges.push({ ...chargeOf(entry, own.amount, own.amount), hadHold: true });
      else alone.push(call);
    }
  }
  return { charges, alone };
}

function chargeOf({ call, isLimited = true }: CaptureEntry, freedOfKey: number, freedOfAccount: number): Charge {
  return { call, isKnown: false, isLimited, freedOfKey, freedOfAccount };
}

function applyReleases({ grouped, keys, accounts }: Batch, { statements }: ApplyParts): void {
  for (const requestId of grouped.releases) {
    const own = statements.deleteHold.get(requestId);
    if (!own) continue;
    keys.add(own.key_id, own.amount, 0);
    accounts.add(own.account_id, own.amount, 0);
  }
}

/** Gives calls that still run holds of their own. */
function applyHolds(batch: Batch, { statements, holdAlone }: ApplyParts): void {
  const { grouped, expiredLeases, totals, node, expiresAt } = batch;
  for (const hold of grouped.holds) {
    const { requestId, taken, accountId, keyId, operation, model, amount, createdAt } = hold;
    if (expiredLeases.has(taken.leaseId)) holdAlone(hold, node, expiresAt);
    else {
      statements.insertHold.run(requestId, node, accountId, keyId, operation, model, amount, createdAt, expiresAt);
      // The lease was the account's: of the key it is held from now on.
      if (!taken.isOfKey) totals.addHold(hold);
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

interface GroupedEntries {
  /** Holds of calls that still run. */
  readonly holds: readonly HoldEntry[];
  /** Calls that have released holds of their own. */
  readonly releases: readonly string[];
  /** Calls that have ended. */
  readonly captures: readonly CaptureEntry[];
  /** What all of that takes from each lease. */
  readonly drawn: ReadonlyMap<string, number>;
}

function groupEntries(entries: readonly Entry[]): GroupedEntries {
  const holds: HoldEntry[] = [];
  const releases: string[] = [];
  const captures: CaptureEntry[] = [];
  const drawn = new Map<string, number>();
  const draw = ({ leaseId }: Taken, amount: number) => drawn.set(leaseId, (drawn.get(leaseId) ?? 0) + amount);
  for (const entry of entries) {
    if (entry.kind === "free") releases.push(entry.requestId);
    else if (entry.kind === "hold") {
      holds.push(entry);
      draw(entry.taken, entry.amount);
    } else {
      captures.push(entry);
      if (entry.taken) draw(entry.taken, entry.call.cost);
    }
  }
  return { holds, releases, captures, drawn };
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

  /** Most calls are of the same owner as the one before. */
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
