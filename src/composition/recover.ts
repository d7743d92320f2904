/**
 * Recovers a database whose processes are all gone for certain, as that of a back-up: posts their journals, releases what they held,
 * and records the calls that ran as lost. A gateway does the same when it starts, but only once their deadlines have passed.
 */
import { holdMs } from "../ledger/contract.ts";
import { createExactLedger } from "../ledger/exact-ledger.ts";
import type { OpenBooks } from "../storage/money/books.ts";
import type { Storage } from "../storage/storage.ts";

export interface RecoverOptions {
  /** A moment when its last process still lived, in milliseconds since 1970. All deadlines are measured from it. */
  readonly livedAt: number;
  /** Receives what cannot be posted. It stays for an operator, and `reconcile` reports it. */
  readonly onError: (error: unknown) => void;
}

export async function recover(
  storage: Pick<Storage, "openBooks">,
  { livedAt, onError }: RecoverOptions,
): Promise<void> {
  const open = storage.openBooks(false);
  const openBooks: OpenBooks = (options) => open({ ...options, takesNoHolds: true });
  const ledger = createExactLedger({ openBooks, clock: () => livedAt + holdMs, onError });
  await ledger.sweep();
  await ledger.close();
}
