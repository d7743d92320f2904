/** Holds what a call may cost: from a lease where one covers it, and else by asking the database. */
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { type Hold, type HoldRequest, holdMs, type Short } from "../contract.ts";
import type { Step } from "../journal/group-commit.ts";
import { type Lease, leaseFor } from "./leases.ts";
import { isAwake, type LedgerState, mayLease } from "./ledger-state.ts";

export function hold(state: LedgerState, request: HoldRequest): MaybePromise<Hold | Short> {
  const lease = isAwake(state) ? state.leases.draw(request, request.max) : undefined;
  return lease ? holdFrom(state, lease, request) : state.groupCommit.enlist(holdByDatabase(state, request));
}

/** Makes the hold of a call that has drawn on a lease. */
function holdFrom(state: LedgerState, lease: Lease, request: HoldRequest): Hold {
  const { max: amount } = request;
  state.credit.used(lease, amount);
  const held: Hold = { kind: "held", request, amount, lease, isExact: false };
  state.holds.add(held);
  state.unposted.push(held);
  state.journal.flushLater();
  return held;
}

/** How the database answers: the lease grew by so much, and covers the call; or `held` is of this call alone. */
interface Answer {
  readonly grown: number;
  readonly held: ReturnType<LedgerState["store"]["hold"]> | undefined;
}

/** Asks the database: for a lease where credit is ample, and else for this call alone. */
function holdByDatabase(state: LedgerState, request: HoldRequest): Step<Answer, Hold | Short> {
  const { store, leases, credit, node, clock } = state;
  const { accountId, keyId, max, now } = request;
  // By the clock of now: the call may have come long ago.
  const expiresAt = clock() + holdMs;
  const lease = { ...leases.namesOf(request), node, now, expiresAt };
  return {
    accountId,
    work(leased) {
      const isAllowed = max > 0 && mayLease(state, request);
      const left = leased.get(lease.id) ?? 0;
      const grown = left >= max ? 0 : leaseFor(max, store.available(keyId).available);
      const isLeased = isAllowed && (left >= max || (grown > 0 && store.leases.grow({ ...lease, amount: grown })));
      if (!isLeased) return { grown: 0, held: store.hold({ ...request, node, expiresAt }) };
      leased.set(lease.id, left + grown - max);
      return { grown, held: undefined };
    },
    after({ grown, held }) {
      if (held?.kind === "short") return held;
      if (held) return exactHold(state, request, held.amount);
      const own = leases.grow(request, grown);
      credit.leased(own, grown);
      leases.use(own, max);
      return holdFrom(state, own, request);
    },
  };
}

/** Makes the hold that the database has a row of. */
function exactHold({ holds, credit }: LedgerState, request: HoldRequest, amount: number): Hold {
  const held: Hold = { kind: "held", amount, request, lease: undefined, isExact: true };
  holds.add(held);
  credit.held(request.accountId, request.keyId, amount);
  return held;
}
