/**
 * Leases: credit that a process has reserved for calls to come, so that most of them need not ask the database.
 *
 * A lease is a row among the holds without an operation: a part of the sums like any other, renewed while its process lives,
 * and lapsing with it. It is of a whole account, or of one key where that key has a limit of its own.
 */
import type { LedgerStatements } from "./ledger-statements.ts";
import { release, reserve } from "./reserving.ts";

export interface LeaseInit {
  readonly id: string;
  readonly node: string;
  readonly accountId: string;
  /** Empty for a lease of the whole account. */
  readonly keyId: string;
  readonly amount: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly expiresAt: number;
}

export interface LeaseStore {
  /** Reserves, and adds to the lease. Returns false where the credit does not reach. */
  grow(init: LeaseInit): boolean;
  /** Whether calls of the key may take from a lease: it is not revoked, and has no limit that they would not be held to. */
  mayLease(keyId: string, isLimited: boolean): boolean;
  /** Gives back all that the lease has. One that has lapsed was given back before. */
  giveBack(id: string): void;
}

export function leaseStore(statements: LedgerStatements): LeaseStore {
  const { growLease, mayLease } = statements;
  return {
    grow(init) {
      if (!reserve(statements, init, init.now)) return false;
      const { id, node, accountId, keyId, amount, now, expiresAt } = init;
      growLease.run(id, node, accountId, keyId, "", "", amount, now, expiresAt);
      return true;
    },
    mayLease: (keyId, isLimited) => mayLease.get(keyId, isLimited ? 1 : 0) !== undefined,
    giveBack: (id) => release(statements, id),
  };
}
