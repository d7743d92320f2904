/** Posts the journals of processes that died. */
import type { RejectedLine } from "../../storage/journal/contract.ts";
import { holdMs } from "../contract.ts";
import { applyEach } from "./flush.ts";
import type { JournalState } from "./journal-state.ts";

/** A journal whose last record is older than this was left behind: a process that lives posts its own long before. */
const leftBehindMs = 5_000;

/**
 * Posts another process's journal, if it was left behind. A line of it that is no record keeps no other from being posted: it is
 * moved to where an operator finds it.
 */
export function recoverFrom(state: JournalState, owner: string): void {
  const { store, clock } = state.options;
  store.transact(() => {
    const { records, rejected } = store.journal.recordsOf(owner);
    const last = records.at(-1);
    if (last && last.at > clock() - leftBehindMs) return;
    const posted = last ? store.journal.advance(owner, last.seq) : store.journal.posted(owner);
    reject(state, owner, rejected, posted);
    const entries = records.flatMap((record) => (record.seq > posted ? record.entries : []));
    // It is rare: so whatever cannot be written is found by applying call by call from the start.
    if (last && entries.length > 0) applyEach(state, entries, owner, last.at + holdMs);
  });
  store.journal.removeAbandoned(owner);
}

function reject(state: JournalState, owner: string, rejected: readonly RejectedLine[], posted: number): void {
  const { store, onError } = state.options;
  const unposted = rejected.filter(({ seq = posted + 1 }) => seq > posted);
  const count = unposted.length > 0 ? store.journal.reject(owner, unposted) : 0;
  if (count > 0) onError(new Error(`${count} lines of the notes of ${owner} are no notes, and were set aside`));
}
