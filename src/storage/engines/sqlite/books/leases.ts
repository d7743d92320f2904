/**
 * Leases: credit that a process has reserved for calls to come, so that most of them need not ask the database.
 *
 * A lease is a row among the holds without an operation. Like any hold it is a part of the sums, is renewed while its process
 * lives, and expires with it. It is of a whole account, or of one key where that key has a limit of its own.
 */
import { reserve } from "./reserve.ts";
import type { LedgerStatements } from "./statements.ts";

export interface LeaseInit {
  readonly id: string;
  readonly node: string;
  readonly accountId: string;
  /** Empty for a lease of the whole account. */
  readonly keyId: string;
  readonly amount: number;
  /** now is in milliseconds since 1970. */
  readonly now: number;
  readonly expiresAt: number;
}

/** growLease reserves credit and adds it to the lease. Returns false where the credit does not reach. */
export function growLease(statements: LedgerStatements, init: LeaseInit): boolean {
  if (!reserve(statements, init, init.now)) return false;
  const { id, node, accountId, keyId, amount, now, expiresAt } = init;
  statements.growLease.run(id, node, accountId, keyId, "", "", amount, now, expiresAt);
  return true;
}
