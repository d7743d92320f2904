/**
 * The leases of this process: credit that is reserved in the database already, for calls that are to come. A call takes its
 * hold from there without a look at the database.
 *
 * Where credit is ample, so that a small part of it covers many calls; where it is not, nothing is leased and every call asks
 * the database for exactly what it needs.
 */
import type { Taken } from "../storage/money/ledger.ts";
import type { Standing } from "./credit.ts";

export interface Lease {
  readonly id: string;
  /** What is noted of a call that takes from it. */
  readonly taken: Taken;
  readonly accountId: string;
  /** Empty for the lease of a whole account. */
  readonly keyId: string;
  /** What its row has. */
  amount: number;
  /** What calls have taken of that since it was last written. */
  used: number;
  /** Whether any has since it was last looked at. */
  wasUsed: boolean;
  /** Whether any has taken or given back since it was last written. */
  isChanged: boolean;
  /** What is told to be left where its credit is from, as far as that is known: kept by `credit.ts`. */
  ofAccount: Standing | undefined;
  ofKey: Standing | undefined;
}

/** Whose credit a call takes: its key's, if that has a limit of its own, or its account's. */
export interface Payer {
  readonly accountId: string;
  readonly keyId: string;
  readonly isLimited: boolean;
  /** At which version of what is stored its key was read, and not revoked; unset where that is not known. */
  readonly asOf?: number | undefined;
}

export interface Leases {
  /** Returns the lease that covers so much, and notes that it is used; undefined also where the payer may take from none. */
  draw(payer: Payer, amount: number): Lease | undefined;
  /** Adds what was reserved for a key that may take from it, and returns the lease. */
  grow(payer: Payer, amount: number): Lease;
  /** Takes more of a lease where the amount is above 0, and else gives back. */
  use(lease: Lease, amount: number): void;
  /** Notes that the rows have what was used. */
  written(): void;
  /** Returns those that are chosen, to be given back. */
  chosen(isChosen: (lease: Lease) => boolean): Lease[];
  drop(lease: Lease): void;
  /** Names the lease that the payer's calls take from, made or not. */
  namesOf(payer: Payer): Pick<Lease, "id" | "accountId" | "keyId">;
  count(): number;
}

/** Which part of what is left may be leased at once, and for how many calls like the one that asks. */
const share = 32;
const [fewest, most] = [16, 1024];
/** So much of what is left counts at most: no sum comes near what cannot be counted exactly. */
const largest = 1e13;

/** Returns how much is leased where a call wants so much of what is left; 0 where that is not ample. */
export function leaseFor(wanted: number, left: number): number {
  const part = Math.floor(Math.min(left, largest) / share);
  return wanted > 0 && part >= wanted * fewest ? Math.min(part, wanted * most) : 0;
}

export interface LeasesOptions {
  readonly node: string;
  /** Another number whenever anything was written. */
  readonly version: () => number;
  /** Looks up whether calls of a key may take from a lease: asked where anything was written since the key was read. */
  readonly mayLease: (payer: Payer) => boolean;
}

export function createLeases({ node, version, mayLease }: LeasesOptions): Leases {
  const leases = new Map<string, Lease>();
  let changed: Lease[] = [];
  const isAllowed = (payer: Payer) => payer.asOf === version() || mayLease(payer);
  const scopeOf = ({ accountId, keyId, isLimited }: Payer) => (isLimited ? keyId : accountId);
  const namesOf = (payer: Payer) => {
    const { accountId, keyId, isLimited } = payer;
    return { id: `${node} ${scopeOf(payer)}`, accountId, keyId: isLimited ? keyId : "" };
  };
  const idleOf = (lease: Lease) => lease.amount - lease.used;
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
        lease = madeFor(namesOf(payer));
        leases.set(scope, lease);
      }
      lease.amount += amount;
      return lease;
    },
    use,
    written() {
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

function madeFor({ id, accountId, keyId }: Pick<Lease, "id" | "accountId" | "keyId">): Lease {
  const taken = { leaseId: id, isOfKey: keyId !== "" };
  const standings = { ofAccount: undefined, ofKey: undefined };
  return { id, taken, accountId, keyId, amount: 0, used: 0, wasUsed: true, isChanged: false, ...standings };
}
