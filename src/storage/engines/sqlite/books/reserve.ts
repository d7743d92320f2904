/** Reserves credit and releases it, for a call and for a lease alike: of the key, where it is one's, and of its account. */
import type { LedgerStatements } from "./statements.ts";

export interface Share {
  readonly accountId: string;
  /** Empty for a lease of a whole account. */
  readonly keyId: string;
  readonly amount: number;
}

/**
 * reserve reserves credit; the caller writes the row of the hold or lease. Returns false, and reserves nothing, where the credit does not
 * reach.
 */
export function reserve(statements: LedgerStatements, { accountId, keyId, amount }: Share, now: number): boolean {
  const { holdKey, holdAccount, captureOfKey } = statements;
  const isOfKey = keyId !== "";
  if (isOfKey && holdKey.run(amount, now, keyId, amount) === 0) return false;
  if (holdAccount.run(amount, accountId, amount) === 1) return true;
  if (isOfKey) captureOfKey.run(amount, 0, keyId);
  return false;
}

/** release deletes a hold or a lease, if it is there, and releases what it reserved. */
export function release({ deleteHold, captureOfKey, captureOfAccount }: LedgerStatements, id: string): void {
  const released = deleteHold.get(id);
  if (!released) return;
  if (released.key_id !== "") captureOfKey.run(released.amount, 0, released.key_id);
  captureOfAccount.run(released.amount, 0, released.account_id);
}
