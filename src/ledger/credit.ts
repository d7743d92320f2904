/**
 * What is left of accounts and of keys with a limit, as this process knows it without asking the database: for telling
 * callers, never for deciding. It is learned when a key is read, and moved on by all that this process does.
 *
 * Money is in millionths of the unit; infinite where nothing bounds it.
 */
import type { Lease } from "./leases.ts";

/** What is left of an account, or of a key with a limit. */
export interface Standing {
  left: number;
  /** What is leased of it and not used. */
  idle: number;
}

export interface Credit {
  /** Learns what is left beyond all holds and leases; `ofLimit` is undefined for a key without one. */
  learn(accountId: string, ofBalance: number, keyId: string, ofLimit: number | undefined): void;
  /** Tells what the key may still spend; undefined where that was never learned. */
  remaining(accountId: string, keyId: string): number | undefined;
  /** Notes that so much is reserved now, or no longer where it is less than 0. */
  reserved(accountId: string, keyId: string, amount: number): void;
  /** The same of a lease, before any of it is used: what is not used of it is still left. */
  leased(lease: Lease, amount: number): void;
  /** Notes that so much of a lease is used now, or no longer. */
  used(lease: Lease, amount: number): void;
}

/** More accounts or keys than this are not remembered. */
const most = 200_000;

export function createCredit(): Credit {
  const accounts = new Map<string, Standing>();
  const keys = new Map<string, Standing>();
  const move = (standing: Standing | undefined, left: number, idle: number) => {
    if (!standing) return;
    standing.left += left;
    standing.idle += idle;
  };
  /** Learns in place: leases know their standings. */
  const learnOf = (standings: Map<string, Standing>, id: string, left: number) => {
    const standing = standings.get(id);
    if (standing) standing.left = left;
    else standings.set(id, { left, idle: 0 });
  };
  return {
    learn(accountId, ofBalance, keyId, ofLimit) {
      if (accounts.size >= most || keys.size >= most) {
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
      const ofAccount = account.left + account.idle;
      return Math.max(0, key ? Math.min(ofAccount, key.left + key.idle) : ofAccount);
    },
    reserved(accountId, keyId, amount) {
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
