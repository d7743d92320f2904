/**
 * The steps of money, one by one: holds, charges, and what expires, each a part of a transaction that the caller opens. `apply.ts` writes
 * many calls at once.
 *
 * These sums stay true, which `reconcile` proves: an account's balance is the sum of its ledger entries less what its calls cost, and its
 * `held` is the sum of its holds; a key's `spent` is the sum of what its calls cost, and its `held` is the sum of its holds. The
 * conditions of the statements decide whether a hold is taken, so that no number of callers, in any number of processes, reserves more
 * than there is.
 */

import { lost } from "../../../calls/outcomes.ts";
import { noSums } from "../../../columns.ts";
import type { SentCall } from "../../../journal/sent-log.ts";
import { availableOf, countableOf, type Room } from "../../../money/available.ts";
import { type DecidedHold, type Granted, type HoldEntry, holdMs } from "../../../money/books.ts";
import { maxHeld, maxOwed, maxSum, unreachedLimit } from "../../../money/bounds.ts";
import type { BudgetLeft } from "../../../money/budgets.ts";
import type { Available, Capture, Captured, Held, HoldInit } from "../../../money/contract.ts";
import { leaseFor } from "../../../money/lease-size.ts";
import { hourTotalOf, hourValues } from "../../../money/totals.ts";
import type { Connection } from "../../engine.ts";
import type { BudgetBooks } from "./budgets.ts";
import { growLease } from "./leases.ts";
import { release, reserve } from "./reserve.ts";
import { type LedgerStatements, requestValues } from "./statements.ts";

/** batch is how many holds expire in one transaction. */
const batch = 500;

export interface Steps {
  /** Holds `max`, or all that is available if that is at least `min`. */
  hold(init: HoldInit): Held;
  /** Holds for a call whose lease has expired, if there is still as much available. */
  holdAgain(entry: HoldEntry, node: string, expiresAt: number): void;
  /**
   * Grows the lease where credit is ample, and else holds for the call alone. `left` is what is left of each lease that grew in this
   * transaction, by its id.
   */
  grant(asked: DecidedHold, node: string, now: number, left: Map<string, number>): Granted;
  /** Returns what a key may still spend: the lesser of its limit and its account's balance, less all holds. */
  available(keyId: string): Available;
  /** Releases a hold or a lease, if it is there. */
  release(id: string): void;
  /**
   * Charges a call, at most `most`, and ends its hold. What the hold does not cover, because it has expired or there was none,
   * is taken from what is available. Returns undefined, and changes nothing, for a call that was captured before.
   */
  capture(call: Capture, most?: number): Captured | undefined;
  /**
   * Releases holds whose deadline has passed, up to 500 at a time and none of the processes in `except`, and records their calls
   * as lost. Returns how many.
   */
  expire(now: number, except?: readonly string[]): number;
  /** Does the same, whatever their deadlines are, with what a node has that has ended. */
  expireOf(node: string, now: number): number;
  /** lose records calls as lost that were sent, and of which nothing is known. One that has a hold is recorded when that expires. */
  lose(calls: readonly SentCall[], now: number): void;
}

export function createSteps(books: Connection, statements: LedgerStatements, budgets: BudgetBooks): Steps {
  const holds = createHolds(books, statements, budgets);
  return {
    ...holds,
    grant: createGrant(statements, holds, budgets),
    release: (id) => release(statements, id),
    capture: createCapture(books, statements, holds.available, budgets),
    ...createExpire(books, statements),
    lose: createLose(books, statements),
  };
}

function createGrant(
  statements: LedgerStatements,
  { hold, available }: Pick<Steps, "hold" | "available">,
  budgets: BudgetBooks,
): Steps["grant"] {
  const { mayLease } = statements;
  return ({ lease, ...asked }, node, now, leased) => {
    const { keyId, accountId, max } = asked;
    // By the clock of now: the call may have come long ago.
    const expiresAt = now + holdMs;
    if (lease && max > 0 && !budgets.has(accountId, keyId) && mayLease.get(keyId, lease.isOfKey ? 1 : 0)) {
      const left = leased.get(lease.id) ?? 0;
      const amount = left >= max ? 0 : leaseFor(max, available(keyId).available);
      const init = {
        id: lease.id,
        node,
        accountId,
        keyId: lease.isOfKey ? keyId : "",
        amount,
        now: asked.now,
        expiresAt,
      };
      if (left >= max || (amount > 0 && growLease(statements, init))) {
        leased.set(lease.id, left + amount - max);
        return { kind: "leased", grown: amount };
      }
    }
    return hold({ ...asked, node, expiresAt });
  };
}

/** AvailableRow is what a key may spend: by its limit, or by what can be counted. */
interface AvailableRow {
  readonly ofLimit: number;
  readonly isLimited: number;
  readonly ofBalance: number;
  readonly isPrepaid: number;
  readonly isRevoked: number;
}

function createHolds(books: Connection, statements: LedgerStatements, budgets: BudgetBooks) {
  // `(SELECT ?)` hides the value from the planner, which would otherwise replan the join on every call.
  const selectAvailable = books.prepare<[keyId: string], AvailableRow>(
    `SELECT coalesce(k.credit_limit, ${maxSum}) - k.spent - k.held AS ofLimit, coalesce(k.credit_limit, ${unreachedLimit}) < ${unreachedLimit} AS isLimited,
       a.balance - a.held + a.postpaid * ${maxOwed} AS ofBalance, a.postpaid = 0 AS isPrepaid, k.revoked_at IS NOT NULL AS isRevoked
     FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.id = (SELECT ?)`,
  );

  function tryHold(init: Omit<HoldInit, "max" | "min">, amount: number): boolean {
    const { requestId, node, accountId, keyId, operation, model, now, expiresAt } = init;
    if (!reserve(statements, { accountId, keyId, amount }, now)) return false;
    statements.insertHold.run(requestId, node, accountId, keyId, operation, model, amount, now, expiresAt);
    return true;
  }

  function roomOf(keyId: string): (Room & { readonly isRevoked: boolean }) | undefined {
    const row = selectAvailable.get(keyId);
    if (!row) return undefined;
    return { ...row, isLimited: row.isLimited === 1, isPrepaid: row.isPrepaid === 1, isRevoked: row.isRevoked === 1 };
  }

  function hold(init: HoldInit): Held {
    const budget = budgets.left(init.accountId, init.keyId, init.now);
    const most = budget ? Math.max(0, Math.min(maxHeld, budget.left)) : maxHeld;
    if (init.max <= most && tryHold(init, init.max)) return heldOf(init.max, budget);
    const room = roomOf(init.keyId);
    if (room?.isRevoked !== false) return { kind: "short", of: "key", available: 0 };
    const { of, available } = countableOf(room);
    const amount = Math.min(available, most);
    if (amount < init.max && amount >= init.min && tryHold(init, amount)) return heldOf(amount, budget);
    if (budget && budget.left < Math.min(available, maxHeld))
      return { kind: "short", of: "budget", available: amount, budget };
    return { kind: "short", of, available: amount };
  }

  /** Holds for a call whose lease has expired, if there is still as much available. */
  function holdAgain(entry: HoldEntry, node: string, expiresAt: number): void {
    tryHold({ ...entry, node, now: entry.createdAt, expiresAt }, entry.amount);
  }

  return { hold, holdAgain, available: (keyId: string) => availableOf(roomOf(keyId)) };
}

/** heldOf says what a hold leaves of the budget that leaves least. */
function heldOf(amount: number, budget: BudgetLeft | undefined): Held {
  return budget
    ? { kind: "held", amount, budget: { ...budget, left: budget.left - amount } }
    : { kind: "held", amount };
}

function createCapture(
  books: Connection,
  statements: LedgerStatements,
  availableTo: Steps["available"],
  budgets: BudgetBooks,
): Steps["capture"] {
  const { captureOfKey, captureOfAccount, deleteHold, insertRequest, deleteLost, addToHour, keptFrom } = statements;
  const selectKnown = books.prepare<[id: string], { readonly id: string }>("SELECT id FROM requests WHERE id = ?");
  function availableFor({ account_id, key_id, created_at }: Capture): number {
    const { left = Number.POSITIVE_INFINITY } = budgets.left(account_id, key_id, created_at) ?? {};
    return Math.min(availableTo(key_id).available, left);
  }
  return (call: Capture, most = call.cost): Captured | undefined => {
    const { id, account_id, key_id } = call;
    if (selectKnown.get(id) && deleteLost.run(id) === 0) return undefined;
    const hold = deleteHold.get(id);
    // What holds has not been captured, however old it is.
    if (!hold && id < keptFrom()) return undefined;
    const released = hold?.amount ?? 0;
    const asked = Math.min(call.cost, most);
    const isBeyond = asked > released;
    if (isBeyond) {
      // From here on the available credit includes the hold of this call.
      captureOfKey.run(released, 0, key_id);
      captureOfAccount.run(released, 0, account_id);
    }
    const cost = isBeyond ? Math.min(asked, Math.max(released, availableFor(call))) : asked;
    const waived = (call.waived ?? 0) + call.cost - cost;
    const freed = isBeyond ? 0 : released;
    captureOfKey.run(freed, cost, key_id);
    captureOfAccount.run(freed, cost, account_id);
    budgets.charging()?.(call, cost);
    const row = { ...call, cost, waived };
    insertRequest.run(...requestValues(row));
    addToHour.run(...hourValues(hourTotalOf(row)));
    return { cost, waived };
  };
}

/** LostCall is what is known of a call whose process died. */
interface LostCall {
  readonly account_id: string;
  readonly key_id: string;
  readonly operation: string;
  readonly model: string;
  readonly created_at: number;
}

interface ExpiredHold extends LostCall {
  readonly request_id: string;
}

/** insertLost records a call as lost, unless it has a row. */
function insertLost(
  { insertRequest, addToHour }: Pick<LedgerStatements, "insertRequest" | "addToHour">,
  id: string,
  lostCall: LostCall,
  now: number,
): void {
  const call = { id, ...lostCall, ...nothingUsed, outcome: lost, duration_ms: now - lostCall.created_at };
  if (insertRequest.run(...requestValues(call)) === 1) addToHour.run(...hourValues(hourTotalOf(call)));
}

function createExpire(books: Connection, statements: LedgerStatements): Pick<Steps, "expire" | "expireOf"> {
  const columns = "SELECT request_id, account_id, key_id, operation, model, created_at FROM holds";
  const selectExpired = books.prepare<[now: number, except: string], ExpiredHold>(
    `${columns} WHERE expires_at <= ? AND node NOT IN (SELECT value FROM json_each(?)) LIMIT ${batch}`,
  );
  const selectOf = books.prepare<[node: string], ExpiredHold>(`${columns} WHERE node = ? LIMIT ${batch}`);
  function expireAll(holds: readonly ExpiredHold[], now: number): number {
    for (const { request_id, ...hold } of holds) {
      release(statements, request_id);
      // A lease is no call.
      if (hold.operation !== "") insertLost(statements, request_id, hold, now);
    }
    return holds.length;
  }
  return {
    expire: (now, except = []) => expireAll(selectExpired.all(now, JSON.stringify(except)), now),
    expireOf: (node, now) => expireAll(selectOf.all(node), now),
  };
}

function createLose(books: Connection, statements: LedgerStatements): Steps["lose"] {
  const selectHold = books.prepare<[id: string], { readonly id: string }>(
    "SELECT request_id AS id FROM holds WHERE request_id = ?",
  );
  return (calls, now) => {
    const kept = statements.keptFrom();
    for (const { requestId, accountId, keyId, operation, model, createdAt } of calls) {
      if (requestId < kept || selectHold.get(requestId)) continue;
      const call = { account_id: accountId, key_id: keyId, operation, model, created_at: createdAt };
      insertLost(statements, requestId, call, now);
    }
  };
}

/** nothingUsed is what is recorded of a call that is lost. */
const nothingUsed = { ...noSums, upstream: "", estimated: 0, first_byte_ms: null };
