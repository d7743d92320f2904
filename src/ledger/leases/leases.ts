/**
 * The leases of this process: credit that the database has reserved for calls to come. A call takes its hold from a lease
 * without asking the database.
 *
 * Credit is leased where it is ample, so that a small part of it covers many calls. Where it is not, nothing is leased, and
 * every call asks the database for exactly what it needs.
 */
import type { Taken } from "../../storage/journal/contract.ts";
import type { CreditLink } from "../credit.ts";

export interface Lease extends CreditLink {
  readonly id: string;
  /** What the journal says of a call that draws on it. */
  readonly taken: Taken;
  readonly accountId: string;
  /** Empty for the lease of a whole account. */
  readonly keyId: string;
  /** What its row has. */
  amount: number;
  /** What calls have taken of that since the last flush. */
  used: number;
  /** Says whether any call has drawn on it since it was last looked at for being idle. */
  wasUsed: boolean;
  /** Says whether any call has taken or given back since the last flush. */
  isChanged: boolean;
}

/** Payer is whose credit a call takes: its key's, if that has a limit of its own, or else its account's. */
export interface Payer {
  readonly accountId: string;
  readonly keyId: string;
  readonly isLimited: boolean;
  /** The version of the database at which the key was read, and was not revoked; unset where that is not known. */
  readonly asOf?: number | undefined;
}

/** Reports whether the payer's key has a limit of its own, or may have been given one since it was read. */
export function mayBeLimited({ isLimited, asOf }: Payer, version: number): boolean {
  return isLimited || asOf !== version;
}

export interface Leases {
  /** Takes an amount from the payer's lease. Returns undefined where it has less, or the payer may not draw on it. */
  draw(payer: Payer, amount: number): Lease | undefined;
  /** Adds what was reserved to the payer's lease, and returns it. The payer's key may draw on it. */
  grow(payer: Payer, amount: number): Lease;
  /** Takes an amount from a lease, or gives it back where it is below 0. */
  use(lease: Lease, amount: number): void;
  /** Says that the rows of all leases are less what was used. */
  flushed(): void;
  /** Returns the leases that are chosen, to be released. */
  chosen(isChosen: (lease: Lease) => boolean): Lease[];
  drop(lease: Lease): void;
  /** Names the lease that the payer's calls draw on, made or not. */
  namesOf(payer: Payer): LeaseNames;
  count(): number;
}

type LeaseNames = Pick<Lease, "id" | "accountId" | "keyId">;

/** One part in so many of what is left may be leased at once. */
const share = 32;
/** For how many calls like the one that asks. */
const [minCalls, maxCalls] = [16, 1024];
/** So much of what is left counts at most: no sum comes near what cannot be counted exactly. */
const maxLeft = 1e13;

/** Returns how much to lease for a call that asks for `amount` of what is left; 0 where that is not ample. */
export function leaseFor(amount: number, left: number): number {
  const part = Math.floor(Math.min(left, maxLeft) / share);
  return amount > 0 && part >= amount * minCalls ? Math.min(part, amount * maxCalls) : 0;
}

export interface LeasesOptions {
  readonly node: string;
  /** Returns another number whenever anything was written. */
  readonly version: () => number;
  /** Asks the database whether calls of a key may draw on a lease, where anything was written since the key was read. */
  readonly mayLease: (payer: Payer) => boolean;
}

export function createLeases({ node, version, mayLease }: LeasesOptions): Leases {
  const leases = new Map<string, Lease>();
  let changed: Lease[] = [];
  const isAllowed = (payer: Payer) => payer.asOf === version() || mayLease(payer);
  const namesOf = (payer: Payer): LeaseNames => {
    const { accountId, keyId, isLimited } = payer;
    return { id: `${node} ${scopeOf(payer)}`, accountId, keyId: isLimited ? keyId : "" };
  };
  const use = (lease: Lease, amount: number) => {
    lease.used += amount;
    lease.wasUsed = true;
    if (lease.isChanged) return;
    lease.isChanged = true;
    changed.push(lease);
  };
  return {
    draw(payer, amount) {
      const lease = leases.get(scopeOf(payer));
      if (!lease || idleOf(lease) < amount || !isAllowed(payer)) return undefined;
      use(lease, amount);
      return lease;
    },
    grow(payer, amount) {
      const scope = scopeOf(payer);
      let lease = leases.get(scope);
      if (!lease) {
        lease = newLease(namesOf(payer));
        leases.set(scope, lease);
      }
      lease.amount += amount;
      return lease;
    },
    use,
    flushed() {
      for (const lease of changed) {
        lease.amount -= lease.used;
        lease.used = 0;
        lease.isChanged = false;
      }
      changed = [];
    },
    chosen: (isChosen) => [...leases.values()].filter(isChosen),
    drop: ({ accountId, keyId }) => void leases.delete(keyId === "" ? accountId : keyId),
    namesOf,
    count: () => leases.size,
  };
}

function scopeOf({ accountId, keyId, isLimited }: Payer): string {
  return isLimited ? keyId : accountId;
}

function idleOf(lease: Lease): number {
  return lease.amount - lease.used;
}

function newLease({ id, accountId, keyId }: LeaseNames): Lease {
  const taken = { leaseId: id, isOfKey: keyId !== "" };
  const links = { ofAccount: undefined, ofKey: undefined };
  return { id, taken, accountId, keyId, amount: 0, used: 0, wasUsed: true, isChanged: false, ...links };
}
