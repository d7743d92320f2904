/**
 * Leases: credit that a process has reserved for calls to come, so that most of them need not ask the database.
 *
 * A lease is a row among the holds without an operation. Like any hold it is a part of the sums, is renewed while its process
 * lives, and expires with it. It is of a whole account, or of one key where that key has a limit of its own.
 */
import type { LeaseStore } from "./contract.ts";
import type { LedgerStatements } from "./ledger-statements.ts";
import { release, reserve } from "./reserve.ts";

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
    release: (id) => release(statements, id),
  };
}
