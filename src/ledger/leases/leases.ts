/**
 * The leases of this process: credit that the books have reserved for calls to come. A call takes its hold from a lease without
 * asking anybody.
 *
 * Credit is leased where it is ample, so that a small part of it covers many calls. Where it is not, nothing is leased, and the books
 * decide every call. A lease is known to have no less in the books than here: what calls have not used of their holds goes back to it
 * in both.
 */
import type { LeaseName, Taken } from "../../storage/money/books.ts";
import type { BudgetTerms } from "../../storage/money/contract.ts";
import type { Credit, CreditLink } from "../credit.ts";

export interface Lease extends CreditLink, LeaseName {
  /** taken is what is written of a call that draws on it. */
  readonly taken: Taken;
  readonly accountId: string;
  /** Empty for the lease of a whole account. */
  readonly keyId: string;
  /** idle is what calls may still take. */
  idle: number;
  /** wasUsed says whether any call has drawn on it since it was last looked at for being idle. */
  wasUsed: boolean;
  /** isGrown says that the books have reserved anything for it. */
  isGrown: boolean;
  /** isGone says that it was given back: what calls have not used of it goes to their account. */
  isGone: boolean;
}

/** Payer is whose credit a call takes: its key's, if that has a limit of its own, or else its account's. */
export interface Payer {
  readonly accountId: string;
  readonly keyId: string;
  readonly isLimited: boolean;
  /** The version of the database at which the key was read, and was not revoked; unset where that is not known. */
  readonly asOf?: number | undefined;
  /** The budgets of the key and its account, which only the books decide by; undefined for none. */
  readonly budgets?: BudgetTerms | undefined;
}

export interface Leases {
  /** Returns the payer's lease if it has this amount. */
  find(payer: Payer, amount: number): Lease | undefined;
  /** Returns the payer's lease, a new one with nothing in it where there is none. */
  open(payer: Payer): Lease;
  /** Adds what was reserved to a lease. */
  grow(lease: Lease, amount: number): void;
  /** Takes an amount from a lease, or gives it back where it is below 0. */
  use(lease: Lease, amount: number): void;
  /** Counts the leases that are chosen as gone, and returns their ids. */
  giveBack(isChosen: (lease: Lease) => boolean): string[];
  /** lookAgain says that no lease was used yet, from now on. */
  lookAgain(): void;
  /** Reports whether there is one of this account, or of a key of it. */
  hasOf(accountId: string): boolean;
  count(): number;
}

export function createLeases(node: string, credit: Credit): Leases {
  const leases = new Map<string, Lease>();
  let made = 0;
  return {
    find(payer, amount) {
      const lease = leases.get(scopeOf(payer));
      return lease && lease.idle >= amount ? lease : undefined;
    },
    open(payer) {
      const scope = scopeOf(payer);
      const known = leases.get(scope);
      if (known) return known;
      const lease = newLease(`${node} ${scope} ${++made}`, payer);
      leases.set(scope, lease);
      return lease;
    },
    grow(lease, amount) {
      lease.isGrown = true;
      lease.idle += amount;
      credit.leased(lease, amount);
    },
    use(lease, amount) {
      if (lease.isGone) return credit.held(lease.accountId, lease.keyId, amount);
      lease.idle -= amount;
      lease.wasUsed = true;
      credit.used(lease, amount);
    },
    giveBack(isChosen) {
      const ids: string[] = [];
      for (const [scope, lease] of leases) {
        if (!isChosen(lease)) continue;
        leases.delete(scope);
        lease.isGone = true;
        credit.leased(lease, -lease.idle);
        if (lease.isGrown) ids.push(lease.id);
      }
      return ids;
    },
    lookAgain() {
      for (const lease of leases.values()) lease.wasUsed = false;
    },
    hasOf: (accountId) => leases.values().some((lease) => lease.accountId === accountId && lease.isGrown),
    count: () => leases.size,
  };
}

function scopeOf({ accountId, keyId, isLimited }: Payer): string {
  return isLimited ? keyId : accountId;
}

function newLease(id: string, { accountId, keyId, isLimited }: Payer): Lease {
  const taken = { leaseId: id, isOfKey: isLimited };
  const links = { ofAccount: undefined, ofKey: undefined };
  const of = { id, isOfKey: isLimited, taken, accountId, keyId: isLimited ? keyId : "" };
  return { ...of, idle: 0, wasUsed: true, isGrown: false, isGone: false, ...links };
}
