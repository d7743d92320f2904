/**
 * Credit is what is left of accounts, and of keys with a limit, as this process knows it without asking the database: for
 * reporting to callers, never for deciding. It is learned when a key is read, and follows what this process does.
 *
 * Money is in millionths of the unit; infinite where nothing bounds it.
 */

/** Available is what is left of an account, or of a key with a limit. */
export interface Available {
  /** amount is what is left beyond all holds and leases. */
  amount: number;
  /** idle is what is leased of it and not used. */
  idle: number;
}

/** CreditLink is how a lease finds what is left where its credit is from. Credit sets `ofAccount` and `ofKey`. */
export interface CreditLink {
  readonly accountId: string;
  readonly keyId: string;
  ofAccount: Available | undefined;
  ofKey: Available | undefined;
}

export interface Credit {
  /** Learns what is left beyond all holds and leases. `ofLimit` is undefined for a key without a limit. */
  learn(accountId: string, ofBalance: number, keyId: string, ofLimit: number | undefined): void;
  /** Returns what the key may still spend; undefined where that was never learned. */
  remaining(accountId: string, keyId: string): number | undefined;
  /** Counts an amount as held, or as held no longer where it is below 0. */
  held(accountId: string, keyId: string, amount: number): void;
  /** Counts an amount as leased before any of it is used: until then it is still left. Below 0 for a lease that ends. */
  leased(lease: CreditLink, amount: number): void;
  /** Counts an amount of a lease as used, or as used no longer where it is below 0. */
  used(lease: CreditLink, amount: number): void;
}

/** With more accounts or keys than this, all are forgotten. */
const maxKnown = 200_000;

export function createCredit(): Credit {
  const accounts = new Map<string, Available>();
  const keys = new Map<string, Available>();
  return {
    learn(accountId, ofBalance, keyId, ofLimit) {
      if (accounts.size >= maxKnown || keys.size >= maxKnown) {
        accounts.clear();
        keys.clear();
      }
      learnOf(accounts, accountId, ofBalance);
      if (ofLimit === undefined) keys.delete(keyId);
      else learnOf(keys, keyId, ofLimit);
    },
    remaining(accountId, keyId) {
      const account = accounts.get(accountId);
      if (!account) return undefined;
      const key = keys.get(keyId);
      const ofAccount = account.amount + account.idle;
      return Math.max(0, key ? Math.min(ofAccount, key.amount + key.idle) : ofAccount);
    },
    held(accountId, keyId, amount) {
      move(accounts.get(accountId), -amount, 0);
      move(keys.get(keyId), -amount, 0);
    },
    leased(lease, amount) {
      lease.ofAccount = accounts.get(lease.accountId);
      lease.ofKey = keys.get(lease.keyId);
      move(lease.ofAccount, -amount, amount);
      move(lease.ofKey, -amount, amount);
    },
    used({ ofAccount, ofKey }, amount) {
      if (ofAccount) ofAccount.idle -= amount;
      if (ofKey) ofKey.idle -= amount;
    },
  };
}

function move(available: Available | undefined, amount: number, idle: number): void {
  if (!available) return;
  available.amount += amount;
  available.idle += idle;
}

/** Learns in place: leases refer to what they found. */
function learnOf(known: Map<string, Available>, id: string, amount: number): void {
  const available = known.get(id);
  if (available) available.amount = amount;
  else known.set(id, { amount, idle: 0 });
}
