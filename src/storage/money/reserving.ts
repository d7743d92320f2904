/** How credit is reserved and given back, for a call and for a lease alike: of a key where it is one's, and of its account. */
import type { LedgerStatements } from "./ledger-statements.ts";

export interface Share {
  readonly accountId: string;
  /** Empty for a lease of a whole account. */
  readonly keyId: string;
  readonly amount: number;
}

/** Reserves; the row that tells of it is the caller's to write. Returns false, and reserves nothing, where the credit does not reach. */
export function reserve(statements: LedgerStatements, { accountId, keyId, amount }: Share, now: number): boolean {
  const { holdKey, holdAccount, freeKey } = statements;
  const isOfKey = keyId !== "";
  if (isOfKey && holdKey.run(amount, now, keyId, amount) === 0) return false;
  if (holdAccount.run(amount, accountId, amount) === 1) return true;
  if (isOfKey) freeKey.run(amount, 0, keyId);
  return false;
}

/** Takes a hold or a lease away, if it is there, and gives back what it reserved. */
export function release({ deleteHold, freeKey, freeAccount }: LedgerStatements, id: string): void {
  const freed = deleteHold.get(id);
  if (!freed) return;
  if (freed.key_id !== "") freeKey.run(freed.amount, 0, freed.key_id);
  freeAccount.run(freed.amount, 0, freed.account_id);
}
