/**
 * Holds what a call may cost: from a lease where one covers it, and else by asking the books. While what ended calls cost cannot be written
 * the books are asked in any case, and a call that costs nothing is refused: else more and more of it would wait in memory.
 */
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { type Granted, lacksCredit } from "../../storage/money/books.ts";
import { type Hold, type HoldRequest, isUnchanged, type Short } from "../contract.ts";
import { holdEntryOf } from "../exact-ledger.ts";
import type { Lease } from "./leases.ts";
import { isAwake, type LedgerState } from "./ledger-state.ts";
import { releaseChangedLater, releaseIdleLater } from "./release.ts";

export function hold(state: LedgerState, request: HoldRequest): MaybePromise<Hold | Short> {
  const { leases, books, groupCommit } = state;
  const trouble = groupCommit.trouble();
  if (request.max === 0) return trouble ? Promise.reject(trouble) : holdOf(state, undefined, request);
  if (request.budgets) return holdWithin(state, request);
  const lease = isAwake(state) && !trouble ? leases.find(request, request.max) : undefined;
  if (!lease) return holdByBooks(state, request);
  if (isUnchanged(request, books)) return holdFrom(state, lease, request);
  // Something has changed since the key was read: perhaps of the key.
  return andThen(books.mayLease(request.keyId, request.isLimited), (isAllowed) => {
    const found = isAllowed ? leases.find(request, request.max) : undefined;
    return found ? holdFrom(state, found, request) : holdByBooks(state, request);
  });
}

function holdFrom(state: LedgerState, lease: Lease, request: HoldRequest): Hold {
  state.leases.use(lease, request.max);
  return holdOf(state, lease, request);
}

/**
 * holdOf makes the hold of a call that has taken it from a lease, or that costs nothing. What is written of it makes the call known as lost
 * if this process dies.
 */
function holdOf(state: LedgerState, lease: Lease | undefined, request: HoldRequest): Hold {
  const entry = holdEntryOf(request, lease?.taken);
  const held: Hold = { kind: "held", request, amount: request.max, lease, entry, isExact: false };
  state.holds.add(held);
  state.groupCommit.add(entry);
  return held;
}

/**
 * holdWithin asks the books for a hold within budgets. Leases of the account stay, from which its other keys call, unless its credit is
 * short without them.
 */
async function holdWithin(state: LedgerState, request: HoldRequest): Promise<Hold | Short> {
  const { accountId } = request;
  const made = await holdByBooks(state, request, "");
  return lacksCredit(made) && state.leases.hasOf(accountId) ? holdByBooks(state, request) : made;
}

/** holdByBooks asks the books: for a lease where credit is ample, and else for this call alone. */
function holdByBooks(state: LedgerState, request: HoldRequest, accountId = request.accountId): Promise<Hold | Short> {
  // Taken before the books are asked: the account may change while they grant the lease.
  const asOf = state.books.version();
  const after = (granted: Granted): Hold | Short => {
    if (granted.kind === "short") return granted;
    if (granted.kind === "held") return exactHold(state, request, granted);
    const lease = state.leases.open(request);
    state.leases.grow(lease, granted.grown);
    releaseIdleLater(state);
    releaseChangedLater(state, asOf);
    return holdFrom(state, lease, request);
  };
  return state.groupCommit.enlist("holds", { item: request, accountId, after });
}

/** exactHold makes the hold that the books have decided on. */
function exactHold(
  { holds, credit }: LedgerState,
  request: HoldRequest,
  { amount, budget }: Extract<Granted, { kind: "held" }>,
): Hold {
  const held: Hold = { kind: "held", amount, request, lease: undefined, entry: undefined, isExact: true, budget };
  holds.add(held);
  credit.held(request.accountId, request.keyId, amount);
  return held;
}
