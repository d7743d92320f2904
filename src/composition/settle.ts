/**
 * Settles a database whose processes are all gone for certain, as that of a back-up: posts their journals, releases what they held,
 * and records the calls that ran as lost. A gateway does the same when it starts, but only once their deadlines have passed.
 */
import { holdMs } from "../ledger/contract.ts";
import { createLeasedLedger } from "../ledger/leases/leased-ledger.ts";
import type { Storage } from "../storage/storage.ts";

export interface SettleOptions {
  /** A moment when its last process still lived, in milliseconds since 1970. All deadlines are measured from it. */
  readonly livedAt: number;
  /** Receives what cannot be posted. It stays for an operator, and `reconcile` reports it. */
  readonly onError: (error: unknown) => void;
}

export async function settle({ ledger: store }: Storage, { livedAt, onError }: SettleOptions): Promise<void> {
  const clock = () => livedAt + holdMs;
  const ledger = createLeasedLedger({ store, clock, onError });
  await ledger.sweep();
  await ledger.close();
  const { journal } = store;
  for (const node of journal.nodes()) {
    const { records } = journal.recordsOf(node);
    if (records.every(({ seq }) => seq <= journal.posted(node))) journal.remove(node);
  }
}
